"""pcapng files: sections, interfaces with their own time resolution, packets with options.

    block: type, total length, body, total length again; 4-byte aligned
    enhanced packet body: interface, timestamp (high, low), captured length, original length, bytes,
                          options (code, length, value padded to 4)

It knows nothing of what the packets hold.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from aerowire.pcap.blocks import Bytes, Gather, Integers, PacketBlock
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.places import Extent
from aerowire.pcap.source import CHUNK_LENGTH, ChunkReader
from aerowire.pcap.statistics import Statistics
from aerowire.pcap.walk import walk_blocks

SECTION, INTERFACE, PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
SIMPLE_PACKET_LENGTH_MIN, PACKET_LENGTH_MIN = 16, 32  # of the blocks that hold no bytes
BLOCK_LENGTH_MAX = 16 << 20  # what capture tools refuse to exceed
INTERFACES_MAX = 65536  # an interface's number in a packet block of the older kind has 16 bits
OPTIONS_MAX = 64  # of one packet that are looked at
END_OF_OPTIONS, COMMENT, INTERFACE_NAME, TIME_RESOLUTION, TIME_OFFSET = 0, 1, 2, 9, 14


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface of a section: what its packets' link type and timestamps mean."""

    link_type: int
    snap_length: int
    name: str = ""
    resolution: int = 6  # as stored: 10 to the minus n, or 2 to the minus n with the high bit set
    offset_s: int = 0

    def to_ns(self, ticks: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Integers:
        """Return nanoseconds since the epoch for timestamps in this interface's unit."""
        exponent = self.resolution & 0x7F
        if self.resolution & 0x80:
            seconds = ticks >> np.uint64(exponent)
            rest = ticks & np.uint64((1 << exponent) - 1)
            drop = max(0, exponent - 34)  # so that the product below stays within 64 bits
            ns = ((rest >> np.uint64(drop)) * np.uint64(1_000_000_000)) >> np.uint64(exponent - drop)
            out = seconds.astype(np.int64) * 1_000_000_000 + ns.astype(np.int64)
        elif exponent <= 9:
            out = (ticks * np.uint64(10 ** (9 - exponent))).astype(np.int64)
        else:
            out = (ticks // np.uint64(10 ** min(19, exponent - 9))).astype(np.int64)
        return out + self.offset_s * 1_000_000_000


@dataclass(slots=True)
class _Section:
    little_endian: bool
    interfaces: list[Interface] = field(default_factory=list)
    described: list[int] = field(default_factory=list)  # where the section header and the interfaces stand in the capture

    @property
    def order(self) -> str:
        return "<" if self.little_endian else ">"


def read_blocks(
    file: BinaryIO,
    statistics: Statistics,
    *,
    peeked: bytes = b"",
    extent: Extent | None = None,
    fail_fast: bool = False,
    name: str = "",
    chunk_length: int = CHUNK_LENGTH,
) -> Iterator[PacketBlock]:
    """Yield a capture's packets in file order, or those of an extent, `file` standing behind its first bytes `peeked`.

    A broken chain ends the reading (blocks cannot be picked up again reliably) and is counted; with `fail_fast` it raises CaptureError.
    """
    reader = ChunkReader(file, peeked=peeked, chunk_length=chunk_length)
    section: _Section | None = None
    position, first_index = 0, 0
    if extent is not None:
        section, first_index = _described_section(file, extent.start.blocks, name), extent.start.packet_index or 0
        start = file.seek(extent.start.position)
        reader = ChunkReader(file, position=start, length=extent.end - start, chunk_length=chunk_length)
    while reader.refill(position):
        position, broken = 0, False
        while True:
            buffer = reader.buffer
            started = _section(buffer, position, name)
            if started is not None:
                section, length = started
                section.described.append(reader.buffer_offset + position)
                if position + length > buffer.size:
                    break
                position += length
            if section is None:
                raise CaptureError(f"{name}: not a capture: its first block is no whole section header")
            offsets, stopped, broken = walk_blocks(buffer, position, buffer.size, section.little_endian, BLOCK_LENGTH_MAX)
            if offsets.size:
                block = _packets(Gather(buffer), offsets, section, (first_index, reader.buffer_offset, stopped), statistics)
                if block.count:
                    yield block
                first_index += block.count
            advanced, position = stopped > position or started is not None, stopped
            if broken or not advanced:
                break
        if broken:
            if fail_fast:
                raise CaptureError(f"{name}: block at byte {reader.buffer_offset + position} has an impossible length")
            _pass_over(reader, position, statistics)
            return
    if section is None:
        raise CaptureError(f"{name}: not a capture: its first block is no whole section header")
    _count_rest(reader, statistics, fail_fast=fail_fast, name=name)


def _described_section(file: BinaryIO, blocks: tuple[int, ...], name: str) -> _Section | None:
    """Return the section whose header and interfaces stand in some places of a file; None for the beginning of it."""
    section: _Section | None = None
    for position in blocks:
        file.seek(position)
        head = file.read(12)
        order = section.order if section is not None else "<" if struct.unpack("<I", head[8:])[0] == BYTE_ORDER_MAGIC else ">"
        (length,) = struct.unpack(order + "I", head[4:8])
        buffer = np.frombuffer(head + file.read(min(length, BLOCK_LENGTH_MAX) - len(head)), dtype=np.uint8)
        if section is None:
            started = _section(buffer, 0, name)
            if started is None:
                raise CaptureError(f"{name}: no section header at byte {position}: the file is not the one that was looked at before")
            section = started[0]
        else:
            section.interfaces.append(_interface(buffer, 0, length, order))
        section.described.append(position)
    return section


def _pass_over(reader: ChunkReader, position: int, statistics: Statistics) -> None:
    statistics.corrupt_records += 1
    statistics.corrupt_bytes += reader.buffer.size - position
    while reader.refill(reader.buffer.size):
        statistics.corrupt_bytes += reader.buffer.size


def _count_rest(reader: ChunkReader, statistics: Statistics, *, fail_fast: bool, name: str) -> None:
    left = reader.buffer.size
    if left or reader.was_cut_short:
        if fail_fast:
            raise CaptureError(f"{name}: cut short: {left} bytes of an incomplete block at its end")
        statistics.truncated_bytes += max(left, 1)


def _section(buffer: Bytes, position: int, name: str) -> tuple[_Section, int] | None:
    """Return the section that starts at `position` and its header's length, if one does and enough of it is there."""
    data = buffer.data
    if buffer.size - position < 28 or struct.unpack_from("<I", data, position)[0] != SECTION:
        return None
    for little_endian in (True, False):
        length, magic = struct.unpack_from("<II" if little_endian else ">II", data, position + 4)
        if magic == BYTE_ORDER_MAGIC:
            if not 28 <= length <= BLOCK_LENGTH_MAX or length & 3:
                break
            return _Section(little_endian), length
    raise CaptureError(f"{name}: section header at byte {position} of a block has no known byte order")


def _packets(gather: Gather, offsets: Integers, section: _Section, place: tuple[int, int, int], statistics: Statistics) -> PacketBlock:
    """Return the packets among some blocks of a section; note the interfaces among them.

    place: the index of the first packet, the buffer's position in the capture, and where in the buffer the blocks end.
    """
    buffer = gather.buffer
    first_index, buffer_offset, stopped = place
    kinds = gather.integers(section.order + "u4", offsets)
    lengths = gather.integers(section.order + "u4", offsets + 4)
    for offset, length in zip(offsets[kinds == INTERFACE].tolist(), lengths[kinds == INTERFACE].tolist(), strict=True):
        if len(section.interfaces) < INTERFACES_MAX:
            section.interfaces.append(_interface(buffer, offset, length, section.order))
            section.described.append(buffer_offset + offset)
    short = np.where(kinds == SIMPLE_PACKET, SIMPLE_PACKET_LENGTH_MIN, PACKET_LENGTH_MIN)
    packets = np.isin(kinds, (PACKET, SIMPLE_PACKET, ENHANCED_PACKET))
    statistics.corrupt_records += int((packets & (lengths < short)).sum())
    packets &= lengths >= short
    offsets, kinds, lengths = offsets[packets], kinds[packets], lengths[packets]
    starts, captured, original, ticks, interface, options = _packet_fields(gather, offsets, kinds, lengths, section.order)
    block_ends = offsets + lengths - 4
    simple = options < 0
    if simple.any():  # a simple packet's captured length is what its interface's snap length left of it
        snap = np.int64(section.interfaces[0].snap_length if section.interfaces else 0)
        captured = np.where(simple & (snap > 0), np.minimum(original, snap), captured)
    good = (interface < len(section.interfaces)) & (starts + captured <= block_ends)
    statistics.corrupt_records += int((~good).sum())
    starts, captured, original, ticks, interface, options = (part[good] for part in (starts, captured, original, ticks, interface, options))
    ts_ns = np.zeros(starts.size, dtype=np.int64)
    link_types = np.zeros(starts.size, dtype=np.int64)
    for number, described in enumerate(section.interfaces):
        rows = interface == number
        if rows.any():
            ts_ns[rows] = described.to_ns(ticks[rows].view(np.uint64))
            link_types[rows] = described.link_type
    ts_ns[options < 0] = 0  # a simple packet has no time
    return PacketBlock(
        buffer=buffer,
        starts=starts,
        ends=starts + captured,
        originals=original,
        ts_ns=ts_ns,
        first_index=first_index,
        link_types=link_types,
        positions=buffer_offset + offsets[good],
        stop=buffer_offset + stopped,
        described=tuple(section.described),
        interfaces=interface,
        interface_names=[described.name for described in section.interfaces],
        comments=_comments(gather, starts + ((captured + 3) & ~3), options, block_ends[good], section.order),
    )


def _packet_fields(gather: Gather, offsets: Integers, kinds: Integers, lengths: Integers, order: str) -> tuple[Integers, ...]:
    """Return (start of bytes, captured, original, ticks, interface, options) per packet block, in file order.

    options: 1 with, 0 without, -1 for a simple packet, which cannot have any.
    """
    at, kind, length = offsets, kinds, lengths
    full = kind != SIMPLE_PACKET
    interface = np.zeros(at.size, dtype=np.int64)
    ticks = np.zeros(at.size, dtype=np.uint64)
    captured, original, starts = (np.zeros(at.size, dtype=np.int64) for _ in range(3))
    options = np.full(at.size, -1, dtype=np.int64)
    if full.any():
        where = at[full]
        body = gather.structs(
            np.dtype([(label, order + "u4") for label in ("interface", "high", "low", "captured", "original")]), where + 8
        )
        older = gather.integers(order + "u2", where + 8)
        interface[full] = np.where(kind[full] == ENHANCED_PACKET, body["interface"].astype(np.int64), older)
        ticks[full] = (body["high"].astype(np.uint64) << np.uint64(32)) | body["low"].astype(np.uint64)
        captured[full], original[full] = body["captured"], body["original"]
        starts[full] = where + 28
        options[full] = (length[full] > 32 + ((captured[full] + 3) & ~3)).astype(np.int64)
    if not full.all():
        where = at[~full]
        original[~full] = gather.integers(order + "u4", where + 8)
        captured[~full] = np.minimum(original[~full], length[~full] - 16)
        starts[~full] = where + 12
    return starts, captured, original, ticks.view(np.int64), interface, options


def _options(data: memoryview, position: int, end: int, order: str) -> Iterator[tuple[int, bytes]]:
    for _ in range(OPTIONS_MAX):
        if position + 4 > end:
            return
        code, length = struct.unpack_from(order + "HH", data, position)
        if code == END_OF_OPTIONS or position + 4 + length > end:
            return
        yield code, bytes(data[position + 4 : position + 4 + length])
        position += 4 + ((length + 3) & ~3)


def _interface(buffer: Bytes, offset: int, length: int, order: str) -> Interface:
    if length < 20:
        return Interface(0xFFFF, 0)
    link_type, snap_length = struct.unpack_from(order + "HxxI", buffer.data, offset + 8)
    name, resolution, offset_s = "", 6, 0
    for code, value in _options(buffer.data, offset + 16, offset + length - 4, order):
        if code == INTERFACE_NAME:
            name = value.decode("utf-8", "replace")
        elif code == TIME_RESOLUTION and len(value) >= 1:
            resolution = value[0]
        elif code == TIME_OFFSET and len(value) >= 8:
            offset_s = struct.unpack(order + "q", value[:8])[0]
    return Interface(link_type, snap_length, name, resolution, offset_s)


def _comments(gather: Gather, positions: Integers, options: Integers, ends: Integers, order: str) -> dict[int, str]:
    """Return row -> first comment of the packets that have options; option by option for all packets at once."""
    found: dict[int, str] = {}
    rows = np.flatnonzero(options > 0)
    at, end = positions[rows], ends[rows]
    for _ in range(OPTIONS_MAX):
        inside = at + 4 <= end
        rows, at, end = rows[inside], at[inside], end[inside]
        if not rows.size:
            break
        code, length = gather.integers(order + "u2", at), gather.integers(order + "u2", at + 2)
        fits = (code != END_OF_OPTIONS) & (at + 4 + length <= end)
        comments = fits & (code == COMMENT)
        for row, start, size in zip(rows[comments].tolist(), at[comments].tolist(), length[comments].tolist(), strict=True):
            found.setdefault(row, gather.buffer[start + 4 : start + 4 + size].tobytes().decode("utf-8", "replace"))
        on = fits & ~comments
        rows, at, end = rows[on], (at + 4 + ((length + 3) & ~3))[on], end[on]
    return found
