# How many sessions that were not known before the network may bring in a second.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.protocol.pointer_map cimport PointerMap

cdef enum:
    ADMISSION_STREAMS_MAX = 65536       # streams with a share of their own; further ones share what is left
    RECENT_SESSIONS = 4096              # sessions that are remembered after a refusal; a power of two
    # A sender repeats its set-up every 100 ms. What comes again sooner than REPEAT_MIN_NS is a duplicate of the same datagram.
    REPEAT_MIN_NS = 50_000_000
    REPEAT_MAX_NS = 2_000_000_000

cdef struct RecentSession:
    int64_t key
    int64_t refused_ns


@cython.final
cdef class SessionAdmission:
    """SessionAdmission(rate=n): at most n sessions a second, 0 for no limit."""

    cdef PointerMap _streams            # stream -> when its share is empty again, in ns
    cdef RecentSession* _recent         # NULL until the first refusal
    cdef int64_t _interval_ns
    cdef int64_t _empty_ns              # when the whole bucket is empty again

    cpdef bint admit(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil
    cpdef void forget_stream(self, int32_t stream_id) noexcept nogil
    cpdef bint is_repeated(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil
