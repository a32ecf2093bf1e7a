"""What decides of a cluster: members, election and commit as machines that take inputs and times as values and return effects.

Nothing here reads a clock, a file or a stream; the package `aerowire.cluster` says in which order effects are carried out.
"""
