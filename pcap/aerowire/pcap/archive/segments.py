"""Frames out of the segment files of a recording, chunk by chunk, with what was wrong where the chain of frames broke.

Where a chain breaks, the next frame that can be found is at the start of the next term; behind a file's end it is in the next file.
Aeron: RecordingWriter, ArchiveTool.  Files are read, never mapped: an Archive may shorten or delete them meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from aerowire.codecs.dtypes.transport import DATA_HEADER
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags, FrameType
from aerowire.pcap.archive.catalog import Recording
from aerowire.pcap.archive.damage import Damage, Report
from aerowire.pcap.arrays.blocks import Bytes, Gather, Integers

try:
    from aerowire.pcap.archive.term_chain import walk_frames
except ImportError:  # an installation that comes as a plain zip
    from aerowire.pcap.archive.term_chain_fallback import walk_frames

CHUNK_LENGTH = 4 << 20
CHUNK_LENGTH_MIN = 128 << 10  # more than the longest frame, so that each chunk holds one at least
PAGE_LENGTH = 4096
EMPTY, IMPLAUSIBLE = 1, 2  # as walk_frames says


@dataclass(slots=True)
class FrameBlock:
    """Some frames that follow each other in one term.

    Invariant: offsets ascend; frame n begins at buffer[offsets[n]] and at position + offsets[n] of the recording; next_position is where
    the next frame is looked for.  A padding frame's body may lie behind the buffer.
    """

    buffer: Bytes
    position: int
    offsets: Integers
    headers: npt.NDArray[Any]
    next_position: int
    problem: Damage | None = None

    @property
    def positions(self) -> Integers:
        return self.position + self.offsets

    @property
    def end_positions(self) -> Integers:
        return self.positions + (self.headers["frame_length"].astype(np.int64) + FRAME_ALIGNMENT - 1 & -FRAME_ALIGNMENT)


class SegmentReader:
    """Reads a recording's frames from given positions; has one file open at a time."""

    def __init__(self, recording: Recording, chunk_length: int = CHUNK_LENGTH) -> None:
        self._recording = recording
        self._chunk_length = max(chunk_length, CHUNK_LENGTH_MIN)
        self._segment: int | None = None
        self._file: BinaryIO | None = None

    def __enter__(self) -> SegmentReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def frames(self, position: int, limit: int) -> FrameBlock:
        """Return the frames from a position on: one chunk's, of one term, before `limit` (position < limit).

        position is where a frame begins.  Where the chain breaks, problem is set and next_position is behind the break.
        """
        recording = self._recording
        term_end = (position & -recording.term_buffer_length) + recording.term_buffer_length
        stop = min(term_end, limit)
        wanted = min(stop - position, self._chunk_length)
        buffer, failure = self._read(position, wanted)
        if failure is not None:
            return self._broken(position, failure, self._next_segment(position, limit))
        offsets, at, why = walk_frames(buffer, 0, buffer.size, stop - position, recording.mtu_length)
        headers = Gather(buffer).structs(DATA_HEADER, offsets)
        foreign = self._foreign(position, offsets, headers)
        reason = {EMPTY: "no frame, expected one", IMPLAUSIBLE: self._implausible(buffer, at, stop - position - at)}.get(why)
        if foreign is not None:
            first, reason = foreign
            at, offsets, headers = int(offsets[first]), offsets[:first], headers[:first]
        if reason is not None:
            return self._broken(position + at, reason, stop, FrameBlock(buffer, position, offsets, headers, stop))
        if not offsets.size and buffer.size < wanted:
            length = position - recording.segment_of(position) + buffer.size
            return self._broken(position, f"the file ends after {length} bytes, in or before a frame", self._next_segment(position, limit))
        return FrameBlock(buffer, position, offsets, headers, position + at)

    def file_length(self, segment: int) -> int:
        """Return the length of a segment's file; 0 of one that is not there."""
        try:
            return self._recording.segment_path(segment).stat().st_size
        except OSError:
            return 0

    def _read(self, position: int, length: int) -> tuple[Bytes, str | None]:
        """Return the bytes from a position on, fewer where the file ends, and why there are none.

        Fewer bytes are an array of their own: a few of them shall not hold the memory of a chunk, nor may a read behind them find any.
        """
        buffer = np.empty(length, dtype=np.uint8)
        segment = self._recording.segment_of(position)
        try:
            if segment != self._segment or self._file is None:
                self._close()
                self._file, self._segment = self._recording.segment_path(segment).open("rb", buffering=0), segment
            self._file.seek(position - segment)
            filled = 0
            while filled < length:
                count = self._file.readinto(buffer.data[filled:])  # type: ignore[attr-defined]
                if not count:
                    break
                filled += count
        except OSError as error:
            return buffer[:0], f"the segment cannot be read ({error.strerror})"
        return (buffer if filled == length else buffer[:filled].copy()), None

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next_segment(self, position: int, limit: int) -> int:
        """Return where the next segment begins that is there, or the limit: a damaged stop position may be any number of segments away."""
        at = bisect_right(self._segments, self._recording.segment_of(position))
        return self._segments[at] if at < len(self._segments) else limit

    @cached_property
    def _segments(self) -> list[int]:
        return self._recording.own_segments()

    def _foreign(self, position: int, offsets: Integers, headers: npt.NDArray[Any]) -> tuple[int, str] | None:
        """Return the row of the first frame that cannot be of this place, and why."""
        recording = self._recording
        begins = (position & recording.term_buffer_length - 1) + offsets
        expected: dict[str, Any] = {"term_id": recording.term_id_of(position), "term_offset": begins, "stream_id": recording.stream_id}
        wrong = headers["type"] > FrameType.DATA
        for name, values in expected.items():
            wrong |= headers[name] != values
        rows = np.flatnonzero(wrong)
        if not rows.size:
            return None
        row = int(rows[0])
        found = ", ".join(f"{name} {headers[name][row]}" for name in ("type", *expected))
        right = f"type 0 or 1, term_id {expected['term_id']}, term_offset {begins[row]}, stream_id {recording.stream_id}"
        return row, f"a frame of another place: {found}; expected {right}"

    def _implausible(self, buffer: Bytes, at: int, left: int) -> str:
        length = int.from_bytes(buffer[at : at + 4].tobytes(), "little", signed=True)
        return f"frame length {length}, expected 32 to {self._recording.mtu_length}, or padding, and no more than the {left} bytes left"

    def _broken(self, position: int, reason: str, resume: int, block: FrameBlock | None = None) -> FrameBlock:
        """Return a block that ends with a problem; the frames go on at `resume`."""
        recording = self._recording
        segment = recording.segment_of(position)
        path = str(recording.segment_path(segment))
        block = block or FrameBlock(np.empty(0, np.uint8), position, np.empty(0, np.int64), np.empty(0, DATA_HEADER), resume)
        block.problem = Damage(path, position - segment, reason, recording.recording_id, position, resume - position)
        block.next_position = resume
        return block


