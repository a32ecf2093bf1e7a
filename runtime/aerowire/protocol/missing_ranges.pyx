"""Which positions of a received stream are missing.

A receiver that writes each datagram to the offset in its header can be made to write one frame across another, and the log cannot be read
beyond that frame. The receiver keeps this table in memory of its own, so that neither peers nor processes that share the log can change it.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memmove

cimport cython

from aerowire.memory.growing cimport grow

MISSING = RANGE_MISSING
PRESENT = RANGE_PRESENT
CONFLICT = RANGE_CONFLICT
NO_ROOM = RANGE_NO_ROOM
CAPACITY = MISSING_RANGES_MAX

@cython.final
cdef class MissingRanges:
    """The gaps below the end of what was received.

    Invariant: 0 <= count <= MISSING_RANGES_MAX; the ranges are not empty, ascend, do not touch each other, and lie below `end`.
    """

    def __cinit__(self, int64_t position):
        self.end = position

    def __dealloc__(self):
        free(self._items)

    cpdef int receive(self, int64_t begin, int64_t end) noexcept nogil:
        """Receive [begin, end): MISSING, PRESENT, CONFLICT or NO_ROOM."""
        if begin >= self.end:
            if begin > self.end and not self._insert_at(self.count, self.end, begin):
                return RANGE_NO_ROOM
            self.end = end
            return RANGE_MISSING
        return self._fill(begin, end)

    cpdef int64_t first(self) noexcept nogil:
        """Return the position that the stream waits for."""
        return self._items[0].begin if self.count else self.end

    cpdef int64_t first_length(self) noexcept nogil:
        """Return the bytes that are missing there; 0 when nothing is."""
        return self._items[0].end - self._items[0].begin if self.count else 0

    cpdef void forget_before(self, int64_t position) noexcept nogil:
        """Forget what is missing before `position`."""
        cdef int index = self._find(position)
        self._remove(0, index)
        if self.count and self._items[0].begin < position:
            self._items[0].begin = position

    cdef int _fill(self, int64_t begin, int64_t end) noexcept nogil:
        cdef int index = self._find(begin)
        cdef MissingRange* item
        if index == self.count:
            return RANGE_PRESENT if end <= self.end else RANGE_CONFLICT
        item = &self._items[index]
        if end <= item.begin:
            return RANGE_PRESENT
        if begin < item.begin or end > item.end:
            return RANGE_CONFLICT
        if begin == item.begin and end == item.end:
            self._remove(index, 1)
        elif begin == item.begin:
            item.begin = end
        elif end == item.end:
            item.end = begin
        else:
            if not self._insert_at(index, item.begin, begin):
                return RANGE_NO_ROOM
            self._items[index + 1].begin = end
        return RANGE_MISSING

    cdef int _find(self, int64_t position) noexcept nogil:
        # the first range that ends after `position`
        cdef int low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) >> 1
            if self._items[middle].end > position:
                high = middle
            else:
                low = middle + 1
        return low

    cdef bint _insert_at(self, int index, int64_t begin, int64_t end) noexcept nogil:
        if self.count == self._capacity and not grow(<void**>&self._items, &self._capacity, sizeof(MissingRange), MISSING_RANGES_MAX):
            return False
        memmove(&self._items[index + 1], &self._items[index], <size_t>(self.count - index) * sizeof(MissingRange))
        self._items[index].begin = begin
        self._items[index].end = end
        self.count += 1
        return True

    cdef void _remove(self, int index, int count) noexcept nogil:
        if count > 0:
            memmove(&self._items[index], &self._items[index + count], <size_t>(self.count - index - count) * sizeof(MissingRange))
            self.count -= count

    def ranges(self) -> list:
        """Return [(begin, end)] of what is missing."""
        return [(self._items[i].begin, self._items[i].end) for i in range(self.count)]
