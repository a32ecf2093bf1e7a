"""The bytes that Agrona's ExpandableRingBuffer would take for messages, which is what a snapshot says of a service's pending ones.

Each message has a header and is aligned. One that would not fit before the end of the ring begins at its front, behind padding; without
room there, the ring grows. Padding stays where it is, so the number of bytes depends on what was added and removed before.
"""

from __future__ import annotations

from typing import Final

CAPACITY_MAX: Final = 1 << 30
_OVERHEAD: Final = 8
_ALIGNMENT: Final = 8


def _next_power_of_two(value: int) -> int:
    """Return the smallest power of two that is not less; 1 for 0."""
    return 1 << (value - 1).bit_length() if value > 0 else 1


class RingLengths:
    """Positions in a ring. Changed by `append`, `remove` and `reset`. Invariant: 0 <= `size` <= `capacity` <= CAPACITY_MAX."""

    def __init__(self) -> None:
        """Start without room."""
        self.capacity = 0
        self._head = 0
        self._tail = 0

    @property
    def size(self) -> int:
        """The bytes between the first message, or the padding before it, and the end of the last one."""
        return self._tail - self._head

    def append(self, length: int) -> tuple[int, int] | None:
        """Add a message; return the bytes of padding before it and its own, or None if it cannot grow enough."""
        own = _OVERHEAD + length + -length % _ALIGNMENT
        padding = 0
        free = self.capacity - self.size
        if own > free:
            self._grow(own)
        elif self._tail % self.capacity >= self._head % self.capacity:
            to_end = self.capacity - self._tail % self.capacity
            if own > to_end and own <= free - to_end:
                padding = to_end
                self._tail += padding
            elif own > to_end:
                self._grow(own)
        if own > self.capacity - self.size:
            return None
        self._tail += own
        return padding, own

    def remove(self, length: int) -> None:
        """Remove bytes from the front: those of the first message, or of the padding before it."""
        self._head += length

    def reset(self, required_capacity: int) -> None:
        """Empty the ring, and give it room."""
        self.capacity = _next_power_of_two(required_capacity)
        self._head = self._tail = 0

    def _grow(self, length: int) -> None:
        capacity = _next_power_of_two(self.capacity + length)
        if capacity <= CAPACITY_MAX:
            self.capacity, self._head, self._tail = capacity, 0, self.size
