"""Reads the event log of a driver or an archive along: what was noted, in order, and how much was missed.

Knows the file and its records; nothing of how they are shown.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.base.errors import AerowireError, BroadcastLappedError, MappedFileMissingError
from aerowire.codecs.flyweights.events import ArchiveEventCode, DriverEventCode, LoggedEventDecoder
from aerowire.tools.driver.archive_event_facts import archive_facts
from aerowire.tools.driver.driver_event_facts import driver_facts

if TYPE_CHECKING:
    from aerowire.ipc.broadcast import BroadcastReceiver
    from aerowire.memory.region import Region

# Of one look, so that a flood does not keep the reader from looking whose the log is.
POLL_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class EventSource:
    """A component that notes events: the name of each code, and the fields of its records."""

    component: str
    codes: type[enum.IntEnum]
    facts: Callable[[Any, bytes], dict[str, Any]]
    hint: str


DRIVER: Final = EventSource("driver", DriverEventCode, driver_facts, "start it with -Daeron.event.log=admin, or all")
ARCHIVE: Final = EventSource("archive", ArchiveEventCode, archive_facts, "start it with -Daeron.event.archive.log=all")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `facts` are its fields by name; `missed` counts the events before it that were overwritten unread."""

    code: enum.IntEnum
    sequence: int
    timestamp_ns: int
    facts: dict[str, Any]
    missed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "time_ns": self.timestamp_ns,
            "event": self.code.name,
            "sequence": self.sequence,
            **({"missed": self.missed} if self.missed else {}),
            **self.facts,
        }


class EventReader:
    """The event log of the driver or archive that is in a directory now. Belongs to one thread.

    Invariant: `_next_sequence` is that of the event that follows the last one read.
    """

    def __init__(self, directory: str, *, from_start: bool, source: EventSource = DRIVER) -> None:
        """`from_start`: with what was noted before, as far as it is not overwritten. Raises AerowireError where there is no log."""
        self._path = Path(directory) / EVENT_LOG_FILE_NAME
        self._source = source
        self._from_start = from_start
        self._region: Region | None = None
        self._identity = (0, 0)
        self._next_sequence = -1
        self._receiver = self._open()
        if not from_start:
            self._pass_over_the_last()

    def poll(self) -> list[Event]:
        """Return what was noted since the last call, in order."""
        return [event for record in self._records(POLL_LIMIT) if (event := self._event(*record)) is not None]

    def _records(self, limit: int) -> list[tuple[int, bytes]]:
        while True:
            try:
                return self._receiver.poll(limit)
            except BroadcastLappedError:  # the events themselves tell how many are missed
                continue

    def _pass_over_the_last(self) -> None:
        """A receiver begins at the newest event there is; of that only the sequence is wanted, for what is missed later."""
        for record in self._records(1):
            self._event(*record)

    def follow(self) -> bool:
        """Change to the log of another driver that has taken the directory; return whether there is one."""
        try:
            if _identity_of(self._path) == self._identity:
                return False
            self._from_start = True
            self._receiver = self._open()
        except (OSError, AerowireError):
            return False
        return True

    def close(self) -> None:
        """Let go of the file."""
        if self._region is not None:
            self._region.close()

    def _open(self) -> BroadcastReceiver:
        from aerowire.ipc.broadcast import BroadcastReceiver
        from aerowire.memory.region import Region

        try:
            identity = _identity_of(self._path)
            region = Region.map_file(self._path, writable=False)
        except (FileNotFoundError, MappedFileMissingError):
            raise AerowireError(
                "there is no event log",
                where=self._path,
                expected=f"{_an(self._source.component)} that notes events",
                hint=self._source.hint,
            ) from None
        self.close()
        self._region, self._identity = region, identity
        self._next_sequence = 0 if self._from_start else -1
        return BroadcastReceiver(region, from_start=self._from_start)

    def _event(self, code: int, body: bytes) -> Event | None:
        try:
            kind = self._source.codes(code)
            head = LoggedEventDecoder(body)
            facts = self._source.facts(kind, body)
        except ValueError:
            return None  # of a driver or an archive that knows more than this reader
        sequence = head.sequence
        missed = sequence - self._next_sequence if self._next_sequence >= 0 else 0
        self._next_sequence = sequence + 1
        return Event(kind, sequence, head.timestamp_ns, facts, missed)


def _identity_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _an(component: str) -> str:
    return f"an {component}" if component.startswith("a") else f"a {component}"
