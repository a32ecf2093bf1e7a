# Writers of a log: many threads and processes (concurrent) or one (exclusive). Never blocks; returns a position or an OFFER_ code.
#
# Rules of Aeron's ConcurrentPublication and ExclusivePublication. The caller checks that its publication is open.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.logbuffer.log cimport LogBuffers

cdef struct Part:                       # one piece of a vectored message
    const uint8_t* address
    int64_t length

cdef struct Stream:                     # what every frame of a stream has in common
    int32_t session_id
    int32_t stream_id
    int32_t max_payload_length

# Gives the reserved value of a frame whose header and body are written. frame_length counts the header.
ctypedef int64_t (*ReservedValue)(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil


@cython.final
cdef class ConcurrentAppender:
    """ConcurrentAppender(logs, counters, limit_counter_id, session_id, stream_id, *, max_payload_length=None). Any thread."""

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

    cdef int64_t _begin(self, int64_t length, int* index) noexcept nogil
    cdef uint8_t* _term(self, int index) noexcept nogil
    cdef Stream _stream(self) noexcept nogil
    cdef int64_t _end_of_term(self, uint8_t* term, int32_t term_id, int32_t offset, int64_t position) noexcept nogil
    cdef int64_t _claim(self, int index, int64_t framed_length, uint8_t** term, int32_t* offset, int32_t* term_id) noexcept nogil
    cdef int64_t _offer_run(self, const Part* messages, int count, int* taken, ReservedValue reserved, void* context) noexcept nogil


@cython.final
cdef class ExclusiveAppender:
    """ExclusiveAppender(logs, counters, limit_counter_id, session_id, stream_id, *, max_payload_length=None). One thread at a time."""

    cdef LogBuffers logs
    cdef uint8_t* metadata
    cdef uint8_t* term                  # of the active partition
    cdef int64_t* tail
    cdef const int64_t* position_limit
    cdef int64_t max_position
    cdef int64_t term_begin_position
    cdef int32_t term_id
    cdef int32_t term_offset
    cdef int active_index
    cdef int32_t session_id
    cdef int32_t stream_id
    cdef int32_t initial_term_id
    cdef int32_t term_length
    cdef int32_t max_payload_length
    cdef int32_t max_message_length
    cdef int bits
    cdef object _limit_holder
    cdef object _logs_holder

    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t offer_many(self, const Part* messages, int count, int* sent, ReservedValue reserved, void* context) noexcept nogil
    # `count` messages of `length` bytes that lie one behind the other in memory; results as offer_many.
    cdef int64_t offer_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil
    cdef int64_t try_claim(self, int64_t length, uint8_t** frame) noexcept nogil
    cdef int64_t append_padding(self, int64_t length) noexcept nogil
    # A run of whole frames of this stream, the first of them its next one, within the term; else OFFER_BLOCK_INVALID.
    cdef int64_t offer_block(self, const uint8_t* block, int32_t length) noexcept nogil
    cdef int64_t position(self) noexcept nogil
    cdef int64_t available_window(self) noexcept nogil

    cdef Stream _stream(self) noexcept nogil
    cdef void _rotate(self) noexcept nogil
    cdef int64_t _end_of_term(self) noexcept nogil
    cdef int64_t _begin(self, int64_t length) noexcept nogil
    cdef int64_t _claim(self, int64_t framed_length) noexcept nogil
    cdef int _offer_run(self, const Part* messages, int count) noexcept nogil
    cdef int _offer_row_run(self, const uint8_t* rows, int64_t length, int64_t count) noexcept nogil
    cdef bint _block_fits(self, const uint8_t* block, int32_t length) noexcept nogil

# A claimed frame made visible, or turned into padding. The header still holds the negative length.
cdef void claim_commit(uint8_t* frame) noexcept nogil
cdef void claim_abort(uint8_t* frame) noexcept nogil


@cython.final
cdef class PartArray:
    """PartArray(sequence of buffers): their addresses; the buffers stay exported while this lives."""

    cdef Part* parts
    cdef int count
    cdef Py_buffer* _views
