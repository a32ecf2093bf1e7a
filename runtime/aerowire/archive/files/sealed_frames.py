"""Where the frames of a segment file end that has checksums: before the first frame that was not written as a whole.

A recording may have frames without a checksum before those with one, where its archive was started with other options. They have the
session id of their image in the place of the checksum, which tells them from frames that were written in part:

- the last image's, which the catalog has;
- the same in frames that follow each other, or in the padding behind, of any other image.

A frame that is neither, and has no checksum that is right, is damaged if a part is missing as failed writes leave it: zeros up to the end
of a sector, or up to its own in the last frame of all. A whole sector is missing where the disk did not write it. The end of one is missing
where the system wrote back the page between two writes to it, or during one, and the power failed before it did so again. Any other frame
is left to verification: recovery removes nothing that may have been acknowledged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.archive.files.frame_walk import CHECKSUM, FrameWalk
from aerowire.archive.files.segments import FramesEnd, follow_frames, is_torn_frame
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.recordings.geometry import aligned_frame_length, frame_offset_in_segment

if TYPE_CHECKING:
    from aerowire.archive.files.checksum import Checksum
    from aerowire.archive.files.segments import Progress
    from aerowire.base.file_port import OpenFile
    from aerowire.recordings.catalog_entry import RecordingEntry

# The least that a disk writes as a whole.
_SECTOR_LENGTH: Final = 512
# The least that a processor writes as a whole.
_WORD_LENGTH: Final = 8
_HEADER_LENGTH = DataHeaderDecoder.ENCODED_LENGTH


class SealedFrames:
    """The frames of one recording, one segment after the other. Without an algorithm checksums are not compared."""

    def __init__(self, entry: RecordingEntry, checksum: Checksum | None) -> None:
        self._entry = entry
        self._checksum = checksum
        self._walk = FrameWalk(
            term_length=entry.term_buffer_length,
            initial_term_id=entry.initial_term_id,
            stream_id=entry.stream_id,
            checksum_kind=0 if checksum is None else checksum.kind,
            unsealed_session_id=entry.session_id,
        )

    def end(self, file: OpenFile, segment: int, progress: Progress | None = None) -> FramesEnd:
        """Return where the frames of a segment file end that begins at a position: for CHECKSUM at a damaged one. Raises FileError."""
        length = min(file.length(), self._entry.segment_length)
        found = self._follow(file, segment, length)
        if progress is not None:
            progress(length)
        return found

    def _follow(self, file: OpenFile, segment: int, length: int) -> FramesEnd:
        offset = frame_offset_in_segment(segment, self._entry.start_position, self._entry.term_buffer_length)
        last_offset = -1
        while True:
            offset, reason, passed = follow_frames(file, self._walk.walk, segment, offset, length)
            last_offset = max(last_offset, passed)
            if reason != CHECKSUM:
                is_torn = last_offset >= 0 and is_torn_frame(file, last_offset, offset, self._checksum)
                return FramesEnd(offset, last_offset, reason, is_torn, file.length())
            frame = DataHeaderDecoder(file.read(offset, _HEADER_LENGTH))
            if self._is_damaged(file, offset, frame, last_offset, length):
                return FramesEnd(offset, last_offset, CHECKSUM, is_torn=False, file_length=file.length())
            self._walk.pass_unsealed(frame.session_id)

    def _is_damaged(self, file: OpenFile, offset: int, frame: DataHeaderDecoder, last_offset: int, length: int) -> bool:
        """Return whether a frame was written in part, whose checksum is not right and whose session id is not the last image's."""
        end = offset + aligned_frame_length(frame.frame_length)
        following = self._header(file, end) if end + _HEADER_LENGTH <= length else None
        if following is not None and following.session_id == frame.session_id and not self._is_sealed(file, end, following):
            # The same twice is a session id, unless it is the right checksum of the frame before: a payload that is sent again and again.
            previous = self._header(file, last_offset) if last_offset >= 0 else None
            if previous is None or previous.session_id != frame.session_id:
                return False
        if following is None and file.read(end - 1, 1) == b"\0":
            return True
        return _lacks_a_part(file.read(offset + _HEADER_LENGTH, frame.frame_length - _HEADER_LENGTH), offset + _HEADER_LENGTH)

    def _header(self, file: OpenFile, offset: int) -> DataHeaderDecoder | None:
        data = file.read(offset, _HEADER_LENGTH)
        header = DataHeaderDecoder(data) if len(data) == _HEADER_LENGTH else None
        return header if header is not None and header.frame_length >= _HEADER_LENGTH else None

    def _is_sealed(self, file: OpenFile, offset: int, frame: DataHeaderDecoder) -> bool:
        """Return whether a frame has the right checksum; padding has none."""
        if frame.type == FrameType.PAD or self._checksum is None:
            return False
        payload = file.read(offset + _HEADER_LENGTH, aligned_frame_length(frame.frame_length) - _HEADER_LENGTH)
        return self._checksum.compute(payload) == frame.session_id


def _lacks_a_part(payload: bytes, offset: int) -> bool:
    """Return whether a payload, which begins at an offset of its file, has zeros at the end of one of its sectors."""
    ends = [*range(-offset % _SECTOR_LENGTH, len(payload), _SECTOR_LENGTH), len(payload)]
    begins = [0, *ends]
    return any(not any(payload[max(begin, end - _WORD_LENGTH) : end]) for begin, end in zip(begins, ends, strict=False) if begin < end)
