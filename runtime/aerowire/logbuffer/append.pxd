# Writers of a log: many threads and processes (concurrent) or one (exclusive). Never blocks; returns a position or an OFFER_ code.
#
# Rules of Aeron's ConcurrentPublication and ExclusivePublication. The caller checks that its publication is open.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.codecs.native.logbuffer cimport LOG_METADATA_IS_CONNECTED_OFFSET
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH
from aerowire.logbuffer.descriptor cimport (
    OFFER_BACK_PRESSURED, OFFER_MAX_POSITION_EXCEEDED, OFFER_NOT_CONNECTED, align_frame)
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.memory.atomics cimport load_acquire_i32

cdef struct Part:                       # one piece of a vectored message
    const uint8_t* address
    int64_t length

cdef struct Stream:                     # what every frame of a stream has in common
    int32_t session_id
    int32_t stream_id
    int32_t max_payload_length

# Gives the reserved value of a frame whose header and body are written. frame_length counts the header.
ctypedef int64_t (*ReservedValue)(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil


cdef class Appender:
    """Appender(logs, counters, limit_counter_id, session_id, stream_id, *, max_payload_length=None): see its two kinds."""

    cdef LogBuffers logs
    cdef uint8_t* metadata
    cdef const int64_t* position_limit  # the pub-lmt counter
    cdef int64_t max_position
    cdef int32_t session_id
    cdef int32_t stream_id
    cdef int32_t initial_term_id
    cdef int32_t term_length
    cdef int32_t max_payload_length
    cdef int32_t max_message_length
    cdef int bits
    cdef object _limit_holder
    cdef object _logs_holder

    # OFFER_MESSAGE_TOO_LONG for length < 0 or > max_message_length (tryClaim: > max_payload_length).
    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil
    # Messages in order until one is refused. Returns the last position, or the code that stopped it; *sent counts accepted ones.
    # ADMIN_ACTION (a term trip) is retried inside.
    cdef int64_t offer_many(self, const Part* messages, int count, int* sent, ReservedValue reserved, void* context) noexcept nogil
    # *frame points at the frame's header; body at + DATA_HEADER_LENGTH. Finish with claim_commit or claim_abort.
    cdef int64_t try_claim(self, int64_t length, uint8_t** frame) noexcept nogil
    cdef int64_t position(self) noexcept nogil
    cdef int64_t available_window(self) noexcept nogil

    cdef Stream stream(self) noexcept nogil

# A claimed frame made visible, or turned into padding. The header still holds the negative length.
cdef void claim_commit(uint8_t* frame) noexcept nogil
cdef void claim_abort(uint8_t* frame) noexcept nogil


@cython.final
cdef class PartArray:
    """PartArray(sequence of buffers): their addresses; the buffers stay exported while this lives."""

    cdef Part* parts
    cdef int count
    cdef Py_buffer* _views


# The limit is reached: for which of the three reasons.
cdef inline int64_t refused(const uint8_t* metadata, int64_t position, int64_t length, int64_t max_position) noexcept nogil:
    if position + align_frame(length + DATA_HEADER_LENGTH) >= max_position:
        return OFFER_MAX_POSITION_EXCEEDED
    if load_acquire_i32(metadata + LOG_METADATA_IS_CONNECTED_OFFSET) == 1:
        return OFFER_BACK_PRESSURED
    return OFFER_NOT_CONNECTED
