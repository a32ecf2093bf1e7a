"""Reads an input as a sequence of fields; behind its end everything is zero."""

from __future__ import annotations

import struct


class Fields:
    """A position in an input. Values are what the bytes say: nothing is corrected."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_empty(self) -> bool:
        """Whether every byte was read."""
        return self._at >= len(self._data)

    def take(self, length: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def unsigned(self, size: int) -> int:
        """Return the next little-endian number without a sign."""
        return int.from_bytes(self.take(size), "little")

    def signed(self, size: int) -> int:
        """Return the next little-endian number with a sign."""
        return int.from_bytes(self.take(size).ljust(size, b"\0"), "little", signed=True)

    def rest(self) -> bytes:
        """Return all bytes that were not read."""
        return self.take(len(self._data))


def int32s(*values: int) -> bytes:
    """Return numbers as little-endian bytes, four each; they wrap."""
    return b"".join(struct.pack("<I", value & 0xFFFFFFFF) for value in values)


def int64s(*values: int) -> bytes:
    """Return numbers as little-endian bytes, eight each; they wrap."""
    return b"".join(struct.pack("<Q", value & (2**64 - 1)) for value in values)
