"""Compressed captures as streams of bytes that give everything up to a damage, and then raise EOFError.

The decompressors themselves throw away what stands before a damage in the same piece of input.  It knows nothing of captures.
"""

from __future__ import annotations

import zlib
from typing import BinaryIO, cast

INPUT_LENGTH = 1 << 16  # compressed bytes at a time; what a copy of the state costs is little beside them
OUTPUT_LENGTH = 1 << 10  # of zstd, whose damaged piece is lost
DAMAGED = "the compressed stream is damaged or cut short"
GZIP_WINDOW = 31  # zlib's name for: gzip header and checksum, any window


class Inflated:
    """A gzip file, of one member or several."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._machine = zlib.decompressobj(GZIP_WINDOW)
        self._input = b""
        self._rescued = b""
        self._is_damaged = False

    def read(self, count: int) -> bytes:
        """Return `count` bytes, fewer at the end.  Raises EOFError where nothing is left but the stream is damaged or cut short."""
        out = bytearray()
        try:
            while len(out) < count and (piece := self._piece(count - len(out))):
                out += piece
        except EOFError:
            if not out:
                raise
        return bytes(out)

    def _piece(self, count: int) -> bytes:
        while not self._is_damaged:
            if not self._input:
                self._input = self._raw.read(INPUT_LENGTH)
            if self._machine.eof and not self._begin_member():
                return b""
            if not self._input:
                break
            out = self._inflate(count)
            if out:
                return out
        if self._rescued:
            out, self._rescued = self._rescued[:count], self._rescued[count:]
            return out
        raise EOFError(DAMAGED)

    def _begin_member(self) -> bool:
        """Make ready for another member, where one follows but for padding with zeros."""
        self._input = self._input.lstrip(b"\0")
        while not self._input:
            self._input = self._raw.read(INPUT_LENGTH)
            if not self._input:
                return False
            self._input = self._input.lstrip(b"\0")
        self._machine = zlib.decompressobj(GZIP_WINDOW)
        return True

    def _inflate(self, count: int) -> bytes:
        before = self._machine.copy()
        try:
            out = self._machine.decompress(self._input, count)
        except zlib.error:
            self._is_damaged = True
            self._rescued = _up_to_damage(before, self._input)
            return b""
        self._input = self._machine.unused_data if self._machine.eof else self._machine.unconsumed_tail
        return out


def _up_to_damage(machine: zlib._Decompress, data: bytes) -> bytes:
    """Return what comes out byte by byte until the damage."""
    out = bytearray()
    try:
        for index in range(len(data)):
            out += machine.decompress(data[index : index + 1])
    except zlib.error:
        pass
    return bytes(out)


class Unpacked:
    """A zstd file, of one frame or several."""

    def __init__(self, raw: BinaryIO) -> None:
        import pyarrow as pa  # type: ignore[import-untyped]

        self._stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
        self._is_damaged = False

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes, none at the end.  Raises EOFError where the stream is damaged or cut short."""
        if not self._is_damaged:
            try:
                return cast(bytes, self._stream.read(min(count, OUTPUT_LENGTH)))
            except OSError:
                self._is_damaged = True
        raise EOFError(DAMAGED)
