"""Cutting captures into parts that tasks read on their own.

A record belongs to the part that holds its first byte.  Two ways to find the records at the cuts:
- exact: walk along the whole file's record headers once; parts then also know the index of their first packet;
- resync: look only at the surroundings of each cut (classic.find_boundary); parts know no packet index, and a part whose walk does not end
  exactly where its neighbour begins is damaged, and must be refused by whoever reads it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from aerowire.pcap import classic
from aerowire.pcap.places import Extent, Place
from aerowire.pcap.source import ChunkReader
from aerowire.pcap.walk import walk_records

SPLITS_MAX = 100_000  # of one file: beyond it the list of parts costs more than the parts


def read_header(path: str | os.PathLike[str]) -> classic.ClassicHeader:
    """Return a classic capture's file header."""
    with Path(path).open("rb") as file:
        return classic.ClassicHeader.parse(file.read(classic.FILE_HEADER_LENGTH), os.fspath(path))


def _cuts(length: int, split_length: int) -> range:
    step = max(split_length, -(-length // SPLITS_MAX))
    return range(step, length, step)


def split_exactly(path: str | os.PathLike[str], split_length: int) -> list[Extent]:
    """Return the parts of a classic capture by walking all its record headers; one part where the chain is broken."""
    header = read_header(path)
    length = Path(path).stat().st_size
    cuts: Iterator[int] = iter(_cuts(length, split_length))
    cut = next(cuts, None)
    bounds = [(classic.FILE_HEADER_LENGTH, 0)]
    index = position = 0
    with Path(path).open("rb") as file:
        file.seek(classic.FILE_HEADER_LENGTH)
        reader = ChunkReader(file, position=classic.FILE_HEADER_LENGTH)
        while cut is not None and reader.refill(position):
            offsets, position, broken = walk_records(reader.buffer, 0, reader.buffer.size, header.little_endian, header.record_length_max)
            if broken:
                return [Extent(Place(classic.FILE_HEADER_LENGTH, 0), length)]
            while cut is not None and offsets.size and reader.buffer_offset + int(offsets[-1]) >= cut:
                place = int(offsets.searchsorted(cut - reader.buffer_offset))
                bounds.append((reader.buffer_offset + int(offsets[place]), index + place))
                cut = next(cuts, None)
            index += int(offsets.size)
    ends = [start for start, _ in bounds[1:]] + [length]
    return [Extent(Place(start, first), end) for (start, first), end in zip(bounds, ends, strict=True) if end > start]


def split_by_resync(path: str | os.PathLike[str], split_length: int) -> list[Extent]:
    """Return the parts of a classic capture by looking at the surroundings of each cut only."""
    header = read_header(path)
    length = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        starts = [classic.FILE_HEADER_LENGTH]
        for cut in _cuts(length, split_length):
            starts.append(classic.find_boundary(file, cut, header, length, starts[-1]))
    bounds = sorted({*starts, length})
    return [Extent(Place(start, 0 if start == classic.FILE_HEADER_LENGTH else None), end) for start, end in itertools.pairwise(bounds)]
