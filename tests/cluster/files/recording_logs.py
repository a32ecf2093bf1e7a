"""Recording logs of these tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.system.file_system import FileSystem

CM = -1  # the service id of the consensus module


def opened(directory: Path, **options: Any) -> RecordingLog:
    return RecordingLog.open(directory, FileSystem(), create=True, **options)


def filled(directory: Path) -> RecordingLog:
    """Make a log with two terms, in the first of which two sets of snapshots of one service were taken."""
    log = opened(directory)
    log.append_term(1, 7, 0, 1000)
    for recording_id, position in ((2, 640), (4, 1280)):
        log.append_snapshot(recording_id, 7, 0, position, 1001, 0)
        log.append_snapshot(recording_id + 1, 7, 0, position, 1001, CM)
    log.append_term(1, 8, 1280, 1002)
    return log
