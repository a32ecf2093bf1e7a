"""A stream's NAKs as position ranges, and which of them its late frames answer.

Knows positions and rows only: what a row is of, and which frames are late, the caller says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from aerowire.pcap.arrays.blocks import Integers

WORD_BITS = 1024  # of a word of `_Numbers`: of a million numbers there are as many words


@dataclass(slots=True)
class Naks:
    """A stream's NAKs as position ranges, in capture order; those that induced loss dropped are not among them."""

    rows: Integers
    starts: Integers
    ends: Integers


@dataclass(slots=True)
class Late:
    """The late frames of one path, in capture order: where each begins, and the row of the one before it at that position, or -1."""

    rows: Integers
    positions: Integers
    earlier: Integers


def answered(naks: Naks, paths: Sequence[Late]) -> list[Integers]:
    """Return, for the late frames of each path, the rows of the NAKs that they answer, -1 of those that answer none.

    A late frame answers, of the NAKs for its position before it, the first one since the frame came last, else the first one left.
    One NAK is answered once on a path, so that a duplicate or an overtaken original beside the answer is not taken for one.

    The NAKs for a position are not listed: a capture may have a million of them for each of a million late frames.
    """
    sizes = [one.rows.size for one in paths]
    if not naks.rows.size:
        return [np.full(size, -1, dtype=np.int64) for size in sizes]
    rows, positions, earlier = (np.concatenate([np.empty(0, np.int64), *(getattr(one, name) for one in paths)]) for name in Late.__slots__)
    out = np.full(rows.size, -1, dtype=np.int64)
    distinct, group = np.unique(positions, return_inverse=True)
    low, high = distinct.searchsorted(naks.starts), distinct.searchsorted(naks.ends)
    asking = np.flatnonzero(low < high)  # NAKs for any of the positions
    if asking.size:
        order = np.lexsort((rows, np.repeat(np.arange(len(paths)), sizes), group))
        fresh = np.ones(order.size, dtype=bool)
        fresh[1:] = (group[order[1:]] != group[order[:-1]]) | (earlier[order[1:]] != rows[order[:-1]])
        since, before = (naks.rows[asking].searchsorted(one[order], "right") for one in (earlier, rows))
        numbers = (one.tolist() for one in (group[order], since, before))
        taken = _taken(_changes(low[asking], high[asking], distinct.size), zip(*numbers, fresh.tolist(), strict=True), asking.size)
        found = np.array(taken, dtype=np.int64)
        out[order] = np.where(found >= 0, naks.rows[asking][found], -1)
    return np.split(out, np.cumsum(sizes)[:-1]) if paths else []


def _changes(low: Integers, high: Integers, count: int) -> list[list[int]]:
    """Return, for each of `count` positions, the NAKs that begin or end to ask there; NAK n asks for those in [low[n], high[n])."""
    at = np.concatenate([low, high])
    order = np.argsort(at, kind="stable")
    parts = np.split(order % low.size, at[order].searchsorted(np.arange(1, count + 1)))
    return [part.tolist() for part in parts]


def _taken(changes: list[list[int]], frames: Iterable[tuple[int, int, int, bool]], count: int) -> list[int]:
    """Return the NAK, of `count`, that each late frame takes, or -1.

    frames: (number of the position, since, before, is it the first late one of its path there), in the order of the positions.  A frame may
    take a NAK less than `before`; those from `since` on came after the frame before it.
    """
    asking, found = _Numbers(count), []
    position, left, taken = -1, 0, set[int]()
    for group, start, end, is_first in frames:
        if group != position:
            position = group
            for nak in changes[group]:
                asking.flip(nak)
        if is_first:
            left, taken = 0, set()
        nak = asking.next(start)
        if nak >= end:
            while (left := asking.next(left)) in taken:
                left += 1
            nak = left
        if nak < end:
            taken.add(nak)
        found.append(nak if nak < end else -1)
    return found


class _Numbers:
    """A set of numbers from 0 to a limit, of which the next one is found fast. Invariant: bit n of `_filled` says that word n is not 0."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._words = [0] * (limit // WORD_BITS + 1)
        self._filled = 0

    def flip(self, number: int) -> None:
        """Add a number that is not in the set; take out one that is."""
        at, bit = divmod(number, WORD_BITS)
        was_filled = self._words[at] != 0
        self._words[at] ^= 1 << bit
        if was_filled != (self._words[at] != 0):
            self._filled ^= 1 << at

    def next(self, number: int) -> int:
        """Return the least number in the set from `number` on; the limit where there is none."""
        at, bit = divmod(number, WORD_BITS)
        rest = self._words[at] >> bit << bit
        if not rest:
            filled = self._filled >> (at + 1) << (at + 1)
            if not filled:
                return self._limit
            at = _lowest(filled)
            rest = self._words[at]
        return at * WORD_BITS + _lowest(rest)


def _lowest(bits: int) -> int:
    """Return the place of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1
