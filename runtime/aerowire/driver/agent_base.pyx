"""What the three agents share: an array of borrowed pointers."""

from libc.stdlib cimport free, realloc
from libc.string cimport memmove

cimport cython


@cython.final
cdef class PointerArray:
    """A growing array. Removal keeps the order, so that round robin stays fair."""

    def __dealloc__(self):
        free(self.items)

    cdef bint add(self, void* item) noexcept nogil:
        cdef int capacity
        cdef void** items
        if self.count == self._capacity:
            capacity = self._capacity * 2 if self._capacity else 8
            items = <void**>realloc(self.items, capacity * sizeof(void*))
            if items is NULL:
                return False
            self.items = items
            self._capacity = capacity
        self.items[self.count] = item
        self.count += 1
        return True

    cdef bint remove(self, void* item) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self.items[i] is item:
                self.remove_at(i)
                return True
        return False

    cdef void remove_at(self, int index) noexcept nogil:
        self.count -= 1
        memmove(&self.items[index], &self.items[index + 1], (self.count - index) * sizeof(void*))
