"""Python flyweights of a message schema: the parts that the target `flyweights` puts together.

`support` is not used here: it is copied to where generated packages find it.
"""
