# Which streams and sessions a receive endpoint wants, and what it knows of each session.

cimport cython
from libc.stdint cimport int32_t, int64_t, uintptr_t
from aerowire.protocol.admission cimport SessionAdmission
from aerowire.protocol.pointer_map cimport PointerEntry, PointerMap

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
    DISPATCH_LIMIT = 4          # a limit is reached: `refusal` says which
    DISPATCH_BUSY = 5           # as many images as may be are being made: the source asks again

cdef enum:
    REFUSAL_SESSIONS = 1        # sessions of one stream
    REFUSAL_IMAGES = 2          # images of the endpoint
    REFUSAL_RATE = 3            # images that the endpoint makes in a second
    REFUSAL_TABLE = 4           # sessions that are remembered
    REFUSAL_ASKING = 5          # set-ups that the endpoint asks for in a second

cdef enum:
    DISPATCHER_STREAMS_MAX = 65536    # of one endpoint
    DISPATCHER_SESSIONS_MAX = 65536   # remembered sessions of one endpoint: a flood of made-up sessions ends here
    # Images of one endpoint that are being made at once: each takes the conductor up to 1 ms, so that another endpoint's set-up waits
    # for 64 ms at most. Of a thousand streams that begin together, some 70 are served in each round of set-ups, 100 ms apart.
    IMAGES_BEING_MADE_MAX = 64
    # Set-ups that one endpoint asks for in a second, on account of data without one: a subscriber that starts again behind four thousand
    # running streams asks all of them at once, and an attacker gets no more answers than this.
    SETUP_REQUESTS_PER_SECOND = 4096
    EVICTION_STEPS = 256            # remembered sessions that are looked at to find one that can be forgotten


@cython.final
cdef class DataPacketDispatcher:
    """One receive endpoint's subscriptions and sessions, on the receiver's thread. Images are opaque non-zero tokens."""

    cdef PointerMap _streams        # stream -> state: 1 all sessions, 0 only subscribed ones; value: count of subscribed sessions + 1
    cdef PointerMap _subscribed     # (stream, session) subscribed one by one
    cdef PointerMap _sessions       # (stream, session) -> state, image
    cdef PointerMap _places         # stream -> state: images it has, and those that are being made for it; value: the latter + 1
    cdef SessionAdmission _making   # of images
    cdef SessionAdmission _asking   # for set-ups
    cdef int64_t _session_limit
    cdef int64_t _image_limit
    cdef int _orphan_cursor
    cdef int _eviction_cursor
    cdef readonly int64_t image_count       # images, and those that are being made
    cdef readonly int64_t being_made        # sessions that wait for their image
    cdef readonly uintptr_t image   # of DISPATCH_IMAGE and of poll_orphan
    cdef readonly int refusal       # of DISPATCH_LIMIT

    cpdef bint add_stream(self, int32_t stream_id) noexcept nogil
    cpdef bint add_session(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef bint remove_stream(self, int32_t stream_id) noexcept nogil
    cpdef bint remove_session(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef bint poll_orphan(self) noexcept nogil
    cpdef int on_data(self, int32_t stream_id, int32_t session_id, bint end_of_stream, int64_t now_ns=*) noexcept nogil
    cpdef int on_setup(self, int32_t stream_id, int32_t session_id, int64_t now_ns=*) noexcept nogil
    cpdef uintptr_t find_image(self, int32_t stream_id, int32_t session_id) noexcept nogil
    cpdef bint add_image(self, int32_t stream_id, int32_t session_id, uintptr_t image) noexcept nogil
    cpdef void remove_image(self, int32_t stream_id, int32_t session_id, uintptr_t image, bint end_of_stream) noexcept nogil
    cpdef void forget_session(self, int32_t stream_id, int32_t session_id, int state) noexcept nogil
    cpdef bint is_empty(self) noexcept nogil
    cdef bint _wanted(self, int32_t stream_id, int32_t session_id, int all_sessions) noexcept nogil
    cdef int _limit_reached(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil
    cdef bint _is_busy(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil
    cdef void _count_making(self, int32_t stream_id, int change) noexcept nogil
    cdef bint _set_state(self, int64_t key, int state) noexcept nogil
    cdef PointerEntry* _put(self, int64_t key, void* value) noexcept nogil
    cdef bint _evict(self) noexcept nogil
    cdef void _remove(self, PointerEntry* session) noexcept nogil
    cdef void _take_place(self, int32_t stream_id) noexcept nogil
    cdef void _leave_place(self, int32_t stream_id) noexcept nogil
    cdef void _forget_stream(self, int32_t stream_id) noexcept nogil
