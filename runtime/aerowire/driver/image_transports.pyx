"""The transports that bring one image. Aeron: PublicationImage.ImageConnection."""

from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.base.address cimport Address, address_from


@cython.final
cdef class ImageTransports:
    """Invariant: the transport that the image was made for is known from the start; an address once known stays."""

    def __cinit__(self, *, int index, control_address, int64_t now_ns):
        cdef Address control
        if not 0 <= index < IMAGE_TRANSPORTS_MAX:
            raise ValueError(f"transport index: expected 0 to {IMAGE_TRANSPORTS_MAX - 1}, actual {index}")
        address_from(&control, control_address)
        self.track(index, &control, now_ns)

    cdef void track(self, int index, const Address* source, int64_t now_ns) noexcept nogil:
        cdef ImageTransport* transport
        if index >= IMAGE_TRANSPORTS_MAX:
            index = 0
        transport = &self.items[index]
        if index >= self.count:
            self.count = index + 1
        if not transport.known:
            transport.control = source[0]
            transport.known = True
        transport.last_activity_ns = now_ns

    cdef void end(self, int index, int64_t position) noexcept nogil:
        self.items[index if index < IMAGE_TRANSPORTS_MAX else 0].end_position = position
        self.items[index if index < IMAGE_TRANSPORTS_MAX else 0].ended = True

    cdef bint all_ended(self) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self.items[i].known and not self.items[i].ended:
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
            if self.items[i].known and self.items[i].last_activity_ns + liveness_timeout_ns - now_ns > 0:
                active += 1
        return active
