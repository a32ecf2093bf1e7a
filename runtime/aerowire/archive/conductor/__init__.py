"""The operations of the Archive's server: recordings, replays, listings, segments and replication, by commands to the native agents."""
