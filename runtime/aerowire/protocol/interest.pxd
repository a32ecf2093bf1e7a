# Which streams and sessions a receive endpoint wants, and what it knows of each session.

cimport cython
from libc.stdint cimport int32_t, int64_t, uintptr_t
from aerowire.protocol.pointer_map cimport PointerMap

cdef enum:
    SESSION_NONE = 0
    SESSION_ACTIVE = 1          # the pointer is its image
    SESSION_PENDING_SETUP = 2   # data came, a set-up was asked for
    SESSION_INIT_IN_PROGRESS = 3
    SESSION_COOL_DOWN = 4       # its image ended, it must not join again yet

cdef enum:
    DISPATCH_DROP = 0
    DISPATCH_IMAGE = 1          # `image` takes it
    DISPATCH_ELICIT = 2         # ask the source for a set-up
    DISPATCH_CREATE = 3         # make an image
    DISPATCH_LIMIT = 4          # more sessions than allowed

cdef enum:
    INTEREST_STREAMS_MAX = 65536    # of one endpoint
    INTEREST_SESSIONS_MAX = 65536   # remembered sessions of one endpoint: a flood of made-up sessions ends here


@cython.final
cdef class InterestTable:
    """One receive endpoint's subscriptions and sessions, on the receiver's thread. Images are opaque non-zero tokens."""

    cdef PointerMap _streams        # stream -> state: 1 all sessions, 0 only subscribed ones; value: count of subscribed sessions + 1
    cdef PointerMap _subscribed     # (stream, session) subscribed one by one
    cdef PointerMap _sessions       # (stream, session) -> state, image
    cdef int64_t _session_limit
    cdef readonly uintptr_t image   # of DISPATCH_IMAGE and of poll_orphan

    cpdef bint add_stream(self, int32_t stream_id) noexcept nogil
    cpdef bint add_session(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef bint remove_stream(self, int32_t stream_id) noexcept nogil
    cpdef bint remove_session(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef bint poll_orphan(self) noexcept nogil
    cpdef int on_data(self, int32_t stream_id, int32_t session_id, bint end_of_stream) noexcept nogil
    cpdef int on_setup(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef uintptr_t find_image(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef bint add_image(self, int32_t stream_id, int32_t session_id, uintptr_t image) noexcept nogil
    cpdef void remove_image(self, int32_t stream_id, int32_t session_id, uintptr_t image, bint end_of_stream) noexcept nogil
    cpdef void forget_session(self, int32_t stream_id, int32_t session_id, int state) noexcept nogil
    cpdef bint is_empty(self) noexcept nogil
    cdef bint _wanted(self, int32_t stream_id, int32_t session_id, int all_sessions) noexcept nogil
    cdef int64_t _active_sessions(self, int32_t stream_id) noexcept nogil
    cdef void _set_state(self, int64_t key, int state) noexcept nogil
