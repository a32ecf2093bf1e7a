"""A mapped file whose aligned words are read and written whole.

`struct` moves explicit-endian values byte by byte, so a word that another process watches must go through a
native memoryview, which moves it at once. Read-modify-write goes through the C library of atomics when the
machine has one; without it a compare-and-set is a load and a store, safe while the harness is the only
client that commands the driver. Orderings are those of the machine: on x86 every load acquires and every store releases.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from pathlib import Path

SEQUENTIAL = 5  # __ATOMIC_SEQ_CST of the C compilers


def _load_atomics() -> tuple[Callable[..., bool], Callable[..., int]] | None:
    try:
        library = ctypes.CDLL("libatomic.so.1")
        exchange = library["__atomic_compare_exchange_8"]
        fetch_add = library["__atomic_fetch_add_8"]
    except (OSError, AttributeError):
        return None
    exchange.restype = ctypes.c_bool
    exchange.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]
    fetch_add.restype = ctypes.c_int64
    fetch_add.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int]
    return exchange, fetch_add


_ATOMICS = _load_atomics()


class Mapping:
    """A file mapped shared. Offsets are bytes from its start; word offsets must be multiples of the word's size."""

    def __init__(self, path: Path, *, is_writable: bool = True) -> None:
        if sys.byteorder != "little":
            raise OSError("shared driver memory is little-endian; this machine is not")
        self.path = path
        access = mmap.ACCESS_WRITE if is_writable else mmap.ACCESS_READ
        with path.open("r+b" if is_writable else "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=access)
        self.length = len(self._map)
        whole = self.length // 8 * 8
        self.buffer = memoryview(self._map)
        self._i32 = self.buffer[:whole].cast("i")
        self._i64 = self.buffer[:whole].cast("q")
        self._base = ctypes.addressof(ctypes.c_char.from_buffer(self._map)) if is_writable and _ATOMICS else 0

    def close(self) -> None:
        """Release the mapping; views handed out before become unusable."""
        self._i32.release()
        self._i64.release()
        self.buffer.release()
        try:
            self._map.close()
        except BufferError:
            # A flyweight still holds a view; the mapping goes with it.
            return

    def i32(self, offset: int) -> int:
        """Load the 32-bit word at `offset`."""
        return self._i32[offset >> 2]

    def i64(self, offset: int) -> int:
        """Load the 64-bit word at `offset`."""
        return self._i64[offset >> 3]

    def put_i32(self, offset: int, value: int) -> None:
        """Store a 32-bit word at `offset`."""
        self._i32[offset >> 2] = value

    def put_i64(self, offset: int, value: int) -> None:
        """Store a 64-bit word at `offset`."""
        self._i64[offset >> 3] = value

    def put_bytes(self, offset: int, data: bytes) -> None:
        """Copy `data` to `offset`; no word of it may be watched by another process."""
        self.buffer[offset : offset + len(data)] = data

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Copy `length` bytes from `offset`."""
        return bytes(self.buffer[offset : offset + length])

    def compare_and_set_i64(self, offset: int, expected: int, value: int) -> bool:
        """Store `value` at `offset` if it holds `expected`; return whether it did."""
        if _ATOMICS is not None and self._base:
            box = ctypes.c_int64(expected)
            return _ATOMICS[0](self._base + offset, ctypes.byref(box), value, SEQUENTIAL, SEQUENTIAL)
        if self.i64(offset) != expected:
            return False
        self.put_i64(offset, value)
        return True

    def fetch_add_i64(self, offset: int, delta: int) -> int:
        """Add `delta` to the word at `offset`; return what it held before."""
        if _ATOMICS is not None and self._base:
            return _ATOMICS[1](self._base + offset, delta, SEQUENTIAL)
        before = self.i64(offset)
        self.put_i64(offset, before + delta)
        return before
