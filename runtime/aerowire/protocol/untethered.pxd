# How long a stream waits for a subscriber that it does not have to wait for.

cimport cython
from libc.stdint cimport int64_t

cdef enum:
    UNTETHERED_ACTIVE = 0       # counted among the stream's subscribers
    UNTETHERED_LINGER = 1       # told that its image is gone, still counted: it may be reading what it had
    UNTETHERED_RESTING = 2      # not counted
    UNTETHERED_ENDED = 3        # does not come back


@cython.final
cdef class UntetheredTimes:
    """The timeouts of one stream's untethered subscribers. Stateless: a subscriber's state and time are its caller's."""

    cdef readonly int64_t window_limit_ns
    cdef readonly int64_t linger_ns
    cdef readonly int64_t resting_ns

    # The state that follows; `since_ns` is moved to now while an active subscriber keeps up. Does not move on a change of state.
    cdef int next_state(self, int state, int64_t* since_ns, bint keeps_up, bint rejoins, int64_t now_ns) noexcept nogil
