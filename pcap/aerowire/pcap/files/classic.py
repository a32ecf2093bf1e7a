"""Classic pcap files: their records, and the way on where the chain of records is damaged.

    file header, 24 bytes: magic, version (major, minor), zone, accuracy, snap length, link type
    record header, 16 bytes: seconds, fraction, captured length, original length; then the captured bytes

It knows nothing of what the packets hold.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator

import numpy as np

from aerowire.pcap.arrays.blocks import Bytes, Gather, Integers, PacketBlock
from aerowire.pcap.errors import CaptureError
from aerowire.pcap.files.formats import FILE_HEADER_LENGTH, RECORD_HEADER_LENGTH, ClassicHeader
from aerowire.pcap.files.places import Extent
from aerowire.pcap.files.recovery import NOTHING, TIME_STEP_MAX_S, UNKNOWN, detour, find_chain
from aerowire.pcap.files.source import CaptureFile, ChunkReader
from aerowire.pcap.files.walk import Headers, read_records
from aerowire.pcap.statistics import Statistics

SECONDS, FRACTION, CAPTURED, ORIGINAL = range(4)  # of a record's header
SUSPECTS_MAX = 64  # wrong steps behind a damaged length: zeros, as in the headers of packets, lead on in short ones
JUMPS_MAX = 1000  # of time in a file; one with more has no clock that tells anything
STRETCH_MIN = 1 << 18  # bytes that are walked at once behind a doubt, of which half must lie behind the next one; twice as many each time


def read_blocks(
    file: CaptureFile, header: ClassicHeader, statistics: Statistics, *, extent: Extent | None, fail_fast: bool, chunk_length: int
) -> Iterator[PacketBlock]:
    """Yield the records of an extent, or all of them; a broken chain is counted and picked up again.

    An extent must end with the first byte of a record, or the file's last.  Every byte is one of a record, corrupt or truncated.
    Raises CaptureError for a broken chain with `fail_fast`.
    """
    start, length = FILE_HEADER_LENGTH, None
    first_index: int | None = 0
    if extent is not None:
        start, first_index = max(extent.start.position, FILE_HEADER_LENGTH), extent.start.packet_index
        length = extent.end - start
        file.stream.seek(start)
    reader = ChunkReader(file.stream, position=start, length=length, chunk_length=chunk_length)
    chain = _Chain(reader, header, statistics, fail_fast=fail_fast, name=file.path)
    for offsets, headers in chain.records():
        yield _block(reader.buffer, offsets, headers, header, first_index, reader.buffer_offset)
        first_index = None if first_index is None else first_index + int(offsets.size)
    chain.finish()


class _Chain:
    """One pass along a chain of records: what is damaged is passed over and counted.

    A length that was damaged leads the walk astray, and it may take many wrong steps before it notices.  So where it cannot go on, and
    where the time jumps, a chain that begins within the last records and goes on behind that place is the right one.
    """

    def __init__(self, reader: ChunkReader, header: ClassicHeader, statistics: Statistics, *, fail_fast: bool, name: str) -> None:
        self._reader, self._header, self._statistics = reader, header, statistics
        self._fail_fast, self._name = fail_fast, name
        self._position = 0  # in the reader's buffer
        self._is_searching = False
        self._seconds: int | None = None  # time of the last good record
        self._jumps_left = JUMPS_MAX
        self._jump = -1  # where in the file the time jumps, and nothing is wrong
        self._stretch = sys.maxsize  # bytes that are walked at once

    def records(self) -> Iterator[tuple[Integers, Headers]]:
        """Yield the offsets of whole records in the reader's current buffer, and their headers: once for each buffer, however damaged."""
        more = True
        while more:
            more = self._reader.refill(self._position)
            self._position = 0
            found = [(offsets.copy(), headers.copy()) for offsets, headers in self._in_buffer()]  # of arrays that may be much longer
            if len(found) == 1:
                yield found[0]
            elif found:
                yield np.concatenate([offsets for offsets, _ in found]), np.concatenate([headers for _, headers in found])

    def finish(self) -> None:
        """Count what is left at the end."""
        left, at = self._reader.buffer.size - self._position, self._reader.buffer_offset + self._position
        if left or self._reader.was_cut_short:
            if self._fail_fast:
                raise CaptureError(f"{self._name}: cut short: {left} bytes of an incomplete record at its end, at byte {at}")
            self._statistics.truncated_bytes += max(left, 1)

    def _in_buffer(self) -> Iterator[tuple[Integers, Headers]]:
        header, reader = self._header, self._reader
        goes_on = True
        while goes_on and (not self._is_searching or self._search()):
            buffer = reader.buffer
            end = min(buffer.size, self._position + self._stretch)
            offsets, headers, stopped, is_broken = read_records(buffer, self._position, end, header.little_endian, header.record_length_max)
            jump = self._first_jump(offsets, headers)
            doubt = int(offsets[jump]) if jump < offsets.size else stopped if is_broken else end
            if doubt + STRETCH_MIN // 2 > end and end < buffer.size:
                # The last records before a doubt are looked at again with more of what lies behind them.
                self._stretch *= 2
                kept = max(0, jump - SUSPECTS_MAX)
                self._position, offsets = int(offsets[kept]) if kept else self._position, offsets[:kept]
            elif jump < offsets.size:
                self._position, self._stretch = stopped, STRETCH_MIN
                offsets, goes_on = self._behind_jump(offsets, jump)
            elif is_broken or (reader.at_end and stopped < buffer.size):
                self._position, self._stretch = stopped, STRETCH_MIN
                offsets, goes_on = self._behind_break(offsets, is_broken=is_broken)
            else:
                self._position, goes_on = stopped, False
                if not reader.at_end and offsets.size and stopped > buffer.size - RECORD_HEADER_LENGTH:
                    # Whether the last record's length was right, its neighbour will show.
                    self._position, offsets = int(offsets[-1]), offsets[:-1]
            if offsets.size:
                if offsets.size > headers.shape[0]:  # what was doubted at first stands
                    headers = Gather(buffer).structs(header.record_dtype, offsets).view(header.integer).reshape(-1, 4).astype(np.uint32)
                self._seconds = int(headers[offsets.size - 1, SECONDS])
                yield offsets, headers[: offsets.size]

    def _search(self) -> bool:
        """Go on to where a chain begins; return whether one does for sure, as far as this buffer tells."""
        buffer, reader = self._reader.buffer, self._reader
        found, is_sure = find_chain(buffer, self._position, self._header, is_whole=reader.at_end, near_s=self._seconds)
        self._statistics.corrupt_bytes += found - self._position
        self._position, self._is_searching = found, not is_sure
        return is_sure

    def _first_jump(self, offsets: Integers, headers: Headers) -> int:
        """Return the index of the first record with an odd length or a time that does not follow the one before; their number without."""
        if not offsets.size or not self._jumps_left:
            return int(offsets.size)
        seconds = headers[:, SECONDS].astype(np.int64)
        odd = np.abs(np.diff(seconds, prepend=seconds[0] if self._seconds is None else self._seconds)) > TIME_STEP_MAX_S
        odd |= (headers[:, FRACTION] >= 1_000_000_000 // self._header.tick_ns) | (headers[:, CAPTURED] > headers[:, ORIGINAL])
        odd &= offsets + self._reader.buffer_offset != self._jump
        return int(odd.argmax()) if odd.any() else int(offsets.size)

    def _behind_jump(self, offsets: Integers, jump: int) -> tuple[Integers, bool]:
        """Decide whether the walk went astray before the time jumped; return the records that stand, and whether this buffer has more."""
        stopped, place = self._position, int(offsets[jump])
        end = int(offsets[jump + 1]) if jump + 1 < offsets.size else stopped
        likely, reach = self._last_likely(offsets[:jump]), self._header.record_length_max
        # Either a length before this record led to it, or its own leads away.
        index, found = self._found(
            offsets, [(likely, place, place), (likely + 1, 0, place)] if likely + 1 < jump else [(likely, place, place)]
        )
        if found == NOTHING:
            index, found = self._found(offsets, [(jump, end if self._is_possible(place) else 0, end + reach)])
        if found != NOTHING:
            return self._left(offsets[: index + 1], index, found, end if index == jump else int(offsets[index + 1]))
        self._jump, self._position = self._reader.buffer_offset + place, place  # a clock that was set, say
        self._jumps_left -= 1
        kept = offsets[:jump]
        if not kept.size:
            self._seconds = self._field(place, 0)
        return kept, True

    def _behind_break(self, offsets: Integers, *, is_broken: bool) -> tuple[Integers, bool]:
        """Find the way on where the walk cannot go on; return the records that stand, and whether this buffer has more."""
        stopped, size, whole = self._position, int(self._reader.buffer.size), int(offsets.size)
        if self._fail_fast:
            if is_broken:
                raise CaptureError(f"{self._name}: record header at byte {self._reader.buffer_offset + stopped} has an impossible length")
            return offsets, False
        if not is_broken and size - stopped >= RECORD_HEADER_LENGTH:
            # The record that the file ends within is doubted, too: bytes may be missing, and the file go on within it to its very end.
            offsets, stopped = np.append(offsets, stopped), size
        likely = self._last_likely(offsets)
        limit = stopped if is_broken else size
        index, found = self._found(offsets, [(likely, stopped, limit), (likely + 1, 0, limit)])
        if found != NOTHING:
            return self._left(offsets, index, found, stopped)
        if is_broken:
            self._statistics.corrupt_records += 1
            self._statistics.corrupt_bytes += 1
            self._position, self._is_searching = stopped + 1, True
        return offsets[:whole], is_broken

    def _found(self, offsets: Integers, tries: list[tuple[int, int, int]]) -> tuple[int, int]:
        """Return the nearest of the ways that some tries find, and the index of the record within or behind which it begins.

        tries: index of a record, where the way must lead at least, and where it must begin at most.
        """
        reader, best = self._reader, (0, NOTHING)
        for index, goal, limit in tries:
            if 0 <= index < offsets.size:
                met = np.append(offsets[index:], self._position)
                start, near_s = int(offsets[index]) + 1, self._seconds
                found = detour(reader.buffer, start, self._header, goal=goal, limit=limit, met=met, is_whole=reader.at_end, near_s=near_s)
                if found == UNKNOWN:
                    return index, UNKNOWN
                if found != NOTHING and (best[1] == NOTHING or found < best[1]):
                    best = index, found
        return best

    def _left(self, offsets: Integers, index: int, found: int, stopped: int) -> tuple[Integers, bool]:
        """Leave the walk within or behind the record of that index, for the place that was found."""
        if found == UNKNOWN:
            self._position = int(offsets[index])
            return offsets[:index], False
        end = int(offsets[index + 1]) if index + 1 < offsets.size else stopped
        kept = index if found < end else index + 1
        damaged = int(offsets[kept]) if kept < offsets.size else stopped
        if self._fail_fast:
            raise CaptureError(f"{self._name}: record at byte {self._reader.buffer_offset + damaged} does not lead to the next one")
        self._statistics.corrupt_records += 1
        self._statistics.corrupt_bytes += found - damaged
        self._position = found
        return offsets[:kept], True

    def _last_likely(self, offsets: Integers) -> int:
        """Return the index of the last record whose length is to be believed, -1 without one among the last."""
        for index in range(offsets.size - 1, max(-1, offsets.size - 1 - SUSPECTS_MAX), -1):
            if self._is_likely(int(offsets[index])):
                return index
        return -1

    def _is_likely(self, at: int) -> bool:
        """Whether the two lengths and the time of a record are such that its length is to be believed."""
        seconds, fraction, captured, original = (self._field(at, offset) for offset in (0, 4, 8, 12))
        agrees = captured == original or captured == self._header.snap_length < original
        is_near = self._seconds is None or abs(seconds - self._seconds) <= TIME_STEP_MAX_S
        return agrees and is_near and fraction < 1_000_000_000 // self._header.tick_ns

    def _is_possible(self, at: int) -> bool:
        return self._field(at, 8) <= self._field(at, 12) and self._field(at, 4) < 1_000_000_000 // self._header.tick_ns

    def _field(self, at: int, offset: int) -> int:
        data = self._reader.buffer.data
        return int(struct.unpack_from("<I" if self._header.little_endian else ">I", data, at + offset)[0])


def _block(
    buffer: Bytes, offsets: Integers, headers: Headers, header: ClassicHeader, first_index: int | None, buffer_offset: int
) -> PacketBlock:
    starts = offsets + RECORD_HEADER_LENGTH
    return PacketBlock(
        buffer=buffer,
        starts=starts,
        ends=starts + headers[:, CAPTURED],
        originals=headers[:, ORIGINAL].astype(np.int64),
        ts_ns=headers[:, SECONDS].astype(np.int64) * 1_000_000_000 + headers[:, FRACTION].astype(np.int64) * header.tick_ns,
        first_index=first_index,
        link_types=np.broadcast_to(np.int64(header.link_type), offsets.shape),
        positions=buffer_offset + offsets,
        stop=buffer_offset + int(offsets[-1]) + RECORD_HEADER_LENGTH + int(headers[-1, CAPTURED]),
    )
