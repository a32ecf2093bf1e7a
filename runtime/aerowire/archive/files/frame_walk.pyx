"""The walk along the frames in the bytes of a segment file, with checks of where each frame says that it belongs and of its checksum.

Changes nothing, but for `seal`, which writes checksums. Knows no files. Aeron: ArchiveTool, Catalog.recoverStopOffset.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from typing import NamedTuple

from aerowire.archive.files.checksum cimport CHECKSUM_CRC_32C, CHECKSUM_NONE, compute_checksum
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, FRAME_ALIGNMENT, FRAME_TYPE_DATA, FRAME_TYPE_PAD, data_header_frame_length, data_header_session_id,
    data_header_set_session_id, data_header_stream_id, data_header_term_id, data_header_term_offset, data_header_type)

# Why a walk ended.
MORE, EMPTY, IMPLAUSIBLE, FOREIGN, CHECKSUM = range(5)

cdef enum:
    ENDS_MORE = 0           # the next frame is not all in the data
    ENDS_EMPTY = 1          # a frame length of 0
    ENDS_IMPLAUSIBLE = 2    # a frame length that no frame has here
    ENDS_FOREIGN = 3        # a frame of another place
    ENDS_CHECKSUM = 4       # a frame whose checksum is another


class Walked(NamedTuple):
    """How far a walk came: the offset of what it did not pass, why, and the offset of the last frame that it passed, -1 without any."""

    offset: int
    end: int
    last_offset: int


@cython.final
cdef class FrameWalk:
    """Walks along the frames of one recording."""

    cdef int64_t term_length
    cdef int32_t initial_term_id
    cdef int32_t stream_id
    cdef int32_t checksum_kind
    cdef bint has_unsealed
    cdef int32_t image_session_id
    cdef int32_t unsealed_session_id

    def __init__(self, *, term_length, initial_term_id, stream_id, checksum_kind=CHECKSUM_NONE, unsealed_session_id=None):
        """`checksum_kind` is a Checksum's, or 0, which checks none. Raises ValueError unless a term has a plausible length.

        With an `unsealed_session_id` frames pass too that have this session id, and no checksum, or another checksum than the one asked for.
        """
        if term_length < FRAME_ALIGNMENT or term_length & (term_length - 1):
            raise ValueError(f"a term of {term_length} bytes, expected a power of two")
        self.term_length = term_length
        self.initial_term_id = initial_term_id
        self.stream_id = stream_id
        self.checksum_kind = checksum_kind
        self.has_unsealed = unsealed_session_id is not None
        self.image_session_id = self.unsealed_session_id = unsealed_session_id or 0

    def pass_unsealed(self, int32_t session_id):
        """Let frames without a checksum pass from now on that have another session id; those of the call before no longer do."""
        self.unsealed_session_id = session_id

    def walk(self, const uint8_t[::1] data, int64_t position):
        """Follow the frames in `data`, whose first byte is at a position of the recording, where a frame begins; return Walked.

        A frame is passed when all of it is in the data, one of padding when its header is.
        """
        cdef int64_t offset = 0
        cdef int64_t last = -1
        cdef int64_t step
        cdef int32_t end = ENDS_MORE
        with nogil:
            while offset + DATA_HEADER_LENGTH <= data.shape[0]:
                end = self.check(&data[offset], position + offset, data.shape[0] - offset, &step)
                if end != ENDS_MORE or step == 0:
                    break
                last = offset
                offset += step
        return Walked(offset, end, last)

    def seal(self, uint8_t[::1] data, int64_t position):
        """Write the checksum of each DATA frame in `data` into its header, as `walk` would follow them; return Walked.

        Frames are followed by their lengths alone.
        """
        cdef int64_t offset = 0
        cdef int64_t last = -1
        cdef int64_t step
        cdef int32_t end = ENDS_MORE
        cdef uint8_t* frame
        with nogil:
            while offset + DATA_HEADER_LENGTH <= data.shape[0]:
                frame = &data[offset]
                end = self.measure(frame, position + offset, data.shape[0] - offset, &step)
                if end != ENDS_MORE or step == 0:
                    break
                if data_header_type(frame) == FRAME_TYPE_DATA:
                    data_header_set_session_id(frame, self.checksum(frame, step))
                last = offset
                offset += step
        return Walked(offset, end, last)

    cdef int32_t measure(self, const uint8_t* frame, int64_t position, int64_t room, int64_t* step) noexcept nogil:
        # Store the bytes to the next frame, 0 if the frame is not all there.
        cdef int64_t length = data_header_frame_length(frame)
        step[0] = 0
        if length == 0:
            return ENDS_EMPTY
        length = (length + FRAME_ALIGNMENT - 1) & ~(<int64_t>FRAME_ALIGNMENT - 1)
        if data_header_frame_length(frame) < DATA_HEADER_LENGTH or (position & (self.term_length - 1)) + length > self.term_length:
            return ENDS_IMPLAUSIBLE
        if length <= room or data_header_type(frame) == FRAME_TYPE_PAD:
            step[0] = length
        return ENDS_MORE

    cdef int32_t check(self, const uint8_t* frame, int64_t position, int64_t room, int64_t* step) noexcept nogil:
        # As `measure`, with all checks of a frame that is all there.
        cdef int32_t end = self.measure(frame, position, room, step)
        if end != ENDS_MORE or step[0] == 0:
            return end
        if (data_header_term_offset(frame) != (position & (self.term_length - 1)) or data_header_stream_id(frame) != self.stream_id
                or data_header_term_id(frame) != <int32_t>(self.initial_term_id + position // self.term_length)):
            return ENDS_FOREIGN
        if self.checksum_kind != CHECKSUM_NONE and data_header_type(frame) == FRAME_TYPE_DATA:
            if data_header_session_id(frame) != self.checksum(frame, step[0]) and not self.is_unsealed(frame, step[0]):
                return ENDS_CHECKSUM
        return ENDS_MORE

    cdef bint is_unsealed(self, const uint8_t* frame, int64_t length) noexcept nogil:
        # Whether a frame with another checksum passes all the same.
        cdef int32_t session_id = data_header_session_id(frame)
        cdef int32_t kind
        if not self.has_unsealed:
            return False
        if session_id == self.image_session_id or session_id == self.unsealed_session_id:
            return True
        for kind in range(CHECKSUM_NONE + 1, CHECKSUM_CRC_32C + 1):
            if session_id == compute_checksum(kind, frame + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH):
                return True
        return False

    cdef int32_t checksum(self, const uint8_t* frame, int64_t length) noexcept nogil:
        return compute_checksum(self.checksum_kind, frame + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH)
