"""The consensus module: carries the effects of `cluster.consensus` out over streams, archive and files, and gives their results back.

`consensus_module.ConsensusModule.launch` starts one. Decisions about terms, votes and commits are those of `cluster.consensus`; what
clients, timers and services are owed is decided by `sessions`, `timers` and `service_messages`.
"""
