# An array of borrowed pointers: what a native agent works on, whose objects its conductor keeps alive.

cimport cython

cdef enum:
    POINTERS_MAX = 1 << 20      # more than the largest counters buffer has room for: each of an agent's objects has a counter


@cython.final
cdef class PointerArray:
    """Borrowed pointers in order of addition; changed only by the owning agent, at the top of its cycle."""

    cdef void** items
    cdef int count
    cdef int _capacity

    cdef bint add(self, void* item) noexcept nogil          # False: full, or out of memory
    cdef bint remove(self, void* item) noexcept nogil
    cdef void remove_at(self, int index) noexcept nogil
