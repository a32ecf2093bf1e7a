# The lives of publications and images, from active to done.

cimport cython
from libc.stdint cimport int32_t, int64_t

cdef enum:
    PUBLICATION_ACTIVE = 0
    PUBLICATION_DRAINING = 1
    PUBLICATION_LINGER = 2
    PUBLICATION_DONE = 3

cdef enum:
    IMAGE_INIT = 0
    IMAGE_ACTIVE = 1
    IMAGE_DRAINING = 2
    IMAGE_LINGER = 3
    IMAGE_DONE = 4

cdef enum:
    SM_EOS_MULTIPLE = 5         # status intervals that a drained image goes on telling the end of the stream


@cython.final
cdef class PublicationLifecycle:
    """On the conductor agent's thread; other threads may read `state`."""

    cdef int32_t _state
    cdef int64_t _linger_ns
    cdef int64_t _changed_ns
    cdef readonly bint is_closed            # nobody holds it any more

    cpdef int state(self) noexcept nogil
    cpdef void on_closed(self, bint revoked) noexcept nogil
    cpdef void on_revoked(self, int64_t now_ns) noexcept nogil
    cpdef void on_drained(self, int64_t now_ns) noexcept nogil
    cpdef void on_malformed(self, int64_t now_ns) noexcept nogil
    cpdef bint poll_done(self, bint end_confirmed, int64_t now_ns) noexcept nogil


@cython.final
cdef class UnblockTimer:
    """Notices that consumers stand still before something unfinished."""

    cdef int64_t _timeout_ns
    cdef int64_t _last_position
    cdef int64_t _last_moved_ns

    cpdef bint poll_unblock(self, int64_t consumer_position, bint possibly_blocked, int64_t now_ns) noexcept nogil


@cython.final
cdef class ImageLifecycle:
    """Moved by the receiver (activate, drain) and by the conductor agent (revoke, linger, done); any thread may read `state`."""

    cdef int32_t _state
    cdef int64_t _changed_ns                # published with the state
    cdef int64_t _drain_ns
    cdef int64_t _liveness_ns

    cpdef int state(self) noexcept nogil
    cpdef bint activate(self, int64_t now_ns) noexcept nogil
    cpdef bint drain(self, int64_t now_ns) noexcept nogil
    cpdef bint resume(self, int64_t now_ns) noexcept nogil
    cpdef bint drain_time_over(self, int64_t now_ns) noexcept nogil
    cpdef void linger(self, int64_t now_ns) noexcept nogil
    cpdef bint linger_over(self, bint has_subscribers, int64_t now_ns) noexcept nogil
    cpdef void finish(self) noexcept nogil
    cdef bint _enter_from(self, int32_t before, int32_t after, int64_t now_ns) noexcept nogil
    cdef void _enter(self, int32_t state, int64_t now_ns) noexcept nogil
