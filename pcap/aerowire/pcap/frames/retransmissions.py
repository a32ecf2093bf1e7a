"""Which frames answer a NAK: ranges of terms that were asked for again, and since when, over a whole capture.

A frame of data or padding is marked where it begins in a range that a NAK of its session, stream and term asked for before it in the
capture.  Whether it is the first answer, a second one or an original that was overtaken is more than a frame and a NAK tell: see `stream`.

Of NAKs for the same bytes only the earliest matters, so what is kept is bounded by the bytes asked for, not by how often.
Knows frames only by their fields.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from aerowire.pcap.arrays.blocks import Integers, Mask

OWNER, SESSION, STREAM, TERM, START, END, PLACE = range(7)  # rows of an array of ranges
KEY_ROWS, ROWS = 4, 7
OFFSET_BITS = 31  # an offset in a term is less than 2 ** 30, an end at most that
RANGES_MAX = 1 << 21  # of one capture; with more, frames of it are not marked
PENDING_MAX = 1 << 18  # ranges that wait to be put in order
NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Ranges that NAKs asked for, seven numbers each: owner (a link, say), session, stream, term, start, end, place of the NAK.

    ranges: (7, n).  Invariant: in the order of the first five; ranges of one owner and term do not overlap.
    """

    ranges: Integers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked) and np.array_equal(self.ranges, other.ranges)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of(cls, ranges: Integers) -> Asked:
        """Return what NAKs in any order asked for: each byte as the earliest of them asked for it."""
        ranges = ranges[:, ranges[END] > ranges[START]]
        if not ranges.shape[1]:
            return cls(ranges)
        ranges = ranges[:, np.lexsort(ranges[KEY_ROWS::-1])]
        fresh = np.ones(ranges.shape[1], dtype=bool)
        fresh[1:] = (ranges[:KEY_ROWS, 1:] != ranges[:KEY_ROWS, :-1]).any(axis=0)
        group = np.cumsum(fresh) - 1
        bounds, places = _earliest(group << OFFSET_BITS | ranges[START], group << OFFSET_BITS | ranges[END], ranges[PLACE])
        first = np.ones(places.size, dtype=bool)  # neighbours that one NAK asked for are one
        first[1:] = places[1:] != places[:-1]
        begins = np.flatnonzero(first)
        ends = np.append(begins[1:], places.size)
        kept = places[begins] != NOWHERE
        begins, ends = begins[kept], ends[kept]
        keys = ranges[:KEY_ROWS, np.flatnonzero(fresh)[bounds[begins] >> OFFSET_BITS]]
        low = (1 << OFFSET_BITS) - 1
        return cls(np.concatenate([keys, [bounds[begins] & low, bounds[ends] & low, places[begins]]]))

    def chosen(self, owners: Mask) -> Asked:
        """Return what some owners asked for, as one: owners are 0 in it."""
        found = self.ranges[:, owners[self.ranges[OWNER]]].copy()
        found[OWNER] = 0
        return Asked.of(found)

    def renumbered(self, owners: Integers) -> Integers:
        """Return the ranges with `owners[owner]` in the place of each owner."""
        return np.concatenate([owners[self.ranges[OWNER]][None, :], self.ranges[SESSION:]])

    def to_json(self) -> str:
        """Return the ranges as a text."""
        steps = np.diff(self.ranges, axis=1, prepend=0)
        return base64.b64encode(zlib.compress(steps.astype("<i8").view(np.uint8).reshape(ROWS, -1, 8).swapaxes(1, 2).tobytes(), 1)).decode()

    @classmethod
    def from_json(cls, text: str, owner_count: int) -> Asked:
        """Return what `to_json` gave.  Raises ValueError for anything else."""
        unpacking = zlib.decompressobj()
        try:
            data = unpacking.decompress(base64.b64decode(text, validate=True), 8 * ROWS * RANGES_MAX)
        except zlib.error as error:
            raise ValueError(f"ranges that NAKs asked for: {error}") from error
        if not unpacking.eof or len(data) % (8 * ROWS):
            raise ValueError(f"ranges that NAKs asked for: {len(data)} bytes, expected whole ranges of {8 * ROWS}, at most {RANGES_MAX}")
        count = len(data) // (8 * ROWS)
        steps = np.frombuffer(data, dtype=np.uint8).reshape(ROWS, 8, count).swapaxes(1, 2)
        ranges = np.cumsum(np.ascontiguousarray(steps).view("<i8").reshape(ROWS, count), axis=1, dtype=np.int64)
        if count and (ranges[OWNER].min() < 0 or ranges[OWNER].max() >= owner_count):
            raise ValueError(f"ranges that NAKs asked for: of {int(ranges[OWNER].max())}, expected less than {owner_count}")
        return cls(ranges)


