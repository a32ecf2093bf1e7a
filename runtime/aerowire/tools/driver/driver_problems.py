"""The errors that a driver recorded lately: the reason when a command waits in vain, such as a log that had no room on the disk."""

from __future__ import annotations

from pathlib import Path

SHOWN_MAX = 3


def recent_errors(directory: Path | str, since_ms: int = 0) -> list[str]:
    """Return the first line of each error that the driver of `directory` recorded since then, at most SHOWN_MAX, the latest last.

    Empty when the error log cannot be read: it only explains another error.
    """
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.base.errors import AerowireError
    from aerowire.base.text import printable
    from aerowire.ipc.cnc import CncFile
    from aerowire.ipc.error_log import scan_errors

    try:
        cnc = CncFile.map(str(Path(directory) / CNC_FILE_NAME), writable=False)
    except (AerowireError, OSError):
        return []
    try:
        errors, _ = scan_errors(cnc.error_log_buffer)
        latest = sorted((error for error in errors if error.last_timestamp_ms >= since_ms), key=lambda error: error.last_timestamp_ms)
        return [printable(error.text.partition("\n")[0]) for error in latest[-SHOWN_MAX:]]
    finally:
        cnc.close()


def with_recent_errors(text: str, directory: Path | str, since_ms: int = 0) -> str:
    """Return `text`, followed by what the driver recorded since then."""
    found = recent_errors(directory, since_ms)
    return f"{text}; the driver's error log: {'; '.join(found)}" if found else text
