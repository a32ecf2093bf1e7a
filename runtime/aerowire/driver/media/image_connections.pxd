# The transports that bring one image: where its answers go, who was heard lately, and which of them have ended.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.address cimport Address

cdef enum:
    IMAGE_CONNECTIONS_MAX = 64           # destinations of one subscription, each of which can bring the same stream

cdef struct ImageConnection:
    Address source                      # who is answered on it
    int64_t last_activity_ns            # heard, or added with an address to ask
    int64_t last_frame_ns               # heard
    int64_t end_position
    bint known
    bint heard
    bint ended


@cython.final
cdef class ImageConnections:
    """On the receiver's thread."""

    cdef ImageConnection* items
    cdef int count                      # of places in use; those between may be unknown
    cdef int _capacity
    cdef bint _is_multi_destination

    cdef void track(self, int index, const Address* source, int64_t now_ns) noexcept nogil      # something came from it
    cdef void expect(self, int index, const Address* control, int64_t now_ns) noexcept nogil    # a new one; control: NULL or length 0, unknown
    cdef void forget(self, int index) noexcept nogil                                            # it was removed
    cdef bint is_answered(self, int index, int64_t now_ns) noexcept nogil                       # worth a status message or NAK
    cdef void end(self, int index, int64_t position) noexcept nogil
    cdef void go_on(self, int index) noexcept nogil         # it has not ended after all
    cdef void go_on_all(self) noexcept nogil
    cdef bint all_ended(self, void* const* present) noexcept nogil          # present: by index, NULL for transports that are gone
    cdef int64_t end_position(self) noexcept nogil                          # the last one's
    cdef int32_t active_count(self, int64_t liveness_timeout_ns, int64_t now_ns) noexcept nogil
    # private
    cdef bint _has_room_for(self, int index) noexcept nogil     # False: too high for a transport of a subscription, or no memory
