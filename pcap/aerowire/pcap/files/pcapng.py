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

from aerowire.pcap.arrays.blocks import Bytes, Gather, Integers, PacketBlock, joined
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.formats import FILE_HEADER_LENGTH, PCAPNG_MAGIC
from aerowire.pcap.files.places import Extent
from aerowire.pcap.files.recovery import search_windows
from aerowire.pcap.files.source import CaptureFile, ChunkReader, open_source
from aerowire.pcap.files.walk import walk_blocks
from aerowire.pcap.statistics import Statistics

SECTION, INTERFACE, PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
SIMPLE_PACKET_LENGTH_MIN, PACKET_LENGTH_MIN = 16, 32  # of the blocks that hold no bytes
BLOCK_LENGTH_MIN = 12
SECTION_LENGTH_MIN = 28
BLOCK_LENGTH_MAX = 16 << 20  # what capture tools refuse to exceed
# Kinds of blocks at which reading goes on behind a damage: those of the standard, and a journal's entries.
KNOWN_KINDS = (SECTION, INTERFACE, PACKET, SIMPLE_PACKET, 4, 5, ENHANCED_PACKET, 9, 0xA, 0xBAD, 0x40000BAD)
INTERFACES_MAX = 65536  # an interface's number in a packet block of the older kind has 16 bits
OPTIONS_MAX = 64  # of one packet that are looked at
TEXT_LENGTH_MAX = 1024  # bytes of a name or a comment in UTF-8: it is a value of every frame of its packets, which have 32 bytes or more
OFFSET_S_MAX = (2**63 - 1) // 1_000_000_000  # what nanoseconds in 64 bits can hold, some 292 years
END_OF_OPTIONS, COMMENT, INTERFACE_NAME, TIME_RESOLUTION, TIME_OFFSET = 0, 1, 2, 9, 14


