"""The client of a cluster: a session with its leader, over elections and new leaders. Knows nothing of how a cluster decides."""
