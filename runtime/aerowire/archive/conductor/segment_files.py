"""Segment files of a recording, as operations look at them and change them: names, first frames, tails. Through the files port."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder
from aerowire.recordings.segment_names import parse_segment_name, segment_name

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort, OpenFile
    from aerowire.recordings.catalog_entry import RecordingEntry

_HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH
# Bytes that are read at a time where the first frame of a segment is looked for.
_READ_LENGTH = 64 * 1024
_ZEROS = bytes(_READ_LENGTH)
# Names that are made without a look at the directory; a damaged catalog may ask for more than there is memory for.
_NAMES_MAX = 1 << 16


def segment_names_of(files: FilePort, directory: Path, recording_id: int) -> list[str]:
    """Return the names of a recording's segment files, and of those that are to be deleted, by position."""
    found = [(name, parse_segment_name(name)) for name in files.names(directory)]
    own = [(parsed.position, name) for name, parsed in found if parsed is not None and parsed.recording_id == recording_id]
    return [name for _, name in sorted(own)]


def segment_names_between(files: FilePort, directory: Path, entry: RecordingEntry, begin: int, end: int) -> list[str]:
    """Return the names of a recording's segment files that begin at a position, or behind it and before another.

    Of so many that they cannot all be there, those are returned that are.
    """
    positions = range(begin, end, entry.segment_length)
    if len(positions) <= _NAMES_MAX:
        return [segment_name(entry.recording_id, position) for position in positions]
    names = segment_names_of(files, directory, entry.recording_id)
    return [name for name in names if (found := parse_segment_name(name)) is not None and found.position in positions]


def is_frame_at(file: OpenFile, entry: RecordingEntry, offset: int, position: int) -> bool:
    """Return whether a frame of the recording's stream begins at an offset of a segment file, which is `position` of the recording."""
    header = file.read(offset, _HEADER_LENGTH)
    if len(header) < _HEADER_LENGTH:
        return False
    frame = DataHeaderDecoder(header)
    return (frame.term_offset, frame.term_id, frame.stream_id) == (
        position % entry.term_buffer_length,
        entry.term_id_of(position),
        entry.stream_id,
    )


def start_of_segment(file: OpenFile, entry: RecordingEntry, segment_position: int) -> int:
    """Return the position of the first frame in a segment file that is to be attached. Raises RequestRefusedError."""
    offset = _first_frame_offset(file, entry.term_buffer_length)
    if offset is None:
        raise RequestRefusedError(f"fragment not found in first term of segment {file.path}")
    frame = DataHeaderDecoder(file.read(offset, _HEADER_LENGTH))
    term_id = entry.term_id_of(segment_position)
    if frame.term_id != term_id:
        raise RequestRefusedError(f"term id does not match: actual={frame.term_id} expected={term_id} in {file.path} at offset {offset}")
    if frame.stream_id != entry.stream_id:
        raise RequestRefusedError(
            f"stream id does not match: actual={frame.stream_id} expected={entry.stream_id} in {file.path} at offset {offset}"
        )
    return segment_position + offset


def _first_frame_offset(file: OpenFile, term_length: int) -> int | None:
    """Return the offset of the first frame with a length in the first term, or None."""
    for begin in range(0, term_length, _READ_LENGTH):
        data = file.read(begin, min(_READ_LENGTH, term_length - begin))
        if data == _ZEROS:
            continue
        for offset in range(0, len(data) - _HEADER_LENGTH + 1, FRAME_ALIGNMENT):
            if int.from_bytes(data[offset : offset + 4], "little", signed=True) > 0:
                return begin + offset
    return None
