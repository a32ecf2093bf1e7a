"""Classic pcap files: their header, their records, and where a chain of records can be picked up in the middle.

    file header, 24 bytes: magic, version (major, minor), zone, accuracy, snap length, link type
    record header, 16 bytes: seconds, fraction, captured length, original length; then the captured bytes

It knows nothing of what the packets hold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from aerowire.pcap.blocks import Bytes, Gather, Integers, Mask, PacketBlock
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.places import Extent
from aerowire.pcap.source import CHUNK_LENGTH, CLASSIC_MAGICS, ChunkReader
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.walk import walk_records

FILE_HEADER_LENGTH = 24
RECORD_HEADER_LENGTH = 16
RECORD_LENGTH_MAX = 262144  # what capture tools themselves refuse to exceed
SNAP_LENGTH_MAX = 4 << 20  # a header that claims more is not believed
ORIGINAL_LENGTH_MAX = 16 << 20  # of one packet on any wire, segmentation offload included
TIME_STEP_MAX_S = 7 * 86400  # between neighbours, for a chain to be plausible
CHAIN_LENGTH = 8  # records in a row that make a chain plausible behind a break


@dataclass(frozen=True, slots=True)
class ClassicHeader:
    """What a classic file says of all its records."""

    little_endian: bool
    tick_ns: int
    record_length_max: int
    link_type: int

    @classmethod
    def parse(cls, data: bytes, name: str) -> ClassicHeader:
        """Read the file header; raise CaptureError when it is short or has another magic."""
        if len(data) < FILE_HEADER_LENGTH or data[:4] not in CLASSIC_MAGICS:
            raise CaptureError(f"{name}: not a capture: expected a pcap or pcapng file header, found {data[:8].hex(' ') or 'nothing'}")
        little_endian, tick_ns = CLASSIC_MAGICS[data[:4]]
        snap_length, link_type = struct.unpack_from("<II" if little_endian else ">II", data, 16)
        limit = max(RECORD_LENGTH_MAX, snap_length) if snap_length <= SNAP_LENGTH_MAX else RECORD_LENGTH_MAX
        return cls(little_endian, tick_ns, limit, link_type & 0x0FFF_FFFF)

    @property
    def record_dtype(self) -> np.dtype[np.void]:
        kind = "<u4" if self.little_endian else ">u4"
        return np.dtype([("seconds", kind), ("fraction", kind), ("captured", kind), ("original", kind)])


def read_blocks(
    file: BinaryIO,
    header: ClassicHeader,
    statistics: Statistics,
    *,
    extent: Extent | None = None,
    fail_fast: bool = False,
    name: str = "",
    chunk_length: int = CHUNK_LENGTH,
) -> Iterator[PacketBlock]:
    """Yield the records of an extent, or all of them, `file` standing behind its header; a broken chain is counted and picked up again.

    An extent must end with the first byte of a record, or the file's last.  Raises CaptureError for a broken chain with `fail_fast`.
    """
    start, length = FILE_HEADER_LENGTH, None
    first_index: int | None = 0
    if extent is not None:
        start, first_index = max(extent.start.position, FILE_HEADER_LENGTH), extent.start.packet_index
        length = extent.end - start
        file.seek(start)
    reader = ChunkReader(file, position=start, length=length, chunk_length=chunk_length)
    position, searching = 0, False
    while reader.refill(position):
        position = 0
        while True:
            buffer = reader.buffer
            if searching:
                found = find_chain(buffer, position, header, is_whole=reader.at_end)
                statistics.corrupt_bytes += (buffer.size if found is None else found) - position
                position = buffer.size if found is None else found
                searching = found is None
            offsets, stopped, broken = walk_records(buffer, position, buffer.size, header.little_endian, header.record_length_max)
            if offsets.size:
                yield _block(buffer, offsets, header, first_index, reader.buffer_offset)
                first_index = None if first_index is None else first_index + int(offsets.size)
            position = stopped
            if not broken or searching:
                break
            if fail_fast:
                raise CaptureError(f"{name}: record header at byte {reader.buffer_offset + stopped} has an impossible length")
            statistics.corrupt_records += 1
            position, searching = stopped + 1, True
            statistics.corrupt_bytes += 1
    left = reader.buffer.size
    if left or reader.was_cut_short:
        if fail_fast:
            raise CaptureError(f"{name}: cut short: {left} bytes of an incomplete record at its end")
        statistics.truncated_bytes += max(left, 1)


def _block(buffer: Bytes, offsets: Integers, header: ClassicHeader, first_index: int | None, buffer_offset: int) -> PacketBlock:
    records = Gather(buffer).structs(header.record_dtype, offsets)
    starts = offsets + RECORD_HEADER_LENGTH
    return PacketBlock(
        buffer=buffer,
        starts=starts,
        ends=starts + records["captured"].astype(np.int64),
        originals=records["original"].astype(np.int64),
        ts_ns=records["seconds"].astype(np.int64) * 1_000_000_000 + records["fraction"].astype(np.int64) * header.tick_ns,
        first_index=first_index,
        link_types=np.broadcast_to(np.int64(header.link_type), offsets.shape),
        positions=buffer_offset + offsets,
        stop=buffer_offset + int(offsets[-1]) + RECORD_HEADER_LENGTH + int(records["captured"][-1]),
    )


def find_chain(buffer: Bytes, start: int, header: ClassicHeader, *, is_whole: bool) -> int | None:
    """Return the first offset from `start` where a plausible chain of records begins, or None.

    is_whole: the file ends with the buffer, so that a chain may end there too.
    """
    if buffer.size - start < RECORD_HEADER_LENGTH:
        return None
    plausible, following = _candidates(buffer, start, buffer.size, header)
    origins = np.flatnonzero(plausible)
    heads, alive = origins.copy(), np.ones(origins.size, dtype=bool)
    size = buffer.size - start
    for _ in range(CHAIN_LENGTH):
        ahead = following[heads]
        inside = ahead <= size - RECORD_HEADER_LENGTH
        alive &= np.where(inside, plausible[np.minimum(ahead, plausible.size - 1)], (ahead == size) if is_whole else True)
        heads = np.where(inside, ahead, heads)
    chosen = origins[alive]
    return start + int(chosen[0]) if chosen.size else None


def _candidates(buffer: Bytes, start: int, end: int, header: ClassicHeader) -> tuple[Mask, Integers]:
    """For every byte of [start, end - 16]: may a record header stand here, and where would the next one be (both relative to `start`)."""
    dtype = header.record_dtype
    count = end - start - RECORD_HEADER_LENGTH + 1
    view: np.ndarray[tuple[int], np.dtype[np.void]] = np.ndarray((count,), dtype, buffer.data, start, (1,))
    captured = view["captured"].astype(np.int64)
    original = view["original"].astype(np.int64)
    fraction = view["fraction"].astype(np.int64)
    plausible = (captured <= header.record_length_max) & (captured <= original) & (original <= ORIGINAL_LENGTH_MAX)
    plausible &= (fraction < 1_000_000_000 // header.tick_ns) & (captured > 0)
    following = np.arange(count, dtype=np.int64) + RECORD_HEADER_LENGTH + captured
    # The next header, where it lies within reach, must be of about the same time.
    rows = np.flatnonzero(plausible)
    within = rows[following[rows] < count]
    seconds = view["seconds"].astype(np.int64)
    step = np.abs(seconds[following[within]] - seconds[within])
    plausible[within[step > TIME_STEP_MAX_S]] = False
    return plausible, following


def find_boundary(file: BinaryIO, cut: int, header: ClassicHeader, file_length: int) -> int:
    """Return the offset of the first record at or behind `cut`, or the file's length, found without reading what lies far before it."""
    found = find_boundaries(file, cut, header, file_length)
    return found[0] if found else file_length


