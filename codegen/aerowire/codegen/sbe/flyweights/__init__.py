"""Python flyweights of a message schema: the parts that the target `flyweights` puts together.

`support` and `_errors` are not used here: they are copied to where generated packages find them.
"""
