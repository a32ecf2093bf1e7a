# Which positions of a received stream are missing, so that no frame is written across another one.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    RANGE_MISSING = 0           # nothing of it was there; from now on it counts as received
    RANGE_PRESENT = 1           # all of it was there
    RANGE_CONFLICT = 2          # a part of it was there
    RANGE_NO_ROOM = 3           # nothing of it was there, and the table of ranges is full: it counts as lost
    MISSING_RANGES_MAX = 4096   # in order of their positions

cdef struct MissingRange:
    int64_t begin
    int64_t end


@cython.final
cdef class MissingRanges:
    """MissingRanges(position): of one thread."""

    cdef readonly int64_t end       # of the last frame received
    cdef readonly int count
    cdef MissingRange* _items
    cdef int _capacity

    # Receive [begin, end), whole frames that lie one behind the other: one of RANGE_. Only RANGE_MISSING changes anything.
    cpdef int receive(self, int64_t begin, int64_t end) noexcept nogil
    # The position that the stream waits for: of the first range that is missing, or the end.
    cpdef int64_t first(self) noexcept nogil
    cpdef int64_t first_length(self) noexcept nogil     # bytes of that range; 0 for the end
    # Forget what is missing before `position`: it is not accepted any more.
    cpdef void forget_before(self, int64_t position) noexcept nogil
    # private
    cdef int _fill(self, int64_t begin, int64_t end) noexcept nogil
    cdef int _find(self, int64_t position) noexcept nogil
    cdef bint _insert_at(self, int index, int64_t begin, int64_t end) noexcept nogil
    cdef void _remove(self, int index, int count) noexcept nogil
