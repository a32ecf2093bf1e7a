"""The frames of a recording one by one, for those who show them. Aeron: RecordingReader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.files.segments import frames_end, list_segments, segment_path
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.recordings.geometry import aligned_frame_length, term_base_position

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort, OpenFile
    from aerowire.recordings.catalog_entry import RecordingEntry

_HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH


class RecordedFrame(NamedTuple):
    """A frame: where it begins in the recording and in its term, and what follows its header (nothing of padding)."""

    position: int
    term_offset: int
    header: DataHeaderDecoder
    payload: bytes
    next_position: int


class FramesBroken(NamedTuple):
    """The place at which a recording cannot be read on, and why. It is the last that is yielded."""

    position: int
    reason: str


def recorded_frames(
    files: FilePort, directory: Path, entry: RecordingEntry, start: int | None = None
) -> Iterator[RecordedFrame | FramesBroken]:
    """Yield the frames of a sound entry from its start to its end, or of an active recording to the last one that is written.

    With a `start` within the recording the first one is that of the term that holds it, where a frame begins in any case.
    """
    position = entry.start_position
    if start is not None:
        position = max(position, term_base_position(start, entry.term_buffer_length))
    while entry.is_active or position < entry.stop_position:
        segment = entry.segment_of(position)
        try:
            with files.open(segment_path(directory, entry.recording_id, segment)) as file:
                for found in _frames_in(file, entry, segment, position):
                    yield found
                    if isinstance(found, FramesBroken):
                        return
                    position = found.next_position
        except FileError as error:
            if not entry.is_active:
                yield FramesBroken(position, str(error))
            return
        if position < segment + entry.segment_length:
            return


def recorded_end(files: FilePort, directory: Path, entry: RecordingEntry) -> int:
    """Return where a recording ends; of one without a stop position, as its archive runs or has died, where its written frames end.

    Raises FileError.
    """
    if not entry.is_active:
        return entry.stop_position
    segments = list_segments(files, directory).get(entry.recording_id)
    if not segments:
        return entry.start_position
    with files.open(segment_path(directory, entry.recording_id, segments[-1])) as file:
        return max(entry.start_position, segments[-1] + frames_end(file, entry, segments[-1]).offset)


def _frames_in(file: OpenFile, entry: RecordingEntry, segment: int, position: int) -> Iterator[RecordedFrame | FramesBroken]:
    """Yield the frames of one segment file from a position on."""
    limit = segment + entry.segment_length
    end = limit if entry.is_active else min(limit, entry.stop_position)
    while position < end:
        data = file.read(position - segment, _HEADER_LENGTH)
        header = DataHeaderDecoder(data) if len(data) == _HEADER_LENGTH else None
        if header is None or header.frame_length == 0:
            if not entry.is_active:
                yield FramesBroken(position, "the file ends" if header is None else "no frame")
            return
        room = entry.term_buffer_length - position % entry.term_buffer_length
        length = aligned_frame_length(header.frame_length)
        if header.frame_length < _HEADER_LENGTH or length > room:
            yield FramesBroken(position, f"frame length {header.frame_length}, expected {_HEADER_LENGTH} to {room}")
            return
        payload = b""
        if header.type != FrameType.PAD:
            payload = file.read(position - segment + _HEADER_LENGTH, header.frame_length - _HEADER_LENGTH)
        yield RecordedFrame(position, position % entry.term_buffer_length, header, payload, position + length)
        position += length
