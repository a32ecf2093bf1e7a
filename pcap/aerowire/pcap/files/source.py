"""Bytes of a capture from a path: plain, gzip or zstd, or standard input; read in chunks, so that size does not matter.

What the first bytes tell of a file, its compression and its format, is settled when it is opened.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.compressed import Inflated, Unpacked
from aerowire.pcap.files.formats import CLASSIC_MAGICS, FILE_HEADER_LENGTH, GZIP_MAGIC, PCAPNG_MAGIC, ZSTD_MAGIC, ClassicHeader

BUFFERS_MAX = 3  # whoever takes chunks one after the other holds two at most
_ALONE = [np.empty(0, dtype=np.uint8)]
UNUSED = sys.getrefcount(_ALONE[0])  # of memory that only a list holds
CHUNK_LENGTH = 8 << 20  # fastest of 1 to 64 MiB: larger ones fall out of the cache


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """A capture that is open, and the facts of it that count for all its records.

    stream: its bytes, decompressed, behind the header of a classic file or the magic of a pcapng file.  header: None for pcapng.
    """

    path: str
    stream: BinaryIO
    is_compressed: bool
    header: ClassicHeader | None


@contextmanager
def open_capture(path: str | os.PathLike[str]) -> Iterator[CaptureFile]:
    """Open a capture; "-" is standard input.  Raises CaptureError for what is no capture."""
    name = os.fspath(path)
    with open_source(name) as stream:
        start = stream.read(len(PCAPNG_MAGIC))
        header = None if start == PCAPNG_MAGIC else ClassicHeader.parse(start + stream.read(FILE_HEADER_LENGTH - len(start)), name)
        yield CaptureFile(name, stream, isinstance(stream, Inflated | Unpacked), header)


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a capture for reading from its first byte, decompressed; "-" is standard input."""
    name = os.fspath(path)
    if name == "-" and sys.stdin is None:
        raise CaptureError("-: cannot be opened: there is no standard input")
    try:
        raw = cast(BinaryIO, sys.stdin.buffer if name == "-" else Path(name).open("rb"))  # noqa: SIM115 - closed below, except standard input
    except OSError as error:
        raise CaptureError(f"{name}: cannot be opened: {error.strerror or error}") from error
    try:
        buffered = raw if hasattr(raw, "peek") else cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw)))
        magic = cast(io.BufferedReader, buffered).peek(4)[:4]
        if magic.startswith(GZIP_MAGIC):
            yield cast(BinaryIO, Inflated(buffered))
        elif magic == ZSTD_MAGIC:
            yield cast(BinaryIO, Unpacked(buffered))
        else:
            yield buffered
    except (OSError, EOFError) as error:
        raise CaptureError(f"{name}: cannot be read: {error}") from error
    finally:
        if name != "-":
            raw.close()


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise CaptureError where a path is no file with the magic of a capture."""
    with open_source(path) as file:
        magic = file.read(4)
    if magic != PCAPNG_MAGIC and magic not in CLASSIC_MAGICS:
        raise CaptureError(f"{os.fspath(path)}: not a capture: expected a pcap or pcapng file header, found {magic.hex(' ') or 'nothing'}")


def is_capture(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file with the magic of a capture."""
    try:
        check_readable(path)
    except CaptureError:
        return False
    return True


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Whether a file can be read from its beginning only."""
    try:
        with Path(path).open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise CaptureError(f"{os.fspath(path)}: cannot be opened: {error.strerror or error}") from error
    return magic.startswith(GZIP_MAGIC) or magic == ZSTD_MAGIC


class ChunkReader:
    """Hands out a stream in buffers that each begin with what the consumer left of the one before.

    Invariant: `position` is the stream offset of the next byte to be read; buffer_offset that of the current buffer's first byte.
    """

    def __init__(
        self, file: BinaryIO, *, position: int = 0, length: int | None = None, peeked: bytes = b"", chunk_length: int = CHUNK_LENGTH
    ) -> None:
        self._file = file
        self._remaining = length
        self._used: list[Bytes] = []
        self._chunk_length = chunk_length
        self.position = position + len(peeked)
        self.buffer_offset = position
        self.buffer: Bytes = np.frombuffer(peeked, dtype=np.uint8)
        self.at_end = False
        self.was_cut_short = False  # a compressed stream ended before its end mark, or is damaged

    def refill(self, keep_from: int) -> bool:
        """Drop the buffer's bytes before `keep_from`, read on; return whether anything was read."""
        kept = self.buffer[keep_from:]
        fresh = self._memory(max(self._chunk_length, 2 * kept.size))  # as many bytes are read as are copied, or nearly a chunk
        fresh[: kept.size] = kept
        target = memoryview(fresh.data)[kept.size :]
        if self._remaining is not None:
            target = target[: self._remaining]
        filled = 0
        while filled < len(target):
            count = self._read(target[filled:])
            if count == 0:
                self.at_end = True
                break
            filled += count
        if self._remaining is not None:
            self._remaining -= filled
            self.at_end = self.at_end or self._remaining == 0
        self.buffer_offset += keep_from
        self.position += filled
        self.buffer = fresh[: kept.size + filled]
        return filled > 0

    def _memory(self, capacity: int) -> Bytes:
        """Return memory that nobody looks at any more, or fresh one: clearing fresh memory costs as much as reading the file into it."""
        self._used = [memory for memory in self._used if memory.size >= capacity]
        for index in range(len(self._used)):
            if sys.getrefcount(self._used[index]) == UNUSED:
                return self._used[index]
        fresh = np.empty(capacity, dtype=np.uint8)
        if len(self._used) < BUFFERS_MAX:
            self._used.append(fresh)
        return fresh

    def _read(self, target: memoryview) -> int:
        try:
            readinto = getattr(self._file, "readinto", None)
            if readinto is not None:
                return int(readinto(target) or 0)
            data = self._file.read(len(target))
            target[: len(data)] = data
            return len(data)
        except EOFError:
            self.was_cut_short = True  # or was damaged: what came before is still good
            return 0
