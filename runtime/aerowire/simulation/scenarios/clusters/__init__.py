"""Scenarios of clusters: whole nodes that elect, commit and apply, while processes, hosts, disks and networks fail; rules of Raft."""
