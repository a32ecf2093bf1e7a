"""How long a stream waits for a subscriber that it does not have to wait for. Knows times and facts, not positions or counters."""

from libc.stdint cimport int64_t

cimport cython

from enum import IntEnum


class UntetheredState(IntEnum):
    """ACTIVE -> LINGER (too far behind) -> RESTING -> ACTIVE, or LINGER -> ENDED when it does not rejoin."""

    ACTIVE = UNTETHERED_ACTIVE
    LINGER = UNTETHERED_LINGER
    RESTING = UNTETHERED_RESTING
    ENDED = UNTETHERED_ENDED


@cython.final
cdef class UntetheredTimes:
    """Aeron: UntetheredSubscription, checkUntetheredSubscriptions. Times in ns."""

    def __cinit__(self, *, int64_t window_limit_ns=5_000_000_000, int64_t linger_ns=5_000_000_000, int64_t resting_ns=10_000_000_000):
        self.window_limit_ns = window_limit_ns
        self.linger_ns = linger_ns
        self.resting_ns = resting_ns

    cdef int next_state(self, int state, int64_t* since_ns, bint keeps_up, bint rejoins, int64_t now_ns) noexcept nogil:
        if state == UNTETHERED_ACTIVE:
            if keeps_up:
                since_ns[0] = now_ns
            elif since_ns[0] + self.window_limit_ns - now_ns <= 0:
                return UNTETHERED_LINGER
        elif state == UNTETHERED_LINGER:
            if since_ns[0] + self.linger_ns - now_ns <= 0:
                return UNTETHERED_RESTING if rejoins else UNTETHERED_ENDED
        elif state == UNTETHERED_RESTING:
            if since_ns[0] + self.resting_ns - now_ns <= 0:
                return UNTETHERED_ACTIVE
        return state

    def step(self, int state, int64_t since_ns, *, bint keeps_up, bint rejoins, int64_t now_ns):
        """Return the state after a look at `now_ns`, and since when it holds."""
        cdef int after = self.next_state(state, &since_ns, keeps_up, rejoins, now_ns)
        return UntetheredState(after), now_ns if after != state else since_ns
