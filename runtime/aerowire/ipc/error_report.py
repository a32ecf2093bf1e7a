"""A driver's distinct errors as text for people."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import ExistingFileError, FileError, StorageError

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort
    from aerowire.ipc.error_log import ErrorObservation

_NAMES_MAX = 100


def error_report(errors: Iterable[ErrorObservation]) -> str:
    """Return how often and when each error was seen and what it says, and at last how many there are."""
    parts = []
    for error in errors:
        first, last = _time_text(error.first_timestamp_ms), _time_text(error.last_timestamp_ms)
        parts.append(f"\n{error.observation_count} observations from {first} to {last} for:\n{error.text}\n")
    parts.append(f"\n{len(parts)} distinct errors observed.\n")
    return "".join(parts)


def save_error_report(
    errors: Iterable[ErrorObservation], files: FilePort, folder: Path, name: str, *, epoch_ms: int, process_id: int
) -> Path:
    """Write a report to a file that was not there, called after `name`, time and process; return its path. Raises StorageError."""
    stem = f"{name}-{time.strftime('%Y-%m-%d-%H-%M-%S', time.localtime(epoch_ms // 1000))}-{process_id}"
    for number in range(1, _NAMES_MAX + 1):
        chosen = folder / f"{stem}{'' if number == 1 else f'-{number}'}-error.log"
        try:
            with files.open(chosen, writable=True, create=True, exclusive=True) as file:
                file.write_all(0, error_report(errors).encode())
        except ExistingFileError:
            continue
        except FileError as error:
            raise StorageError("cannot create file", where=chosen, actual=error.actual) from None
        return chosen
    raise StorageError(
        "cannot create file",
        where=folder / f"{stem}-error.log",
        expected="a name that is not taken",
        actual=f"{_NAMES_MAX} files of such names",
    )


def _time_text(epoch_ms: int) -> str:
    seconds, milliseconds = divmod(epoch_ms, 1000)
    local = time.localtime(seconds)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', local)}.{milliseconds:03d}{time.strftime('%z', local)}"
