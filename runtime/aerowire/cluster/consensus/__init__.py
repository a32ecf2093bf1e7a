"""What decides of a cluster: members, election and commit as machines that take inputs and times as values and return effects.

`machine.ConsensusMachine` is what an agent holds: `start`, then `tick` each cycle and `handle` for each message of another member and each
result of an effect. Nothing here reads a clock, a file or a stream; the package `aerowire.cluster` says in which order effects are carried
out, and `effects` which result each one expects.
"""