Ticks = np.ndarray[tuple[int], np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface of a section: what its packets' link type and timestamps mean."""

    link_type: int
    snap_length: int
    name: str = ""
    resolution: int = 6  # as stored: 10 to the minus n, or 2 to the minus n with the high bit set
    offset_s: int = 0

    def to_ns(self, ticks: Ticks) -> Integers:
        """Return nanoseconds since the epoch for timestamps in this interface's unit."""
        exponent = self.resolution & 0x7F
        if self.resolution & 0x80:
            seconds = _shifted(ticks, exponent)
            rest = ticks - (seconds << np.uint64(min(exponent, 63)))
            drop = max(0, exponent - 34)  # so that the product below stays within 64 bits
            ns = (_shifted(rest, drop) * np.uint64(1_000_000_000)) >> np.uint64(exponent - drop)
            out = seconds.astype(np.int64) * 1_000_000_000 + ns.astype(np.int64)
        elif exponent <= 9:
            out = (ticks * np.uint64(10 ** (9 - exponent))).astype(np.int64)
        else:
            out = (ticks // np.uint64(10 ** min(19, exponent - 9))).astype(np.int64)
        return out + self.offset_s * 1_000_000_000


def _shifted(values: Ticks, bits: int) -> Ticks:
    """Return values shifted to the right; numpy does not say what comes of a shift by 64 bits or more."""
    return values >> np.uint64(bits) if bits < 64 else np.zeros_like(values)


@dataclass(slots=True)
class _Section:
    little_endian: bool
    interfaces: list[Interface] = field(default_factory=list)
    described: list[int] = field(default_factory=list)  # where the section header and the interfaces stand in the capture

    @property
    def order(self) -> str:
        return "<" if self.little_endian else ">"


def ends_within_header(path: str, length: int) -> bool:
    """Return whether the first `length` bytes of a capture end within its file header or section header: it begins to be written.

    Raises CaptureError for a file that cannot be read.
    """
    with open_source(path) as file:
        start = file.read(BLOCK_LENGTH_MIN)
    if start[:4] != PCAPNG_MAGIC or len(start) < BLOCK_LENGTH_MIN:
        return length < FILE_HEADER_LENGTH
    try:
        return length < _section_head(start, 0)[1]
    except ValueError:
        return False


def read_blocks(
    file: CaptureFile, statistics: Statistics, *, extent: Extent | None, fail_fast: bool, chunk_length: int
) -> Iterator[PacketBlock]:
    """Yield a capture's packets in file order, or those of an extent.

    A broken chain is counted and picked up at the next whole block; with `fail_fast` it raises CaptureError.
    """
    reader = ChunkReader(file.stream, peeked=PCAPNG_MAGIC, chunk_length=chunk_length)
    section, first_index = None, 0
    if extent is not None:
        section, first_index = _described_section(file, extent.start.blocks), extent.start.packet_index or 0
        start = file.stream.seek(extent.start.position)
        reader = ChunkReader(file.stream, position=start, length=extent.end - start, chunk_length=chunk_length)
    chain = _Chain(reader, statistics, section, fail_fast=fail_fast, name=file.path)
    for found in chain.blocks():
        parts = []
        for section, offsets in found:
            corrupt = statistics.corrupt_records
            part = _packets(Gather(reader.buffer), offsets, section, (first_index, reader.buffer_offset, chain.behind), statistics)
            if fail_fast and statistics.corrupt_records > corrupt:
                at = reader.buffer_offset + int(offsets[0])
                raise CaptureError(
                    f"{file.path}: one of the {offsets.size} blocks from byte {at} is too short for the packet that it claims to hold"
                )
            if part.count:
                parts.append(part)
            first_index += part.count
        if parts:
            yield joined(parts)
    chain.finish()


def _described_section(file: CaptureFile, blocks: tuple[int, ...]) -> _Section | None:
    """Return the section whose header and interfaces stand in some places of a file; None for the beginning of it."""
    try:
        return _read_section(file.stream, blocks)
    except (ValueError, struct.error) as error:
        raise CaptureError(
            f"{file.path}: is not the file that was looked at before: expected a section header and interfaces at {blocks}"
        ) from error


def _read_section(file: BinaryIO, blocks: tuple[int, ...]) -> _Section | None:
    section: _Section | None = None
    for position in blocks:
        file.seek(position)
        head = file.read(12)
        order = section.order if section is not None else "<" if struct.unpack("<I", head[8:])[0] == BYTE_ORDER_MAGIC else ">"
        (length,) = struct.unpack(order + "I", head[4:8])
        buffer = np.frombuffer(head + file.read(min(length, BLOCK_LENGTH_MAX) - len(head)), dtype=np.uint8)
        if section is None:
            started = _section(buffer, 0)
            if started is None:
                raise ValueError("no section header")
            section = started[0]
        else:
            section.interfaces.append(_interface(buffer, 0, length, order))
        section.described.append(position)
    return section


class _Chain:
    """One pass along a chain of blocks: what is damaged is passed over and counted."""

    def __init__(self, reader: ChunkReader, statistics: Statistics, section: _Section | None, *, fail_fast: bool, name: str) -> None:
        self._reader, self._statistics, self._fail_fast, self._name = reader, statistics, fail_fast, name
        self._section = section
        self._position = 0
        self._is_searching = False
        self.behind = 0  # where in the reader's buffer the blocks end that were yielded

    def blocks(self) -> Iterator[list[tuple[_Section, Integers]]]:
        """Yield, for each of the reader's buffers, its sections and the offsets of their whole blocks in it."""
        more = True
        while more:
            more = self._reader.refill(self._position)
            self._position = 0
            found: list[tuple[_Section, list[Integers]]] = []
            for section, offsets in self._in_buffer():
                if not found or found[-1][0] is not section:
                    found.append((section, []))
                found[-1][1].append(offsets)
            yield [(section, np.concatenate(parts)) for section, parts in found]
        if self._section is None:
            raise CaptureError(f"{self._name}: not a capture: its first block is no whole section header")

    def finish(self) -> None:
        """Count what is left at the end."""
        left, at = self._reader.buffer.size - self._position, self._reader.buffer_offset + self._position
        if left or self._reader.was_cut_short:
            if self._fail_fast:
                raise CaptureError(f"{self._name}: cut short: {left} bytes of an incomplete block at its end, at byte {at}")
            self._statistics.truncated_bytes += max(left, 1)

    def _in_buffer(self) -> Iterator[tuple[_Section, Integers]]:
        reader = self._reader
        while not self._is_searching or self._search():
            buffer = reader.buffer
            length, is_broken = self._enter_section()
            self._position += length
            if not is_broken and self._section is not None:
                offsets, self._position, is_broken = walk_blocks(
                    buffer, self._position, buffer.size, self._section.little_endian, BLOCK_LENGTH_MAX
                )
                if offsets.size:
                    self.behind = self._position
                    yield self._section, offsets
                if not is_broken and length + offsets.size and self._position < buffer.size:
                    continue  # to a section that begins here, or to find that nothing does
            if not is_broken and not (reader.at_end and self._recovers_at_end()):
                return
            if is_broken:
                self._break()

    def _enter_section(self) -> tuple[int, bool]:
        """Take the section that begins here for the current one; return its header's length, 0 without, and whether it is broken."""
        try:
            started = _section(self._reader.buffer, self._position)
        except ValueError as error:
            if self._section is None:
                raise CaptureError(f"{self._name}: not a capture: {error}") from error
            return 0, True
        if started is None or self._position + started[1] > self._reader.buffer.size:
            return 0, False
        self._section = started[0]
        self._section.described.append(self._reader.buffer_offset + self._position)
        return started[1], False

    def _break(self) -> None:
        at = self._reader.buffer_offset + self._position
        if self._fail_fast:
            raise CaptureError(f"{self._name}: block at byte {at} has an impossible length or byte order")
        self._statistics.corrupt_records += 1
        self._statistics.corrupt_bytes += 1
        self._position, self._is_searching = self._position + 1, True

    def _search(self) -> bool:
        """Go on to where a block begins; return whether one does for sure, as far as this buffer tells."""
        assert self._section is not None
        reader = self._reader
        found, is_sure = find_block(reader.buffer, self._position, little_endian=self._section.little_endian, is_whole=reader.at_end)
        self._statistics.corrupt_bytes += found - self._position
        self._position, self._is_searching = found, not is_sure
        return is_sure

    def _recovers_at_end(self) -> bool:
        """At the end of the file, where a block's length leads behind it: go on to a block within, if there is one."""
        buffer, section = self._reader.buffer, self._section
        if section is None or self._fail_fast or self._position >= buffer.size:
            return False
        found, is_sure = find_block(buffer, self._position + 1, little_endian=section.little_endian, is_whole=True)
        if is_sure:
            self._statistics.corrupt_records += 1
            self._statistics.corrupt_bytes += found - self._position
            self._position = found
        return is_sure


def find_block(buffer: Bytes, start: int, *, little_endian: bool, is_whole: bool) -> tuple[int, bool]:
    """Return the first offset from `start` where a block of a known kind stands between two equal lengths, and whether that is sure.

    Not sure: the buffer ends before the block does, or none was found; what lies before the offset need not be looked at again.
    is_whole: the file ends with the buffer.
    """
    order = "<u4" if little_endian else ">u4"
    last = buffer.size - BLOCK_LENGTH_MIN
    for window, count in search_windows(start, last):
        view: np.ndarray[tuple[int], np.dtype[np.void]] = np.ndarray(
            (count,), np.dtype([("kind", order), ("length", order)]), buffer.data, window, (1,)
        )
        lengths = view["length"].astype(np.int64)
        likely = (lengths >= BLOCK_LENGTH_MIN) & (lengths <= BLOCK_LENGTH_MAX) & (lengths & 3 == 0)
        rows = np.flatnonzero(likely)
        rows = rows[np.isin(view["kind"][rows], KNOWN_KINDS)]
        for at, length in zip((window + rows).tolist(), lengths[rows].tolist(), strict=True):
            if at + length > buffer.size:
                if not is_whole:
                    return at, False
            elif struct.unpack_from("<I" if little_endian else ">I", buffer.data, at + length - 4)[0] == length:
                return at, True
    return (buffer.size if is_whole else max(start, last + 1)), False


def _section(buffer: Bytes, position: int) -> tuple[_Section, int] | None:
    """Return the section that starts at `position` and its header's length, if one does and enough of it is there.

    Raises ValueError for a section header that is none.
    """
    data = buffer.data
    if buffer.size - position < SECTION_LENGTH_MIN or struct.unpack_from("<I", data, position)[0] != SECTION:
        return None
    little_endian, length = _section_head(data, position)
    return _Section(little_endian), length


def _section_head(data: bytes | memoryview, position: int) -> tuple[bool, int]:
    """Return the byte order of the section whose header starts at `position`, and that header's length.

    Raises ValueError for a section header that is none.
    """
    for little_endian in (True, False):
        length, magic = struct.unpack_from("<II" if little_endian else ">II", data, position + 4)
        if magic == BYTE_ORDER_MAGIC:
            if not SECTION_LENGTH_MIN <= length <= BLOCK_LENGTH_MAX or length & 3:
                break
            return little_endian, length
    raise ValueError("section header has no known byte order, or an impossible length")


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
    order = np.argsort(interface, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(interface[order])) + 1) if order.size else ():
        described = section.interfaces[int(interface[rows[0]])]
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
        described=(tuple(section.described),),
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
            name = _text(value)
        elif code == TIME_RESOLUTION and len(value) >= 1:
            resolution = value[0]
        elif code == TIME_OFFSET and len(value) >= 8:
            offset_s = struct.unpack(order + "q", value[:8])[0]
            if abs(offset_s) > OFFSET_S_MAX:
                offset_s = 0  # of a damaged block: no packet was captured then
    return Interface(link_type, snap_length, name, resolution, offset_s)


def _text(value: bytes) -> str:
    """Return the text of an option; one that is too long is cut, and ends with an ellipsis."""
    text = value.decode("utf-8", "replace")
    encoded = text.encode()
    return text if len(encoded) <= TEXT_LENGTH_MAX else encoded[:TEXT_LENGTH_MAX].decode("utf-8", "ignore") + "…"


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
            found.setdefault(row, _text(gather.buffer[start + 4 : start + 4 + size].tobytes()))
        on = fits & ~comments
        rows, at, end = rows[on], (at + 4 + ((length + 3) & ~3))[on], end[on]
    return found
