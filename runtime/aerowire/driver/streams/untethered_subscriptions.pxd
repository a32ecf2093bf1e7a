# Those of a stream's subscribers for which it does not wait.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    TETHER_TETHERED = 0                # the stream waits for it
    TETHER_REJOINS = 1
    TETHER_LEAVES = 2       # rejoin=false

cdef struct UntetheredSubscription:
    int64_t* value
    int64_t registration_id
    int64_t since_ns            # of the state, or while active of the last look at which it kept up
    int32_t counter_id
    int32_t state
    bint rejoins


@cython.final
cdef class UntetheredSubscriptions:
    """Written by the conductor agent's thread only; addresses stay valid while the counters are mapped."""

    cdef UntetheredSubscription* items
    cdef int count
    cdef int _capacity

    cdef bint add(self, int64_t* value, int32_t counter_id, int64_t registration_id, bint rejoins, int64_t now_ns) noexcept nogil
    cdef bint remove(self, int32_t counter_id) noexcept nogil
    cdef void remove_at(self, int index) noexcept nogil