def _earliest(starts: Integers, ends: Integers, places: Integers) -> tuple[Integers, Integers]:
    """Return the bounds of ranges in order, and for the stretch behind each the least place of the ranges that hold it, else NOWHERE.

    Each range is two overlapping stretches of a power of two of bounds; these are halved, level by level.
    """
    bounds = np.unique(np.concatenate([starts, ends]))
    low, high = bounds.searchsorted(starts), bounds.searchsorted(ends)
    levels = np.frexp((high - low).astype(np.float64))[1] - 1  # of 1 it is 0, of 2 and 3 it is 1
    least = np.full(bounds.size, NOWHERE, dtype=np.int64)
    for level in range(int(levels.max()), -1, -1):
        rows = np.flatnonzero(levels == level)
        if rows.size:
            np.minimum.at(least, low[rows], places[rows])
            np.minimum.at(least, high[rows] - (1 << level), places[rows])
        if level:
            half = 1 << (level - 1)
            spread = least.copy()
            np.minimum(spread[half:], least[:-half], out=spread[half:])
            least = spread
    return bounds, least


class Asking:
    """Collects the NAKs of a pass. Invariant: of what was put in order, at most RANGES_MAX ranges are kept, else nothing ever."""

    def __init__(self, pending_max: int = PENDING_MAX) -> None:
        self._pending_max = pending_max
        self._ordered = Asked.of(np.empty((ROWS, 0), dtype=np.int64))
        self._pending: list[Integers] = []
        self._pending_count = 0
        self._is_too_much = False

    def note(self, columns: Sequence[Integers]) -> None:
        """Take NAKs: the seven numbers of each."""
        if self._is_too_much:
            return
        self._pending.append(np.stack([np.asarray(column, dtype=np.int64) for column in columns]))
        self._pending_count += self._pending[-1].shape[1]
        if self._pending_count > max(self._pending_max, self._ordered.ranges.shape[1] // 2):
            self._merge_pending()

    def asked(self) -> Asked | None:
        """Return what was asked for; None where that is too much to keep."""
        self._merge_pending()
        return None if self._is_too_much else self._ordered

    def _merge_pending(self) -> None:
        if self._pending:
            self._ordered = Asked.of(np.concatenate([self._ordered.ranges, *self._pending], axis=1))
            self._pending, self._pending_count = [], 0
        if self._ordered.ranges.shape[1] > RANGES_MAX:
            self._ordered, self._is_too_much = Asked.of(np.empty((ROWS, 0), dtype=np.int64)), True


class Marks:
    """Looks up whether frames were asked for; made once of what a capture's NAKs say."""

    def __init__(self, asked: Asked) -> None:
        ranges = asked.ranges
        streams = _pair(ranges[SESSION], ranges[STREAM])
        self._streams, stream = np.unique(streams, return_inverse=True)
        self._terms, term = np.unique(_pair(stream.astype(np.int64), ranges[TERM]), return_inverse=True)
        keys = term.astype(np.int64) << OFFSET_BITS
        order = np.argsort(keys | ranges[START], kind="stable")
        self._starts, self._ends = (keys | ranges[START])[order], (keys | ranges[END])[order]
        self._places = ranges[PLACE][order]

    def __bool__(self) -> bool:
        return bool(self._starts.size)

    def of(self, sessions: Integers, streams: Integers, terms: Integers, offsets: Integers, at: Integers) -> Mask:
        """Return which frames, that stood at the places `at` of the capture, had been asked for before."""
        out = np.zeros(at.size, dtype=bool)
        if not self._starts.size:
            return out
        stream, rows = _found(self._streams, _pair(sessions, streams))
        term, among = _found(self._terms, _pair(stream[rows], terms[rows]))
        rows, term = rows[among], term[among]
        wanted = term << OFFSET_BITS | offsets[rows]
        range_ = self._starts.searchsorted(wanted, side="right") - 1
        hit = (range_ >= 0) & (wanted < self._ends[range_]) & (self._places[range_] < at[rows])
        out[rows[hit]] = True
        return out


def _pair(high: Integers, low: Integers) -> Integers:
    return high << 32 | low & 0xFFFF_FFFF


def _found(known: Integers, wanted: Integers) -> tuple[Integers, Integers]:
    """Return the index of each wanted number among known ones, which are in order, and the rows of those that are there."""
    index = np.minimum(known.searchsorted(wanted), known.size - 1)
    return index, np.flatnonzero(known[index] == wanted)


def together(parts: Iterable[tuple[Asked, Integers]]) -> Asked:
    """Return what parts of a capture asked for as one; with each part come the new numbers of its owners."""
    return Asked.of(np.concatenate([np.empty((ROWS, 0), dtype=np.int64), *(part.renumbered(owners) for part, owners in parts)], axis=1))
