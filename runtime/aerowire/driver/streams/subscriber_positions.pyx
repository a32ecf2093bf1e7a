"""The positions of a stream's local subscribers, as addresses of their counters."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.memory.growing cimport grow

cdef int SUBSCRIBERS_MAX = 65536            # of one stream: as many as there can be counters


@cython.final
cdef class SubscriberPositions:
    """An unordered array of borrowed counter addresses."""

    def __dealloc__(self):
        free(self._items)

    cdef bint add(self, int64_t* value, int32_t counter_id, int64_t registration_id) noexcept nogil:
        if self.count == self._capacity and not grow(<void**>&self._items, &self._capacity, sizeof(SubscriberPosition), SUBSCRIBERS_MAX):
            return False
        self._items[self.count].value = value
        self._items[self.count].counter_id = counter_id
        self._items[self.count].registration_id = registration_id
        self.count += 1
        return True

    cdef bint remove(self, int32_t counter_id) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self._items[i].counter_id == counter_id:
                self.count -= 1
                self._items[i] = self._items[self.count]
                return True
        return False

    cdef int64_t least(self, int64_t otherwise) noexcept nogil:
        cdef int i
        cdef int64_t position
        for i in range(self.count):
            position = load_acquire_i64(self._items[i].value)
            if position < otherwise:
                otherwise = position
        return otherwise

    cdef int64_t greatest(self, int64_t otherwise) noexcept nogil:
        cdef int i
        cdef int64_t position
        for i in range(self.count):
            position = load_acquire_i64(self._items[i].value)
            if position > otherwise:
                otherwise = position
        return otherwise

    cdef bint all_reached(self, int64_t position) noexcept nogil:
        return self.least(position) == position

    def ids(self):
        """Return [(counter id, registration id)]; only while no conductor agent changes it."""
        return [(self._items[i].counter_id, self._items[i].registration_id) for i in range(self.count)]
