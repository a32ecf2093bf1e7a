# The positions of a stream's local subscribers.

cimport cython
from libc.stdint cimport INT64_MAX, int32_t, int64_t
from aerowire.memory.atomics cimport load_acquire_i64

cdef struct SubscriberPosition:
    int64_t* value
    int64_t registration_id
    int32_t counter_id


@cython.final
cdef class SubscriberPositions:
    """Written by the conductor agent's thread only; addresses stay valid while the counters are mapped."""

    cdef SubscriberPosition* _items
    cdef int _capacity
    cdef int32_t count                      # other threads may read it

    cdef bint add(self, int64_t* value, int32_t counter_id, int64_t registration_id) noexcept nogil
    cdef bint remove(self, int32_t counter_id) noexcept nogil
    cdef int64_t least(self, int64_t otherwise) noexcept nogil      # min of all positions and `otherwise`
    cdef int64_t greatest(self, int64_t otherwise) noexcept nogil
    cdef bint all_reached(self, int64_t position) noexcept nogil
