# One frame in a term: read and publish its length with the right ordering, write its header.
#
# A frame is visible when its length is positive. A writer stores the negative length FIRST, the rest of the header and the body
# next, and the positive length LAST with release.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_FLAGS_OFFSET, DATA_HEADER_FRAME_LENGTH_OFFSET, DATA_HEADER_LENGTH, DATA_HEADER_TYPE_OFFSET,
    FRAME_TYPE_DATA, FRAME_TYPE_PAD, FRAME_VERSION, data_header_set_flags, data_header_set_session_id,
    data_header_set_stream_id, data_header_set_term_id, data_header_set_term_offset, data_header_set_type, data_header_set_version,
    data_header_type)
from aerowire.memory.atomics cimport load_acquire_i32, load_relaxed_i32, release_fence, store_release_i32, store_relaxed_i32

cdef enum:                              # what stands where a walk of a log cannot go on
    STEP_NONE = 0                       # no committed frame
    STEP_MALFORMED = -1                 # a committed frame that is shorter than its header, or longer than the rest of the term

cdef extern from *:
    """
    #ifndef AEROWIRE_FRAME_STEP
    #define AEROWIRE_FRAME_STEP
    #include <stdint.h>
    static inline int32_t aw_frame_step(int32_t length, int32_t room)
    {
        uint32_t bytes = (uint32_t)length;
        if (__builtin_expect(bytes - 32u <= (uint32_t)room - 32u, 1))
            return (int32_t)((bytes + 31u) & ~31u);
        return length > 0 ? -1 : 0;
    }
    #endif
    """
    # The bytes from one frame to the next, or a STEP_ result: the only way to step over a frame. `length` is the frame's length as it was
    # read, once, and is to be used for everything else about the frame; `room` is the bytes from the frame to the end of the term, a
    # positive multiple of the frame alignment. One comparison tells a frame that fits from all others, and nothing here can overflow.
    int32_t frame_step "aw_frame_step"(int32_t length, int32_t room) noexcept nogil

# How a walk steps over frames that are often of one length. `length` and `step` are those of the last frame, `last_offset` is where such a
# frame can begin at the latest. All 0 before the first.
cdef struct Stride:
    int32_t length
    int32_t step
    int32_t last_offset

# As frame_step, for a frame at `offset` of a term that ends at `end`; the walk goes on by stride.step. A frame as long as the last one is
# judged by where it begins alone, so that the processor need not wait for its length to find the next one, and the cache misses of a walk
# overlap.
cdef inline int32_t frame_stride(Stride* stride, int32_t length, int32_t offset, int32_t end) noexcept nogil:
    cdef int32_t step
    if length != stride.length or offset > stride.last_offset:
        step = frame_step(length, end - offset)
        if step <= 0:
            return step
        stride.length = length
        stride.step = step
        stride.last_offset = end - step
    return stride.step

cdef inline int32_t frame_length_acquire(const uint8_t* frame) noexcept nogil:
    return load_acquire_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET)

# Claim a frame: readers stop before it, and whoever unblocks the log knows how long it is.
cdef inline void frame_length_claim(uint8_t* frame, int32_t length) noexcept nogil:
    store_relaxed_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET, -length)
    release_fence()

cdef inline void frame_length_release(uint8_t* frame, int32_t length) noexcept nogil:
    store_release_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET, length)

cdef inline bint frame_is_padding(const uint8_t* frame) noexcept nogil:
    return data_header_type(frame) == FRAME_TYPE_PAD

# Claim a frame: negative length, then the default data header; the reserved value stays as the cleaned term has it, 0. Publish with frame_length_release(frame, frame_length).
cdef inline void frame_write_header(uint8_t* frame, int32_t frame_length, int32_t term_offset, int32_t session_id, int32_t stream_id,
                                    int32_t term_id) noexcept nogil:
    frame_length_claim(frame, frame_length)
    data_header_set_version(frame, FRAME_VERSION)
    data_header_set_flags(frame, DATA_FLAGS_UNFRAGMENTED)
    data_header_set_type(frame, FRAME_TYPE_DATA)
    data_header_set_term_offset(frame, term_offset)
    data_header_set_session_id(frame, session_id)
    data_header_set_stream_id(frame, stream_id)
    data_header_set_term_id(frame, term_id)
