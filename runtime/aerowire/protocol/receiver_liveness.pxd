# Which receivers a sender heard from lately.

cimport cython
from libc.stdint cimport int64_t

cdef enum:
    RECEIVERS_MAX = 65536       # of one publication; more would only be found in a very large group, whose extra members still get data

cdef struct ReceiverRecord:
    int64_t receiver_id
    int64_t last_heard_ns


@cython.final
cdef class ReceiverLiveness:
    """Receiver id -> time of its last status message."""

    cdef ReceiverRecord* _records
    cdef int _capacity
    cdef readonly int count

    cpdef bint on_status_message(self, int64_t receiver_id, int64_t now_ns) noexcept nogil
    cpdef bint on_remote_close(self, int64_t receiver_id) noexcept nogil
    cpdef int on_idle(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil
    cpdef int64_t next_deadline_ns(self, int64_t timeout_ns) noexcept nogil
