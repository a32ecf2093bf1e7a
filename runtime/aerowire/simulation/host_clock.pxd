# The clock of one host over the true time of its world.

cimport cython
from libc.stdint cimport int64_t, uint64_t
from aerowire.base.ports cimport ClockPort


@cython.final
cdef class HostClock(ClockPort):
    cdef ClockPort _world
    cdef int64_t _true_ns               # when the drift last changed, or the host was started
    cdef int64_t _monotonic_ns          # the host's monotonic time then
    cdef int64_t _drift_ppb             # parts per billion that it gains
    cdef int64_t _wall_ns               # wall clock less monotonic time
    cdef uint64_t _digest
    cdef readonly int64_t reads

    cdef int64_t monotonic_at(self, int64_t true_ns) noexcept nogil
    cdef int64_t true_time_of(self, int64_t deadline_ns) noexcept nogil     # INT64_MAX for a deadline that is never
    cdef int64_t _read(self, int64_t value) noexcept nogil
    cdef void _begin(self, int64_t monotonic_ns) noexcept nogil
