# Which receivers a sender heard from lately.

cimport cython
from libc.stdint cimport int64_t

cdef enum:
    # Receivers that one publication remembers. Each status message walks them: 4,096 cost 2 us, where 65,536 would cost a sender 40 us for
    # each forged one. Members of a larger group get data as ever, and are not waited for.
    RECEIVERS_MAX = 4096

cdef struct ReceiverRecord:
    int64_t receiver_id
    int64_t last_heard_ns


@cython.final
cdef class ReceiverLiveness:
    """Receiver id -> time of its last status message."""

    cdef ReceiverRecord* _records
    cdef int _capacity
    cdef readonly int count
    cdef readonly bint is_full          # the last status message found no room

    cpdef bint on_status_message(self, int64_t receiver_id, int64_t now_ns) noexcept nogil
    cpdef bint on_remote_close(self, int64_t receiver_id) noexcept nogil
    cpdef int on_idle(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil
    cpdef int64_t next_deadline_ns(self, int64_t timeout_ns) noexcept nogil
