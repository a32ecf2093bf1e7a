"""Segment files of recordings: which there are, where their frames end, and whether they are what the catalog says.

Files are read through the files port, a chunk at a time, and changed only by functions that say so. Aeron: Catalog, ArchiveTool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aerowire.archive.files.frame_walk import CHECKSUM, EMPTY, FOREIGN, MORE, FrameWalk, Walked
from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.recordings.geometry import aligned_frame_length, frame_offset_in_segment
from aerowire.recordings.segment_names import parse_segment_name, segment_name

if TYPE_CHECKING:
    from aerowire.archive.files.checksum import Checksum
    from aerowire.base.file_port import FilePort, OpenFile
    from aerowire.recordings.catalog_entry import RecordingEntry

PAGE_LENGTH: Final = 4096
_CHUNK_LENGTH = 1 << 20  # more than the longest frame of data
_HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH

Progress = Callable[[int], object]  # called with the bytes that were looked at since the last call


@dataclass(frozen=True, slots=True)
class FramesEnd:
    """Where the frames of a segment file end, and why.

    `offset` is behind the last whole frame, which begins at `last_offset` (-1 without any). `reason` is one of frame_walk's. A last frame
    that `is_torn` has pages in which nothing is written, and no checksum that says that nothing should be.
    """

    offset: int
    last_offset: int
    reason: int
    is_torn: bool
    file_length: int


def list_segments(files: FilePort, directory: Path) -> dict[int, list[int]]:
    """Return recording id -> positions, ascending, at which its segment files begin; without those that are to be deleted."""
    found: dict[int, list[int]] = {}
    for name in map(parse_segment_name, files.names(directory)):
        if name is not None and not name.is_deleted:
            found.setdefault(name.recording_id, []).append(name.position)
    for positions in found.values():
        positions.sort()
    return found


def segment_bytes(files: FilePort, directory: Path, recording_id: int | None, *, all_segments: bool) -> int:
    """Return how long the segment files of a recording or of all are together: the last one of each recording, or all of them."""
    total = 0
    for found, positions in list_segments(files, directory).items():
        if recording_id in (None, found):
            for position in positions if all_segments else positions[-1:]:
                facts = files.facts(segment_path(directory, found, position))
                total += 0 if facts is None else facts.length
    return total


def segment_path(directory: Path, recording_id: int, position: int) -> Path:
    return directory / segment_name(recording_id, position)


def delete_recordings(files: FilePort, directory: Path) -> None:
    """Delete all segment files, then the catalog; what else is in the directory stays. Raises FileError.

    Without the segments FIRST, those of a former catalog would be in the way of recordings of the same ids.
    """
    for name in files.names(directory):
        if parse_segment_name(name) is not None:
            files.delete(directory / name)
    files.sync_directory(directory)
    files.delete(directory / CATALOG_FILE_NAME)
    files.sync_directory(directory)


def frames_end(
    file: OpenFile, entry: RecordingEntry, segment: int, checksum: Checksum | None = None, progress: Progress | None = None
) -> FramesEnd:
    """Return where the frames of a segment file end that begins at a position; a frame of another place ends them. Raises FileError."""
    length = min(file.length(), entry.segment_length)
    begin = frame_offset_in_segment(segment, entry.start_position, entry.term_buffer_length)
    offset, reason, last_offset = follow_frames(file, _walk_of(entry).walk, segment, begin, length, progress)
    is_torn = last_offset >= 0 and is_torn_frame(file, last_offset, offset, checksum)
    return FramesEnd(offset, last_offset, reason, is_torn, file.length())


def is_zero_from(file: OpenFile, offset: int) -> bool:
    """Return whether a file has nothing but zeros from an offset on. Raises FileError."""
    buffer, zeros = bytearray(_CHUNK_LENGTH), bytes(_CHUNK_LENGTH)
    while count := file.read_into(offset, buffer):
        if buffer[:count] != zeros[:count]:
            return False
        offset += count
    return True


def cut_segment(file: OpenFile, offset: int, segment_length: int) -> None:
    """Let a segment file hold zeros from an offset on, at its full length. Raises FileError."""
    file.truncate(offset)
    file.truncate(segment_length)


def clear_tail(files: FilePort, directory: Path, entry: RecordingEntry, position: int, *, is_synced: bool) -> None:
    """Let the segment that holds the end of a recording go on with zeros. Raises FileError.

    Blocks are left there by a write or sync that failed, and by a truncation whose archive died. A reader that follows the frames of
    the recording once it is extended would take them for its own.
    """
    base = entry.segment_of(position)
    path = segment_path(directory, entry.recording_id, base)
    facts = files.facts(path) if base < position else None
    if facts is not None and facts.length >= position - base:  # equal after a cut that failed half way, and is not synced either
        with files.open(path, writable=True) as file:
            cut_segment(file, position - base, entry.segment_length)
            if is_synced:
                file.sync()


def check_segment(
    file: OpenFile,
    entry: RecordingEntry,
    segment: int,
    checksum: Checksum | None = None,
    progress: Progress | None = None,
    *,
    cut_at: int | None = None,
) -> str | None:
    """Return what is wrong with the frames of a segment file, None if nothing is. Raises FileError.

    Checks where each frame says that it belongs and, with an algorithm, the checksum of each frame of data. What is behind the offset
    `cut_at`, that of a frame, is not looked at.
    """
    length = min(file.length(), entry.segment_length)
    begin = frame_offset_in_segment(segment, entry.start_position, entry.term_buffer_length)
    if cut_at is not None:
        length = min(length, cut_at)
        if length <= begin:
            return None
    if length < begin + _HEADER_LENGTH:
        return "failed to read fragment header"
    offset, reason, _ = follow_frames(file, _walk_of(entry, checksum).walk, segment, begin, length, progress)
    return None if reason == EMPTY or offset >= length else _problem(file, entry, segment, offset, reason, checksum)


def seal_segment(file: OpenFile, entry: RecordingEntry, segment: int, checksum: Checksum, progress: Progress | None = None) -> str | None:
    """Write the checksum of each frame of data into a segment file; return what kept it from going on. Raises FileError."""
    length = file.length()
    begin = frame_offset_in_segment(segment, entry.start_position, entry.term_buffer_length)
    seal = _walk_of(entry, checksum).seal

    def seal_and_write(chunk: memoryview, position: int) -> Walked:
        walked = seal(chunk, position)
        file.write_all(position - segment, chunk[: walked.offset])
        return walked

    offset, reason, _ = follow_frames(file, seal_and_write, segment, begin, length, progress)
    return None if reason == EMPTY or offset >= length else _problem(file, entry, segment, offset, reason, checksum)


def follow_frames(
    file: OpenFile,
    walk: Callable[[memoryview, int], Walked],
    segment: int,
    offset: int,
    length: int,
    progress: Progress | None = None,
) -> tuple[int, int, int]:
    """Walk along the frames of a file, from the offset of one up to a length.

    Return the offset that was reached, why no further, and the offset of the last frame that was passed, -1 without any. Raises FileError.
    """
    buffer, last_offset = memoryview(bytearray(min(_CHUNK_LENGTH, max(length, _HEADER_LENGTH)))), -1
    while offset + _HEADER_LENGTH <= length:
        count = min(len(buffer), length - offset)
        filled = 0
        while filled < count and (done := file.read_into(offset + filled, buffer[filled:count])):
            filled += done
        walked = walk(buffer[:filled], segment + offset)
        if walked.last_offset >= 0:
            last_offset = offset + walked.last_offset
        offset += walked.offset
        has_ended = walked.end != MORE or not walked.offset
        if progress is not None:
            progress(length - offset + walked.offset if has_ended else walked.offset)
        if has_ended:
            return offset, walked.end, last_offset
    return offset, MORE, last_offset


def is_torn_frame(file: OpenFile, offset: int, end: int, checksum: Checksum | None) -> bool:
    """Return whether a frame may be written in part: it lies in several pages, and one of them but the first holds none of it."""
    if offset // PAGE_LENGTH == (end - 1) // PAGE_LENGTH:
        return False
    frame = DataHeaderDecoder(file.read(offset, _HEADER_LENGTH))
    if frame.type == FrameType.PAD:
        return False  # only its header is ever written
    if checksum is not None:
        payload = file.read(offset + _HEADER_LENGTH, end - offset - _HEADER_LENGTH)
        if len(payload) == end - offset - _HEADER_LENGTH and checksum.compute(payload) == frame.session_id:
            return False
    pages = range(offset // PAGE_LENGTH * PAGE_LENGTH + PAGE_LENGTH, end, PAGE_LENGTH)
    return any(not any(file.read(page, min(PAGE_LENGTH, end - page))) for page in pages)


def _walk_of(entry: RecordingEntry, checksum: Checksum | None = None) -> FrameWalk:
    return FrameWalk(
        term_length=entry.term_buffer_length,
        initial_term_id=entry.initial_term_id,
        stream_id=entry.stream_id,
        checksum_kind=0 if checksum is None else checksum.kind,
    )


def _problem(file: OpenFile, entry: RecordingEntry, segment: int, offset: int, reason: int, checksum: Checksum | None) -> str:
    """Return what is wrong at an offset of a segment file, in the words of the official tool where it has some."""
    header = file.read(offset, _HEADER_LENGTH)
    if len(header) < _HEADER_LENGTH:
        return "failed to read fragment header"
    frame, position = DataHeaderDecoder(header), segment + offset
    length = aligned_frame_length(frame.frame_length)
    if reason == MORE:
        return f"failed to read {length - _HEADER_LENGTH} byte(s) of data at offset {offset + _HEADER_LENGTH}"
    if reason == FOREIGN:
        return (
            f"fragment termOffset={frame.term_offset} (expected={position % entry.term_buffer_length}), "
            f"termId={frame.term_id} (expected={entry.term_id_of(position)}), streamId={frame.stream_id} (expected={entry.stream_id})"
        )
    if reason == CHECKSUM and checksum is not None:
        computed = checksum.compute(file.read(offset + _HEADER_LENGTH, length - _HEADER_LENGTH))
        return f"checksum failed recorded={frame.session_id} (expected={computed})"
    room = entry.term_buffer_length - position % entry.term_buffer_length
    return f"frame length {frame.frame_length} at offset {offset}, expected {_HEADER_LENGTH} to {room}"
