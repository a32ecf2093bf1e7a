# When a sender sends set-up frames and heartbeats.

cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class SendSchedule:
    """One publication's timers, on the sender's thread."""

    cdef int64_t _setup_timeout_ns
    cdef int64_t _heartbeat_timeout_ns
    cdef int64_t _last_setup_ns
    cdef int64_t _last_sent_ns
    cdef readonly bint has_initial_connection
    cdef readonly bint is_setup_elicited

    cpdef bint setup_due(self, int64_t now_ns) noexcept nogil
    cpdef void on_setup_sent(self, int64_t now_ns, bint has_receivers) noexcept nogil
    cpdef bint heartbeat_due(self, int64_t now_ns) noexcept nogil
    cpdef void on_sent(self, int64_t now_ns) noexcept nogil
    cpdef void on_status_message(self) noexcept nogil
    cpdef void on_setup_elicited(self) noexcept nogil
    cpdef int64_t next_deadline_ns(self) noexcept nogil
