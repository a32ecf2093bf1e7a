"""What an archive has acknowledged, and the check that its directory has all of it, with the right bytes.

A message's content follows from the key of its recording, the epoch and the position of its frame, so that any frame says whether it is
right. An epoch begins where a recording goes on behind a truncation: what was cut off there has another content.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder, FrameType
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.recordings.segment_names import segment_name

HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
_KEY = struct.Struct("<iiq")
LENGTH_MIN = _KEY.size
_POOL = random.Random(4711).randbytes(16 << 10)
_STARTS = 8 << 10
LENGTH_MAX = _STARTS


class LostError(AssertionError):
    """The archive lost, changed or invented something."""


def content(key: int, epoch: int, position: int, length: int) -> bytes:
    """Return the message of `length` bytes whose frame begins at `position`."""
    start = (key * 7919 + epoch * 104_729 + (position >> 5) * 31) % _STARTS
    return _KEY.pack(key, epoch, position) + _POOL[start : start + length - LENGTH_MIN]


@dataclass(frozen=True)
class Doubt:
    """An operation on a recording that was under way when the archive died: it may have happened, or not."""

    operation: str
    position: int = -1
    other_id: int = -1


@dataclass
class Kept:
    """A recording as it has to be.

    `acknowledged` is the position up to which the archive has said that it is recorded, `end` that of its publisher. `spans` are positions
    from which another epoch begins; `frames` are positions of frames that were recorded.
    """

    key: int
    start: int = 0
    acknowledged: int = 0
    end: int = 0
    spans: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    frames: list[int] = field(default_factory=list)
    doubt: Doubt | None = None

    def epoch_at(self, position: int) -> int:
        """Return the epoch of the message at a position."""
        return next(epoch for begin, epoch in reversed(self.spans) if begin <= position)

    def cut(self, position: int) -> None:
        """End at a position; what follows is of another epoch."""
        self.acknowledged = self.end = position
        self.frames = [one for one in self.frames if one < position]
        epoch = max(epoch for _, epoch in self.spans)
        self.spans = [(begin, one) for begin, one in self.spans if begin < position or begin == 0]
        self.spans.append((position, epoch + 1))

    def begin_at(self, position: int) -> None:
        """Begin at a later position, whose segment is the first that is left."""
        self.start = position
        self.frames = [one for one in self.frames if one >= position]

    def copied(self) -> Kept:
        """Return a recording of the same content."""
        return Kept(self.key, self.start, self.start, self.start, list(self.spans))


def recorded_frames(directory: Path, entry: RecordingEntry, kept: Kept) -> list[int]:
    """Return the positions of a recording's frames, and where they end, by its files alone. Raises LostError where one is not right.

    Of a recording without a stop position, what is behind the acknowledged position may have been written in part.
    """
    position, frames = entry.start_position, []
    end = kept.acknowledged if entry.is_active else entry.stop_position
    data, base = b"", -1
    while position < end:
        segment = entry.segment_of(position)
        if segment != base:
            path = directory / segment_name(entry.recording_id, segment)
            data, base = path.read_bytes() if path.exists() else b"", segment
        frame = data[position - base : position - base + HEADER_LENGTH]
        length = int.from_bytes(frame[:4], "little", signed=True) if len(frame) == HEADER_LENGTH else 0
        if length < HEADER_LENGTH:
            break
        frames.append(position)
        header = DataHeaderDecoder(frame)
        expected = (position % entry.term_buffer_length, entry.term_id_of(position), entry.stream_id)
        if (header.term_offset, header.term_id, header.stream_id) != expected:
            raise LostError(f"position {position}: header {header.term_offset, header.term_id, header.stream_id}, expected {expected}")
        if header.type == FrameType.DATA:
            payload = data[position - base + HEADER_LENGTH : position - base + length]
            wanted = content(kept.key, kept.epoch_at(position), position, length - HEADER_LENGTH)
            if payload != wanted:
                raise LostError(f"position {position}: message {payload[:24].hex(' ')}, expected {wanted[:24].hex(' ')}")
        position += align(length, FRAME_ALIGNMENT)
    return [*frames, position]


def check(directory: Path, recording_id: int, entry: RecordingEntry | None, kept: Kept) -> None:
    """Raise LostError unless a recording is as it has to be, or as the operation in doubt would leave it."""
    doubt = kept.doubt
    if entry is None:
        if doubt is not None and doubt.operation == "purge recording":
            return
        raise LostError(f"recording {recording_id} is not there: {kept}")
    starts, stops = {kept.start}, range(kept.acknowledged, kept.end + 1)
    if doubt is not None and doubt.operation == "purge segments":
        starts.add(doubt.position)
    if entry.start_position not in starts:
        raise LostError(f"recording {recording_id} starts at {entry.start_position}, expected {starts}")
    is_cut = doubt is not None and doubt.operation == "truncate" and entry.stop_position == doubt.position
    if not entry.is_active and entry.stop_position not in stops and not is_cut:
        raise LostError(f"recording {recording_id} stops at {entry.stop_position}, expected {stops} or {doubt}")
    must_be = entry.stop_position if is_cut or not entry.is_active else kept.acknowledged
    try:
        end = recorded_frames(directory, entry, kept)[-1]
    except LostError as error:
        raise LostError(f"recording {recording_id} ({kept}): {error}") from None
    if end < must_be:
        raise LostError(f"recording {recording_id}: frames end at {end}, expected {must_be}: {kept}")


def settle(directory: Path, entry: RecordingEntry, kept: Kept) -> None:
    """Take a recording that was checked, and has stopped, as it has to be from now on."""
    if entry.start_position != kept.start:
        kept.begin_at(entry.start_position)
    if kept.doubt is not None and kept.doubt.operation == "truncate" and entry.stop_position == kept.doubt.position:
        kept.cut(entry.stop_position)
    kept.doubt = None
    kept.frames = recorded_frames(directory, entry, kept)[:-1]
    if kept.end != entry.stop_position:
        kept.cut(entry.stop_position)
    kept.acknowledged = kept.end
