"""An array of borrowed pointers: what a native agent works on, whose objects its conductor keeps alive."""

from libc.stdlib cimport free
from libc.string cimport memmove

cimport cython

from aerowire.memory.growing cimport grow


@cython.final
cdef class PointerArray:
    """A growing array of at most POINTERS_MAX pointers. Removal keeps the order, so that round robin stays fair."""

    def __dealloc__(self):
        free(self.items)

    cdef bint add(self, void* item) noexcept nogil:
        if self.count == self._capacity and not grow(<void**>&self.items, &self._capacity, sizeof(void*), POINTERS_MAX):
            return False
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
