"""The terms of a member's log: a copy of recording.log's, changed only when a change was stored. Aeron: RecordingLog.

Invariant: ids are contiguous; a term's base position is the end of the term before it. A term that this member never had is an empty one,
as RecordingLog.ensureCoherent fills them in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.inputs import TermEntry
from aerowire.codecs.flyweights.archive_files import NULL_POSITION


class TermTable:
    """Terms by id. Changed by `ensure_coherent` and `truncate`."""

    def __init__(self, entries: Iterable[TermEntry] = ()) -> None:
        """Take the entries of recording.log."""
        self._entries = {entry.leadership_term_id: entry for entry in sorted(entries, key=lambda entry: entry.leadership_term_id)}

    @property
    def entries(self) -> tuple[TermEntry, ...]:
        """All terms, in order."""
        return tuple(self._entries.values())

    @property
    def last(self) -> TermEntry | None:
        """The last term."""
        return next(reversed(self._entries.values()), None)

    @property
    def last_term_id(self) -> int:
        """The id of the last term; NULL_VALUE if there is none."""
        last = self.last
        return NULL_VALUE if last is None else last.leadership_term_id

    def find(self, leadership_term_id: int) -> TermEntry | None:
        """Return a term. Aeron: RecordingLog.findTermEntry."""
        return self._entries.get(leadership_term_id)

    def holds(self, leadership_term_id: int, log_position: int) -> bool:
        """Whether a term is known, with that end if one is given: to store it again would change nothing."""
        entry = self._entries.get(leadership_term_id)
        return entry is not None and log_position in {NULL_POSITION, entry.log_position}

    def ends_at(self, position: int) -> bool:
        """Whether a term ends at a position."""
        return any(entry.log_position == position for entry in self._entries.values())

    def ensure_coherent(self, leadership_term_id: int, term_base_log_position: int, log_position: int) -> None:
        """Add a term, close the one before it, fill in those between; or give a known one its end. Aeron: RecordingLog.ensureCoherent."""
        last = self.last
        if last is None:
            # Terms that this member missed are not its own: the first one begins where the log does.
            self._fill(max(0, self.last_term_id + 1), leadership_term_id, 0)
            self._put(TermEntry(leadership_term_id, term_base_log_position, log_position))
        elif last.leadership_term_id < leadership_term_id:
            if last.log_position == NULL_POSITION:
                last = replace(last, log_position=term_base_log_position)
                self._put(last)
            self._fill(last.leadership_term_id + 1, leadership_term_id, last.log_position)
            self._put(TermEntry(leadership_term_id, last.log_position, log_position))
        elif log_position != NULL_POSITION and leadership_term_id in self._entries:
            self._put(replace(self._entries[leadership_term_id], log_position=log_position))

    def truncate(self, leadership_term_id: int, position: int) -> None:
        """End a term at a position, and remove the terms behind it."""
        for term_id in [term_id for term_id in self._entries if term_id > leadership_term_id]:
            del self._entries[term_id]
        entry = self._entries.get(leadership_term_id)
        if entry is not None:
            self._put(replace(entry, log_position=position))

    def surviving(self, before_term_id: int, position: int) -> int:
        """Return the last term before another one that begins at or before a position; NULL_VALUE if there is none."""
        terms = (
            entry.leadership_term_id
            for entry in self._entries.values()
            if entry.leadership_term_id < before_term_id and entry.term_base_log_position <= position
        )
        return max(terms, default=NULL_VALUE)

    def _fill(self, first_term_id: int, end_term_id: int, position: int) -> None:
        for term_id in range(first_term_id, end_term_id):
            self._put(TermEntry(term_id, position, position))

    def _put(self, entry: TermEntry) -> None:
        self._entries[entry.leadership_term_id] = entry
