"""Scenarios of archives: lives in which one records, replays and copies, while its disk, process and host fail."""
