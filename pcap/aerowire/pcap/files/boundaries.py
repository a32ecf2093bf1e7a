"""Records in the middle of a classic file: the first one at or behind a cut, found in the surroundings of the cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Integers
from aerowire.pcap.files.formats import FILE_HEADER_LENGTH, RECORD_HEADER_LENGTH, ClassicHeader
from aerowire.pcap.files.places import Extent, Place
from aerowire.pcap.files.recovery import candidates
from aerowire.pcap.files.source import CaptureFile, ChunkReader
from aerowire.pcap.files.walk import read_records


def with_earlier_place(file: CaptureFile, extent: Extent | None, span: int) -> Extent | None:
    """Return an extent with a place at least `span` bytes before it, which is found in a classic file where the extent names none."""
    if extent is None or extent.before is not None or file.header is None or extent.start.position <= FILE_HEADER_LENGTH:
        return extent
    start = extent.start.position
    earliest = max(FILE_HEADER_LENGTH, start - span - RECORD_HEADER_LENGTH - file.header.record_length_max)
    return replace(extent, before=Place(find_boundary(file.stream, earliest, file.header, start), None))


def extent_near(
    file: CaptureFile, start: int, ends: Iterable[int], file_length: int, known: Sequence[Place] = ()
) -> tuple[Extent | None, bool]:
    """Return the records between a cut and the first of some ends around which the chain of records is whole, and whether they are sure.

    Not sure: the surroundings of a cut leave more than one possible, or the file is no classic one.  known: records from which the file is
    read to such a cut.
    """
    if file.header is None:
        return None, False
    bounds, is_sure = [], True
    for cuts in ((start,), ends):
        found = ((cut, find_boundaries(file.stream, cut, file.header, file_length)) for cut in cuts)
        cut, offsets = next((one for one in found if one[1]), (file_length, [file_length]))
        if len(offsets) > 1:
            is_sure = False
            begin = max((place.position for place in known if place.position <= cut), default=FILE_HEADER_LENGTH)
            offsets = [find_boundary(file.stream, cut, file.header, file_length, begin)] if known else offsets
        bounds.append(offsets[0])
    return Extent(Place(bounds[0], None), bounds[1]) if bounds[0] < bounds[1] else None, is_sure


def find_boundary(file: BinaryIO, cut: int, header: ClassicHeader, file_length: int, known: int = FILE_HEADER_LENGTH) -> int:
    """Return the offset of the first record at or behind `cut`, or the file's length, found without reading what lies far before it.

    Where the surroundings of the cut leave more than one possible, the file is read from `known`, a record at or before the cut.
    """
    if cut <= known:
        return known
    found = find_boundaries(file, cut, header, file_length)
    walked = walk_to(file, known, cut, header, file_length) if len(found) > 1 else None
    return walked if walked is not None else found[0] if found else file_length


def find_boundaries(file: BinaryIO, cut: int, header: ClassicHeader, file_length: int) -> list[int]:
    """Return the offsets that may be that of the first record at or behind `cut`, likeliest first: one in nearly every capture.

    Chains of plausible records are followed from every byte of a stretch of twice the largest record before the cut.  The true one starts
    within the first of the two.  Where all chains that start there lead to the same record, that is the one.  Where they do not, packets
    hold records that lead from one to the next, and nothing near the cut tells which chain is true.  None is found where the chain of
    records is broken around the cut.
    """
    if cut <= FILE_HEADER_LENGTH:
        return [FILE_HEADER_LENGTH]
    span = header.record_length_max + RECORD_HEADER_LENGTH
    window = max(FILE_HEADER_LENGTH, cut - 2 * span)
    file.seek(window)
    data = np.frombuffer(file.read(min(file_length, cut + 2 * span) - window), dtype=np.uint8)
    goal, is_whole = cut - window, window + data.size >= file_length
    if data.size < RECORD_HEADER_LENGTH:
        return [file_length]
    origins, landings = _landings(data, goal, header, is_start=window == FILE_HEADER_LENGTH, is_whole=is_whole)
    early = landings[origins < span]
    return list(dict.fromkeys((window + (early if early.size else landings[:1])).tolist()))


def _landings(data: Bytes, goal: int, header: ClassicHeader, *, is_start: bool, is_whole: bool) -> tuple[Integers, Integers]:
    """Return where the chains begin that lead over `goal`, in order, and the first record at or behind it on each."""
    plausible, following = candidates(data, 0, data.size, header)
    rows = np.flatnonzero(plausible)
    dead, end = rows.size, rows.size + 1  # where chains go on that break, and those that end with the file
    numbers = np.full(data.size + 2, dead, dtype=np.int64)
    numbers[rows] = np.arange(rows.size)
    if is_whole:
        numbers[data.size] = end
    # Of each place the one to which its chain leads: the next record, then the one behind as many again as were passed so far.
    leads = np.concatenate([numbers[np.minimum(following[rows], data.size + 1)], [dead, end]])
    goals = int(rows.searchsorted(goal))  # where those at or behind the goal begin
    leads[goals : rows.size] = np.arange(goals, rows.size)
    while not np.array_equal(further := leads[leads], leads):
        leads = further
    origins = numbers[:1] if is_start else np.arange(goals)
    landed = leads[origins]
    reached = landed != dead
    places = np.concatenate([rows, [-1, data.size]])
    return places[origins[reached]], places[landed[reached]]


def walk_to(file: BinaryIO, known: int, cut: int, header: ClassicHeader, file_length: int) -> int | None:
    """Return the first record at or behind `cut` by walking from `known`; None where the chain is broken."""
    file.seek(known)
    reader = ChunkReader(file, position=known, length=file_length - known)
    position = 0
    while reader.refill(position):
        offsets, _, position, is_broken = read_records(reader.buffer, 0, reader.buffer.size, header.little_endian, header.record_length_max)
        place = int(offsets.searchsorted(cut - reader.buffer_offset))
        if place < offsets.size:
            return reader.buffer_offset + int(offsets[place])
        if is_broken:
            return None
        if reader.buffer_offset + position >= cut:
            return reader.buffer_offset + position
    return file_length
