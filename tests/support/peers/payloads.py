"""The messages that both ends agree on, drawn as java/Payloads.java draws them, and their hash."""

from __future__ import annotations

import hashlib
import struct
import sys

POOL_LENGTH = 81_920
START_MASK = 0xFFFF
MASK_64 = (1 << 64) - 1


class Payloads:
    """Pieces of a pool of random bytes, repeated where messages are longer; lengths 0 to `length_max`, by xorshift64 from `seed`."""

    def __init__(self, seed: int, length_max: int) -> None:
        self._state = seed & MASK_64 or 1
        self._length_range = length_max + 1
        drawn = b"".join(struct.pack("<Q", self._draw()) for _ in range(POOL_LENGTH // 8))
        self.pool = memoryview(drawn * -(-(START_MASK + 1 + length_max) // POOL_LENGTH))

    def next(self) -> memoryview:
        drawn = self._draw()
        start = drawn & START_MASK
        return self.pool[start : start + (drawn >> 33) % self._length_range]

    def _draw(self) -> int:
        state = self._state
        state ^= (state << 13) & MASK_64
        state ^= state >> 7
        state ^= (state << 17) & MASK_64
        self._state = state
        return state


class ContentHash:
    """SHA-256 over every message, its length (four bytes, little-endian) before its content."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.messages = 0
        self.bytes = 0

    def add(self, message: memoryview | bytes) -> None:
        length = len(message)
        self._digest.update(length.to_bytes(4, "little"))
        self._digest.update(message)
        self.messages += 1
        self.bytes += length

    def fields(self) -> dict[str, object]:
        return {"messages": self.messages, "bytes": self.bytes, "sha256": self._digest.hexdigest()}


def arguments() -> dict[str, str]:
    """The peer's arguments, each name=value, as the Java peers take them."""
    return dict(argument.split("=", 1) for argument in sys.argv[1:])
