"""Driver directories that nobody uses any more: where they are, whose they were, what they take.

Looks and removes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import AerowireError
from aerowire.system.files import allocated_length
from aerowire.system.processes import process_is_running

# Directories of a place that are looked into; a temporary directory may have any number.
_LOOK_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class DriverDirectory:
    """A directory with a driver's file. `age_ms` is that of the last heartbeat; None where there is none, or it cannot be read."""

    path: str
    pid: int | None
    state: str
    age_ms: int | None
    length: int
    is_stale: bool


def find_directories(places: Iterable[Path], driver_timeout_ns: int) -> list[DriverDirectory]:
    """Return the driver directories that stand in `places`, in the order of their names."""
    return sorted((_look(path, driver_timeout_ns) for place in places for path in _candidates(place)), key=lambda found: found.path)


def length_on_disk(directory: Path) -> int:
    """Return the bytes that a directory's files take: of a sparse file what was written."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += allocated_length(path.lstat())
        except OSError:
            continue  # it went meanwhile
    return total


def _candidates(place: Path) -> Iterator[Path]:
    try:
        entries = sorted(place.iterdir())[:_LOOK_LIMIT]
    except OSError:
        return
    for path in entries:
        try:
            if (path / CNC_FILE_NAME).is_file():
                yield path
        except OSError:
            continue  # not ours to look into


def _look(path: Path, driver_timeout_ns: int) -> DriverDirectory:
    from aerowire.tools.driver.driver_files import ALIVE, DriverFiles

    with DriverFiles(str(path), driver_timeout_ns) as files:
        try:
            state = files.state()
        except (AerowireError, OSError) as error:
            return DriverDirectory(str(path), None, f"unreadable: {error}", None, length_on_disk(path), is_stale=False)
        is_stale = state.state != ALIVE and not process_is_running(state.pid, begun_by_ms=state.start_timestamp_ms)
        return DriverDirectory(str(path), state.pid, state.state, state.age_ms, length_on_disk(path), is_stale)
