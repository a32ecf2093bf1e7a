# What the three agents share: an array of borrowed pointers, and how a datagram batch is received.

cimport cython

cdef enum:
    COMMANDS_PER_CYCLE = 16     # so that a burst of commands does not hold up streams
    PORTS_PER_CYCLE = 64        # sockets looked at in one cycle; the poller rotates over more


@cython.final
cdef class PointerArray:
    """Borrowed pointers in order of addition; changed only by the owning agent, at the top of its cycle."""

    cdef void** items
    cdef int count
    cdef int _capacity

    cdef bint add(self, void* item) noexcept nogil
    cdef bint remove(self, void* item) noexcept nogil
    cdef void remove_at(self, int index) noexcept nogil
