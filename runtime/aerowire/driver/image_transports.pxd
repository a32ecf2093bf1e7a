# The transports that bring one image: where its answers go, who was heard lately, and which of them have ended.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.address cimport Address

cdef enum:
    IMAGE_TRANSPORTS_MAX = 16           # destinations of one subscription that can bring the same stream

cdef struct ImageTransport:
    Address control                     # where status messages and NAKs of this transport go
    int64_t last_activity_ns
    int64_t end_position
    bint known
    bint ended


@cython.final
cdef class ImageTransports:
    """On the receiver's thread."""

    cdef ImageTransport items[IMAGE_TRANSPORTS_MAX]
    cdef int count                      # of places in use; those between may be unknown

    cdef void track(self, int index, const Address* source, int64_t now_ns) noexcept nogil
    cdef void end(self, int index, int64_t position) noexcept nogil
    cdef bint all_ended(self) noexcept nogil
    cdef int64_t end_position(self) noexcept nogil          # the last one's
    cdef int32_t active_count(self, int64_t liveness_timeout_ns, int64_t now_ns) noexcept nogil
