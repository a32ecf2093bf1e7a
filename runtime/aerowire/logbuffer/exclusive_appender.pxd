# Appending by the one writer of an exclusive stream.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.logbuffer.append cimport Appender, Part


@cython.final
cdef class ExclusiveAppender(Appender):
    """ExclusiveAppender(logs, counters, limit_counter_id, session_id, stream_id, *, max_payload_length=None). One thread at a time."""

    cdef uint8_t* term                  # of the active partition
    cdef int64_t* tail
    cdef int64_t term_begin_position
    cdef int32_t term_id
    cdef int32_t term_offset
    cdef int active_index

    # `count` messages of `length` bytes that lie one behind the other in memory; results as offer_many.
    cdef int64_t offer_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil
    cdef int64_t append_padding(self, int64_t length) noexcept nogil
    # A run of whole frames of this stream, the first of them its next one, within the term; else OFFER_BLOCK_INVALID.
    cdef int64_t offer_block(self, const uint8_t* block, int32_t length) noexcept nogil

    cdef void _rotate(self) noexcept nogil
    cdef int64_t _end_of_term(self) noexcept nogil
    cdef int64_t _begin(self, int64_t length) noexcept nogil
    cdef int64_t _reserve(self, int64_t length, int64_t framed_length) noexcept nogil
    cdef int _offer_run(self, const Part* messages, int count) noexcept nogil
    cdef int _offer_row_run(self, const uint8_t* rows, int64_t length, int64_t count) noexcept nogil
    cdef bint _block_fits(self, const uint8_t* block, int32_t length) noexcept nogil
