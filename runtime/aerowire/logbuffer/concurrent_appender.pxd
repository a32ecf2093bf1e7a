# Appending by many threads and processes at once.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.logbuffer.append cimport Appender, Part, ReservedValue


@cython.final
cdef class ConcurrentAppender(Appender):
    """ConcurrentAppender(logs, counters, limit_counter_id, session_id, stream_id, *, max_payload_length=None). Any thread."""

    cdef int64_t _begin(self, int64_t length, int* index) noexcept nogil
    cdef uint8_t* _term(self, int index) noexcept nogil
    cdef int64_t _end_of_term(self, uint8_t* term, int32_t term_id, int32_t offset, int64_t position) noexcept nogil
    cdef int64_t _reserve(self, int64_t length, int64_t framed_length, uint8_t** term, int32_t* offset, int32_t* term_id) noexcept nogil
    cdef int64_t _offer_run(self, const Part* messages, int count, int* taken, ReservedValue reserved, void* context) noexcept nogil
