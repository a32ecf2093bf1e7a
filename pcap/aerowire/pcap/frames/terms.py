"""Absolute positions: which term a stream began with and how long its terms are, as its SETUP frames said, over a whole capture.

Aeron: LogBufferDescriptor.computePosition.  Knows frames only by their fields.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from aerowire.pcap.arrays.blocks import Integers, Mask

StreamKey = tuple[int, int]  # session, stream
Change = tuple[int, int, int]  # place in the capture from which it counts, initial term id, term length
CHANGES_MAX = 1024  # of one stream: a session is drawn anew for each publication, so more is noise


@dataclass(slots=True)
class Terms:
    """What SETUP frames said of each stream. Invariant: changes are in the order of the capture, and neighbours differ."""

    changes: dict[StreamKey, list[Change]] = field(default_factory=dict)

    def note(self, session_id: int, stream_id: int, change: Change) -> None:
        """Take a SETUP; those of a stream come in the order of the capture."""
        known = self.changes.setdefault((session_id, stream_id), [])
        if (not known or known[-1][1:] != change[1:]) and len(known) < CHANGES_MAX:
            known.append(change)

    def add(self, other: Terms) -> Terms:
        """Add what was said in another part of the same capture, and return self."""
        for key, changes in other.changes.items():
            merged: list[Change] = []
            for change in sorted([*self.changes.get(key, ()), *changes]):
                if not merged or merged[-1][1:] != change[1:]:
                    merged.append(change)
            self.changes[key] = merged[:CHANGES_MAX]
        return self

    def positions(self, sessions: Integers, streams: Integers, places: TermPlaces, at: Integers) -> tuple[Integers, Mask]:
        """Return the position of each frame, and where it is known.

        What the last SETUP at or before a frame said counts for it, else what the first one behind it says.  at: the frames' places in the
        capture.
        """
        out, known = np.zeros(at.size, dtype=np.int64), np.zeros(at.size, dtype=bool)
        rows = np.flatnonzero(places.present)
        if not rows.size or not self.changes:
            return out, known
        keys = sessions[rows] << 32 | streams[rows] & 0xFFFF_FFFF
        distinct, which = np.unique(keys, return_inverse=True)
        rows = rows[np.argsort(which, kind="stable")]
        borders = np.concatenate([[0], np.cumsum(np.bincount(which))]).tolist()
        for key, (low, high) in zip(distinct.tolist(), pairwise(borders), strict=True):
            stream_id = key & 0xFFFF_FFFF
            changes = self.changes.get((key >> 32, stream_id - (stream_id >> 31 << 32)))
            if changes:
                mine = rows[low:high]
                out[mine] = _positions(changes, places.term_ids[mine], places.term_offsets[mine], at[mine])
                known[mine] = True
        return out, known

    def to_json(self) -> list[Any]:
        """Return plain values for JSON."""
        return [[session, stream, changes] for (session, stream), changes in sorted(self.changes.items())]

    @classmethod
    def from_json(cls, values: Iterable[Any]) -> Terms:
        """Return what `to_json` gave."""
        return cls({(session, stream): [(place, term, length) for place, term, length in changes] for session, stream, changes in values})


@dataclass(slots=True)
class TermPlaces:
    """Where in its stream each frame points: a term and an offset in it, where a frame of its kind has them."""

    term_ids: Integers
    term_offsets: Integers
    present: Mask


def _positions(changes: list[Change], term_ids: Integers, term_offsets: Integers, at: Integers) -> Integers:
    if len(changes) == 1:
        initial, length = np.int64(changes[0][1]), np.int64(changes[0][2])
        return _computed(term_ids, term_offsets, initial, length)
    begins = [change[0] for change in changes]
    which = np.array([max(bisect_right(begins, place) - 1, 0) for place in at.tolist()], dtype=np.int64)
    initials = np.array([change[1] for change in changes], dtype=np.int64)[which]
    lengths = np.array([change[2] for change in changes], dtype=np.int64)[which]
    return _computed(term_ids, term_offsets, initials, lengths)


def _computed(term_ids: Integers, term_offsets: Integers, initials: Integers | np.int64, lengths: Integers | np.int64) -> Integers:
    """Term ids wrap around as 32-bit integers do."""
    out: Integers = (term_ids - initials).astype(np.int32).astype(np.int64) * lengths + term_offsets
    return out
