"""The packets in flight of a network: a heap that knows where each packet is, so that any of them can be taken out."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free

cimport cython

from aerowire.memory.growing cimport grow

cdef int IN_FLIGHT_MAX = 1 << 20        # of one network: a gigabyte of full packets


@cython.final
cdef class PacketHeap:
    """Owns its packets. Invariant: items[packet.heap_index] is packet, and no packet is earlier than its parent."""

    def __dealloc__(self):
        cdef int i
        for i in range(self.count):
            free(self.items[i])
        free(self.items)

    cdef bint push(self, Packet* packet) noexcept nogil:
        if self.count == self._capacity and not grow(<void**>&self.items, &self._capacity, sizeof(Packet*), IN_FLIGHT_MAX):
            return False
        self.count += 1
        self._rise(packet, self.count - 1)
        return True

    cdef void remove(self, Packet* packet) noexcept nogil:
        cdef int index = packet.heap_index
        cdef Packet* last
        self.count -= 1
        last = self.items[self.count]
        packet.heap_index = -1
        if last is packet:
            return
        if index > 0 and is_earlier(last, self.items[(index - 1) >> 1]):
            self._rise(last, index)
        else:
            self._sink(last, index)

    cdef void postpone(self, Packet* packet, int64_t due_ns) noexcept nogil:
        packet.due_ns = due_ns
        self._sink(packet, packet.heap_index)

    cdef void _place(self, Packet* packet, int index) noexcept nogil:
        self.items[index] = packet
        packet.heap_index = index

    cdef void _rise(self, Packet* packet, int index) noexcept nogil:
        cdef int parent
        while index > 0:
            parent = (index - 1) >> 1
            if not is_earlier(packet, self.items[parent]):
                break
            self._place(self.items[parent], index)
            index = parent
        self._place(packet, index)

    cdef void _sink(self, Packet* packet, int index) noexcept nogil:
        cdef int child = 2 * index + 1
        while child < self.count:
            if child + 1 < self.count and is_earlier(self.items[child + 1], self.items[child]):
                child += 1
            if not is_earlier(self.items[child], packet):
                break
            self._place(self.items[child], index)
            index = child
            child = 2 * index + 1
        self._place(packet, index)
