"""Python flyweights of a message schema: the parts that the target `flyweights` puts together.

`support.py` and `precedence.py` are not used here: they are copied into every package that is generated.
"""
