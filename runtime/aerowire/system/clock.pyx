"""The operating system's clocks as a ClockPort, and one that moves only when told."""

from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

from aerowire.base.ports cimport ClockPort


cdef inline int64_t read_clock(int which) noexcept nogil:
    cdef timespec now
    clock_gettime(which, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec


cdef class SystemClock(ClockPort):
    """CLOCK_MONOTONIC and CLOCK_REALTIME.  Any thread."""

    cdef int64_t nano_time(self) noexcept nogil:
        return read_clock(CLOCK_MONOTONIC)

    cdef int64_t epoch_ns(self) noexcept nogil:
        return read_clock(CLOCK_REALTIME)


cdef class ManualClock(ClockPort):
    """A clock for literal times.  Changed by: advance() and set(), on the thread that reads it."""

    def __init__(self, *, now_ns=0, epoch_ms=0):
        self._now_ns = now_ns
        self._epoch_ns = epoch_ms * 1000000

    cdef int64_t nano_time(self) noexcept nogil:
        return self._now_ns

    cdef int64_t epoch_ns(self) noexcept nogil:
        return self._epoch_ns

    def advance(self, int64_t by_ns) -> None:
        """Move both clocks forward."""
        self._now_ns += by_ns
        self._epoch_ns += by_ns

    def set(self, *, int64_t now_ns, int64_t epoch_ms) -> None:
        """Move both clocks to these times."""
        self._now_ns = now_ns
        self._epoch_ns = epoch_ms * 1000000
