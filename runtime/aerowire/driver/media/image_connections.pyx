"""The transports that bring one image. Aeron: PublicationImage and ImageConnection, MultiRcvDestination.sendToAll."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cimport cython

from aerowire.base.address cimport Address, address_from
from aerowire.memory.growing cimport grow
from aerowire.protocol.destinations cimport DESTINATION_TIMEOUT_NS


@cython.final
cdef class ImageConnections:
    """Invariant: the transport that the image was made for is known from the start; an address once known stays until it is forgotten.

    The only transport of a plain channel is answered always, those of a multi-destination one while they are heard.
    """

    def __cinit__(self, *, int index, control_address, int64_t now_ns, bint is_multi_destination=False):
        cdef Address control
        if not 0 <= index < IMAGE_CONNECTIONS_MAX:
            raise ValueError(f"transport index: expected 0 to {IMAGE_CONNECTIONS_MAX - 1}, actual {index}")
        address_from(&control, control_address)
        self._is_multi_destination = is_multi_destination
        self.items = <ImageConnection*>calloc(index + 1, sizeof(ImageConnection))
        if self.items is NULL:
            raise MemoryError("transports of an image")
        self._capacity = index + 1
        self.track(index, &control, now_ns)

    def __dealloc__(self):
        free(self.items)

    cdef void track(self, int index, const Address* source, int64_t now_ns) noexcept nogil:
        cdef ImageConnection* transport
        if not self._has_room_for(index):
            return
        transport = &self.items[index]
        if index >= self.count:
            self.count = index + 1
        if not transport.known:
            transport.source = source[0]
            transport.known = True
        transport.last_activity_ns = now_ns
        transport.last_frame_ns = now_ns
        transport.heard = True

    cdef void expect(self, int index, const Address* control, int64_t now_ns) noexcept nogil:
        if not self._has_room_for(index):
            return
        self.forget(index)
        if index >= self.count:
            self.count = index + 1
        if control is not NULL and control.length:
            self.items[index].source = control[0]
            self.items[index].known = True
            self.items[index].last_activity_ns = now_ns

    cdef void forget(self, int index) noexcept nogil:
        if index < self.count:
            memset(&self.items[index], 0, sizeof(ImageConnection))

    cdef bint is_answered(self, int index, int64_t now_ns) noexcept nogil:
        cdef ImageConnection* transport = &self.items[index]
        if index >= self.count or not transport.known:
            return False
        return not self._is_multi_destination or transport.last_activity_ns + DESTINATION_TIMEOUT_NS - now_ns > 0

    cdef void end(self, int index, int64_t position) noexcept nogil:
        if index < self.count:
            self.items[index].end_position = position
            self.items[index].ended = True

    cdef void go_on(self, int index) noexcept nogil:
        if index < self.count:
            self.items[index].ended = False

    cdef void go_on_all(self) noexcept nogil:
        cdef int i
        for i in range(self.count):
            self.items[i].ended = False

    cdef bint all_ended(self, void* const* present) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if not self.items[i].ended and (self.items[i].known or present[i] is not NULL):
                return False
        return True

    cdef int64_t end_position(self) noexcept nogil:
        cdef int64_t end = 0
        cdef int i
        for i in range(self.count):
            if self.items[i].known and self.items[i].end_position > end:
                end = self.items[i].end_position
        return end

    cdef int32_t active_count(self, int64_t liveness_timeout_ns, int64_t now_ns) noexcept nogil:
        cdef int32_t active = 0
        cdef int i
        for i in range(self.count):
            if self.items[i].heard and self.items[i].last_frame_ns + liveness_timeout_ns - now_ns > 0:
                active += 1
        return active

    cdef bint _has_room_for(self, int index) noexcept nogil:
        cdef int before
        while index >= self._capacity:
            before = self._capacity
            if not grow(<void**>&self.items, &self._capacity, sizeof(ImageConnection), IMAGE_CONNECTIONS_MAX):
                return False
            memset(&self.items[before], 0, (self._capacity - before) * sizeof(ImageConnection))
        return True
