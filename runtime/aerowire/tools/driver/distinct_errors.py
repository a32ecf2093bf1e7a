"""Distinct errors of a driver or of what stands on it, as text in the official tools' order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerowire.ipc.error_log import ErrorObservation


def driver_errors(directory: str) -> tuple[list[ErrorObservation], str | None]:
    """Return the errors of a driver, and why they cannot be read."""
    from aerowire.base.directory import CNC_FILE_NAME
    from aerowire.base.errors import AerowireError
    from aerowire.ipc.cnc import CncFile
    from aerowire.ipc.error_log import scan_errors

    try:
        with CncFile.map(Path(directory) / CNC_FILE_NAME, writable=False) as cnc:
            return scan_errors(cnc.error_log_buffer)[0], None
    except AerowireError as error:
        return [], str(error)


def errors_text(errors: Sequence[ErrorObservation]) -> str:
    """Return errors with their times; their text is set apart, so that none of it looks like output of the command."""
    from aerowire.tools.terminal.figures import printable_lines, time_text

    lines: list[str] = []
    for one in errors:
        lines.append(
            f"\n{one.observation_count} observations from {time_text(one.first_timestamp_ms)} to {time_text(one.last_timestamp_ms)} for:"
        )
        lines += [f" {line}" for line in printable_lines(one.text)]
    return "\n".join([*lines, f"\n{len(errors)} distinct errors observed"])
