# An exclusive publication on loan to a native agent.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.handles.loan cimport Loan
from aerowire.logbuffer.append cimport Part, ReservedValue
from aerowire.logbuffer.exclusive_appender cimport ExclusiveAppender


@cython.final
cdef class LentPublication(Loan):
    cdef ExclusiveAppender _appender        # keeps log and limit mapped
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t max_payload_length
    cdef readonly int32_t max_message_length

    # The agent's side, on its own thread: positions, or OFFER_ codes; OFFER_CLOSED once it is recalled.
    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil
    cdef int64_t offer_many(self, const Part* messages, int count, int* sent) noexcept nogil
    cdef int64_t offer_block(self, const uint8_t* block, int32_t length) noexcept nogil     # whole frames: see ExclusiveAppender
    cdef int64_t append_padding(self, int64_t length) noexcept nogil
    cdef int64_t position(self) noexcept nogil
    cdef int64_t available_window(self) noexcept nogil
    cdef bint is_connected(self) noexcept nogil
