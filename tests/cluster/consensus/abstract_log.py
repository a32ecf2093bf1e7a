"""Logs without bytes: entries, what a disk keeps of them, a leader's publication, and a follower's subscription.

An entry is 32 bytes long. A disk holds the candidate term, the terms, the recorded log and a snapshot's position.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aerowire.cluster.consensus.term_table import TermTable

ENTRY_LENGTH = 32
TERM_BUFFER_LENGTH = 16 * ENTRY_LENGTH


@dataclass(frozen=True, slots=True)
class Entry:
    """What a leader appended in a term, and a chain over all entries up to it: equal chains are equal logs."""

    term_id: int
    value: int
    chain: int


def append(log: list[Entry], term_id: int, value: int) -> None:
    """Append an entry to a log."""
    previous = log[-1].chain if log else 0
    log.append(Entry(term_id, value, hash((previous, term_id, value))))


@dataclass(slots=True)
class Disk:
    """What survives a crash."""

    candidate_term_id: int = -1
    terms: TermTable = field(default_factory=TermTable)
    log: list[Entry] = field(default_factory=list)
    recording_id: int = -1
    snapshot_position: int = 0

    @property
    def append_position(self) -> int:
        """Where the recording ends."""
        return len(self.log) * ENTRY_LENGTH

    def begin_recording(self, recording_id: int) -> None:
        """Begin the recording of the log, if there is none."""
        if self.recording_id < 0:
            self.recording_id = recording_id
            self.log.clear()

    def forget_orphan(self) -> None:
        """Forget a recording that recording.log has no term of: it will not be found again."""
        if not self.terms.entries:
            self.recording_id = -1
            self.log.clear()


@dataclass(slots=True)
class Publication:
    """A leader's log publication: entries from its initial position on."""

    session_id: int
    initial_position: int
    entries: list[Entry] = field(default_factory=list)
    is_recorded: bool = False
    catchups: dict[int, int] = field(default_factory=dict)

    @property
    def position(self) -> int:
        """Where the log ends."""
        return self.initial_position + len(self.entries) * ENTRY_LENGTH


@dataclass(slots=True)
class Stream:
    """A follower's subscription of a log."""

    session_id: int
    is_catchup: bool = False
    is_live: bool = False
    live_position: int | None = None
    awaited_position: int | None = None
    is_joined: bool = False
    heard_ns: int = 0
