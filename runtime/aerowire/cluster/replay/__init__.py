"""Replay of a member's log through a service, without driver, archive or consensus module: from files to what the service does.

`member_log` reads the log and the snapshots, `log_replay` runs the service on them with the parts of the service container, and `outputs`
notes what comes out. Nothing here compares two replays, or starts processes: tools do.
"""
