# Set-ups that a receiver asked for and waits for.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.address cimport Address

cdef enum:
    PENDING_SETUPS_MAX = 16384          # a flood of made-up sessions ends here: no more are asked for
    # when a session is asked for again, or a periodic one repeated, in ns
    PENDING_SETUP_TIMEOUT_NS = 1_000_000_000

cdef struct PendingSetup:
    void* endpoint
    int64_t asked_ns
    int32_t session_id
    int32_t stream_id
    int transport_index
    bint periodic                       # asked for over and over at an explicit control address
    Address source


@cython.final
cdef class PendingSetups:
    cdef PendingSetup* _items
    cdef int _capacity
    cdef int count
    cdef int64_t _check_deadline_ns     # when they are looked at again

    cdef bint add(self, void* endpoint, int transport_index, int32_t session_id, int32_t stream_id, bint periodic, const Address* source,
                  int64_t now_ns) noexcept nogil
    # transport_index -1: of all of them
    cdef void forget(self, void* endpoint, int transport_index) noexcept nogil
    # Repeat the periodic ones that are due, forget others; returns the work done.
    cdef int check(self, int64_t now_ns) noexcept nogil
    cdef void _remove_at(self, int index) noexcept nogil
    cdef int64_t next_deadline_ns(self) noexcept nogil