def recorded_end(recording: Recording, report: Report, *, messages: bool = False, known: int = 0) -> int:
    """Return up to where a recording has whole frames, or whole messages: its stop position, or of an active one what the last file holds.

    known: a position at which a frame is known to begin, to start from there.  A broken chain in the last term is noted: it ends there.
    """
    if not recording.is_active:
        return recording.stop_position
    segments = recording.own_segments()
    if not segments:
        return recording.start_position
    with SegmentReader(recording) as reader:
        last = segments[-1]
        position = start = max(_last_term(recording, reader, last), known)
        end = start
        limit = last + recording.segment_length
        while position < limit:
            block = reader.frames(position, limit)
            ends = block.end_positions
            if messages:
                ends = ends[(block.headers["flags"] & DataFlags.END != 0) | (block.headers["type"] == FrameType.PAD)]
            if ends.size and not (block.end_positions[-1] == ends[-1] and _is_partial(block)):
                end = int(ends[-1])
            elif ends.size > 1:
                end = int(ends[-2])
            if block.problem is not None:
                if block.problem.reason.startswith("frame length") or "another place" in block.problem.reason:
                    report.note(block.problem)
                break
            position = block.next_position
    return end


def boundaries(recording: Recording, start: int, limit: int, *, messages: bool = False) -> Iterator[Integers]:
    """Yield where frames (or messages) end, from `start` to the end of its term or to the limit; none behind a break."""
    stop = min(limit, (start & -recording.term_buffer_length) + recording.term_buffer_length)
    with SegmentReader(recording) as reader:
        position = start
        while position < stop:
            block = reader.frames(position, stop)
            ends = block.end_positions
            if messages:
                ends = ends[(block.headers["flags"] & DataFlags.END != 0) | (block.headers["type"] == FrameType.PAD)]
            yield ends
            if block.problem is not None:
                return
            position = block.next_position


def _last_term(recording: Recording, reader: SegmentReader, segment: int) -> int:
    """Return where the frames of the last term of a segment begin that has any."""
    lowest = max(segment, recording.start_position)
    end = segment + min(reader.file_length(segment), recording.segment_length)
    for term in range((end - 1) & -recording.term_buffer_length, segment - 1, -recording.term_buffer_length):
        position = max(term, lowest)
        data, _ = reader._read(position, 4)
        if data.size == 4 and data.any():
            return position
    return lowest


def _is_partial(block: FrameBlock) -> bool:
    """Tell whether an Archive may still be writing the last frame: what it holds of its last page is nothing but zeros.

    A block is written page by page, in order; so only the last frame can be such a one, and only where it lies in several pages.
    """
    header, start = block.headers[-1], int(block.offsets[-1])
    end = start + int(header["frame_length"])
    page = (block.position + end - 1 & -PAGE_LENGTH) - block.position
    return bool(header["type"] != FrameType.PAD and page > start and not block.buffer[page:end].any())
