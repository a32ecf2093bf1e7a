# Where a channel of several destinations sends to, and who was heard from there.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.address cimport Address

cdef enum:
    DESTINATIONS_MAX = 4096     # of one channel: each costs a copy of every datagram, and anybody may announce himself to a dynamic one

# Silence after which a destination goes, gets no more answers, or its name is looked up again. Aeron: DESTINATION_ADDRESS_TIMEOUT
cdef int64_t DESTINATION_TIMEOUT_NS
cdef int64_t NO_REGISTRATION            # of a destination that nobody registered

cdef struct Destination:
    Address address             # length 0: none is known, nothing is sent there
    int64_t registration_id
    int64_t receiver_id
    int64_t heard_ns
    bint is_receiver_known


@cython.final
cdef class Destinations:
    """On the sender's thread."""

    cdef Destination* items
    cdef readonly int count
    cdef readonly bint dynamic
    cdef readonly bint is_full          # the last status message found no room for its receiver
    cdef int _capacity
    cdef int _next_first

    cdef bint add(self, int64_t registration_id, const Address* address, int64_t now_ns) noexcept nogil
    cpdef bint remove(self, int64_t registration_id) noexcept nogil
    cdef bint update(self, int64_t registration_id, const Address* address) noexcept nogil
    cdef bint on_status_message(self, int64_t receiver_id, const Address* source, int64_t now_ns) noexcept nogil
    cdef int64_t find_registration_id(self, int64_t receiver_id, const Address* source) noexcept nogil
    cpdef int next_first(self) noexcept nogil
    cpdef int remove_silent(self, int64_t now_ns) noexcept nogil
    cpdef int64_t poll_silent(self, int64_t now_ns) noexcept nogil
    cdef bint _is_match(self, const Destination* item, int64_t receiver_id, const Address* source) noexcept nogil
    cdef bint _append(self, const Address* address, int64_t registration_id, int64_t receiver_id, bint is_receiver_known, int64_t now_ns) noexcept nogil
