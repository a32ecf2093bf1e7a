"""When an image tells its sender how far it is. Two halves, because consumption and sending belong to two threads."""

from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.base.wrapping cimport wrapping_add_long
from aerowire.protocol.congestion_control cimport window_threshold


@cython.final
cdef class ConsumptionSchedule:
    """Decides that consumption moved far enough, or the window changed. Aeron: PublicationImage.trackRebuild."""

    def __cinit__(self, *, int64_t position, int32_t window_length):
        self.position = position
        self.window_length = window_length

    cpdef bint poll_change(self, int64_t consumption_position, int32_t window_length, bint force) noexcept nogil:
        """Take the slowest subscriber's position and the window; return True when the sender is to be told."""
        if (force or window_length != self.window_length
                or consumption_position > wrapping_add_long(self.position, window_threshold(window_length))):
            self.position = consumption_position
            self.window_length = window_length
            return True
        return False


@cython.final
cdef class StatusTimer:
    """Sends on a change and each `timeout_ns` without one. Aeron: PublicationImage.sendPendingStatusMessage."""

    def __cinit__(self, *, int64_t timeout_ns, int64_t now_ns):
        self._timeout_ns = timeout_ns
        self.deadline_ns = now_ns
        self.enabled = True

    cpdef bint timed_out(self, int64_t now_ns) noexcept nogil:
        """Return True when the timer alone calls for a message."""
        return self.enabled and self.deadline_ns - now_ns <= 0

    cpdef bint due(self, int64_t change, int64_t now_ns) noexcept nogil:
        """Return True when a message is due: `change` numbers what there is to tell."""
        return change != self.last_change or self.timed_out(now_ns)

    cpdef void on_sent(self, int64_t change, int64_t now_ns) noexcept nogil:
        """A message that told `change` was sent."""
        self.last_change = change
        self.deadline_ns = now_ns + self._timeout_ns

    cpdef void expire(self, int64_t now_ns) noexcept nogil:
        """Let the next message go out at once."""
        self.deadline_ns = now_ns

    cpdef void disable(self) noexcept nogil:
        """Send no more on the timer."""
        self.enabled = False
