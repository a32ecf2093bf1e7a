# Positions of a driver's counters, looked at after each step of a world.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.ipc.counters cimport CountersReader

cdef struct WatchedCounter:
    int64_t registration_id         # whose the counter was at the last look
    int64_t value
    int32_t type_id
    bint is_seen


@cython.final
cdef class CounterWatch:
    cdef CountersReader _counters
    cdef WatchedCounter* _watched
    cdef bint _is_position[256]     # by type
