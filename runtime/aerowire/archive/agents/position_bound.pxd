# A counter of any owner, whose value bounds how far a replay goes.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.ipc.counters cimport CountersReader
from aerowire.ipc.owned_counter cimport OwnedCounter


@cython.final
cdef class PositionBound:
    """PositionBound(counters, counter_id). One thread."""

    cdef CountersReader _counters       # keeps the value mapped
    cdef OwnedCounter _counter
    cdef int64_t position               # as read last
    cdef bint is_frozen                 # the counter is gone: the position is the last one

    cdef int64_t read(self) noexcept nogil
