# When an image tells its sender how far it is: the conductor agent's half and the receiver's half.

cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class ConsumptionSchedule:
    """What is to be told, on the conductor agent's thread."""

    cdef readonly int64_t position
    cdef readonly int32_t window_length

    cpdef bint poll_change(self, int64_t consumption_position, int32_t window_length, bint force) noexcept nogil


@cython.final
cdef class StatusTimer:
    """When it is told, on the receiver's thread."""

    cdef int64_t _timeout_ns
    cdef readonly int64_t deadline_ns
    cdef readonly int64_t last_change
    cdef readonly bint enabled

    cpdef bint timed_out(self, int64_t now_ns) noexcept nogil
    cpdef bint due(self, int64_t change, int64_t now_ns) noexcept nogil
    cpdef void on_sent(self, int64_t change, int64_t now_ns) noexcept nogil
    cpdef void expire(self, int64_t now_ns) noexcept nogil
    cpdef void disable(self) noexcept nogil
