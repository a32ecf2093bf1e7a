"""The order in which Agrona's Long2LongHashMap iterates over its keys, which is the order of timers in a snapshot of the wheel.

The map is an open-addressed table that is searched linearly, shifts keys back on removal and never shrinks. Where keys collide, their
order depends on the order of insertions and removals, so the table itself is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

_FIRST_CAPACITY = 8
_LOW_32_BITS = (1 << 32) - 1
_LOW_64_BITS = (1 << 64) - 1
_MULTIPLIER_1 = 0xBF58476D1CE4E5B9
_MULTIPLIER_2 = 0x94D049BB133111EB


def _hash_of(key: int) -> int:
    """Mix the bits of a key. Agrona: Hashing.evenHash, for entries of one slot in place of two."""
    mixed = key & _LOW_64_BITS
    mixed = (mixed ^ (mixed >> 30)) * _MULTIPLIER_1 & _LOW_64_BITS
    mixed = (mixed ^ (mixed >> 27)) * _MULTIPLIER_2 & _LOW_64_BITS
    mixed ^= mixed >> 31
    folded = (mixed ^ (mixed >> 32)) & _LOW_32_BITS
    return folded - (folded << 7)


class LongKeyOrder:
    """A set of 64-bit keys. Changed by `add` and `remove`.

    Invariant: at most 65 % of the slots hold a key; between a key and the slot of its hash no slot is empty.
    """

    def __init__(self) -> None:
        """Start without keys."""
        self._size = 0
        self._slots: list[int | None] = [None] * _FIRST_CAPACITY

    def add(self, key: int) -> None:
        """Add a key that is not in the set."""
        self._put(key)
        self._size += 1
        if self._size > len(self._slots) * 13 // 20:
            self._rehash()

    def remove(self, key: int) -> None:
        """Remove a key that is in the set."""
        slots, mask = self._slots, len(self._slots) - 1
        index = _hash_of(key) & mask
        while slots[index] != key:
            index = (index + 1) & mask
        slots[index] = None
        self._size -= 1
        self._close_gap(index)

    def __iter__(self) -> Iterator[int]:
        """Yield the keys from the last slot down; from the first gap down and around if the last slot holds a key."""
        slots = self._slots
        stop = 0 if slots[-1] is None else slots.index(None)
        for index in range(stop + len(slots) - 1, stop - 1, -1):
            key = slots[index & (len(slots) - 1)]
            if key is not None:
                yield key

    def _put(self, key: int) -> None:
        slots, mask = self._slots, len(self._slots) - 1
        index = _hash_of(key) & mask
        while slots[index] is not None:
            index = (index + 1) & mask
        slots[index] = key

    def _rehash(self) -> None:
        """Move the keys into twice as many slots, in the order of the slots."""
        keys = self._slots
        self._slots = [None] * (2 * len(keys))
        for key in keys:
            if key is not None:
                self._put(key)

    def _close_gap(self, gap: int) -> None:
        """Move keys behind a gap into it if their search would end there. Agrona: Long2LongHashMap.compactChain."""
        slots, mask = self._slots, len(self._slots) - 1
        index = (gap + 1) & mask
        while (key := slots[index]) is not None:
            home = _hash_of(key) & mask
            if (index < home and (home <= gap or gap <= index)) or home <= gap <= index:
                slots[gap] = key
                slots[index] = None
                gap = index
            index = (index + 1) & mask