def find_boundaries(file: BinaryIO, cut: int, header: ClassicHeader, file_length: int) -> list[int]:
    """Return the offsets that may be that of the first record at or behind `cut`, likeliest first: one in nearly every capture.

    Chains of plausible records are followed from every byte of a stretch of twice the largest record before the cut.  The chain of the
    records themselves is among them.  One within the bytes of some record nearly always breaks, or joins it; where payloads were made so
    that one goes on beside it, there is more than one landing behind the cut, and only reading the file from its beginning tells which is
    right.  None is found where the chain of records is broken around the cut.
    """
    if cut <= FILE_HEADER_LENGTH:
        return [FILE_HEADER_LENGTH]
    reach = 2 * (header.record_length_max + RECORD_HEADER_LENGTH)
    window = max(FILE_HEADER_LENGTH, cut - reach)
    file.seek(window)
    data = np.frombuffer(file.read(min(file_length, cut + reach) - window), dtype=np.uint8)
    goal, is_whole = cut - window, window + data.size >= file_length
    if data.size < RECORD_HEADER_LENGTH:
        return [file_length]
    plausible, following = _candidates(data, 0, data.size, header)
    is_start = window == FILE_HEADER_LENGTH
    origins = np.zeros(1, dtype=np.int64) if is_start else np.flatnonzero(plausible[: max(0, min(goal, plausible.size))])
    heads, landings = origins.copy(), np.full(origins.size, -1, dtype=np.int64)
    active = np.arange(origins.size)
    while active.size:
        at = heads[active]
        inside = at < plausible.size
        stands = np.zeros(active.size, dtype=bool)
        stands[inside] = plausible[at[inside]]
        ends = (at == data.size) if is_whole else np.zeros(active.size, dtype=bool)
        landed = (at >= goal) & (stands | ends)
        landings[active[landed]] = at[landed]
        active = active[stands & ~landed]
        heads[active] = following[heads[active]]
        if active.size > 1:  # chains that met go on as one: keep the earliest of each place
            _, first = np.unique(heads[active], return_index=True)
            active = active[np.sort(first)]
    return list(dict.fromkeys((window + landings[landings >= 0]).tolist()))
