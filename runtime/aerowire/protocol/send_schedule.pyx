"""When a sender sends set-up frames and heartbeats. It does not know what is in them."""

from libc.stdint cimport INT64_MAX, int64_t

cimport cython


@cython.final
cdef class SendSchedule:
    """Timers of one publication. Aeron: NetworkPublication.setupMessageCheck, heartbeatMessageCheck.

    Set-ups go out each `setup_timeout_ns` until the first status message, and at most that often when a receiver asks again; what
    was asked for is answered until there are receivers. Heartbeats start with the first status message and follow
    `heartbeat_timeout_ns` after the last data or heartbeat; set-ups do not put them off.
    """

    def __cinit__(self, *, int64_t setup_timeout_ns, int64_t heartbeat_timeout_ns, int64_t now_ns):
        self._setup_timeout_ns = setup_timeout_ns
        self._heartbeat_timeout_ns = heartbeat_timeout_ns
        self._last_setup_ns = now_ns - setup_timeout_ns
        self._last_sent_ns = now_ns - heartbeat_timeout_ns

    cpdef bint setup_due(self, int64_t now_ns) noexcept nogil:
        """Return True when a SETUP is to be sent now."""
        return ((not self.has_initial_connection or self.is_setup_elicited)
                and self._last_setup_ns + self._setup_timeout_ns - now_ns <= 0)

    cpdef void on_setup_sent(self, int64_t now_ns, bint has_receivers) noexcept nogil:
        """A SETUP was sent, or the socket refused it."""
        self._last_setup_ns = now_ns
        if has_receivers:
            self.is_setup_elicited = False

    cpdef bint heartbeat_due(self, int64_t now_ns) noexcept nogil:
        """Return True when a heartbeat is to be sent, if no data is."""
        return self.has_initial_connection and self._last_sent_ns + self._heartbeat_timeout_ns - now_ns <= 0

    cpdef void on_sent(self, int64_t now_ns) noexcept nogil:
        """Data or a heartbeat was sent."""
        self._last_sent_ns = now_ns

    cpdef void on_status_message(self) noexcept nogil:
        """A receiver reported: the connection is made."""
        self.has_initial_connection = True

    cpdef void on_setup_elicited(self) noexcept nogil:
        """A receiver asked for a SETUP."""
        self.is_setup_elicited = True

    cpdef int64_t next_deadline_ns(self) noexcept nogil:
        """Return when a SETUP or heartbeat is due next."""
        cdef int64_t deadline = INT64_MAX
        if not self.has_initial_connection or self.is_setup_elicited:
            deadline = self._last_setup_ns + self._setup_timeout_ns
        if self.has_initial_connection and self._last_sent_ns + self._heartbeat_timeout_ns < deadline:
            deadline = self._last_sent_ns + self._heartbeat_timeout_ns
        return deadline
