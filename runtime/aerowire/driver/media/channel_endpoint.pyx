"""What sending and receiving endpoints share: a socket, whose it is, and how its failures are told."""

from libc.stdint cimport INT64_MIN, int32_t, int64_t


cdef int64_t ERROR_INTERVAL_NS = 1_000_000_000  # a kind of failure of one endpoint is reported at most this often with the same first detail
cdef int REPORTS_PER_INTERVAL = 16              # of one endpoint, whatever they say: a peer must not fill the queue of events with them


cdef class ChannelEndpoint:
    """One per canonical channel and direction.

    Created by the conductor, used by its agent between add_endpoint and the event that says that it was removed, then closed.
    """

    cdef int set_up(self, DatagramPort port, SystemCounters system, EventQueue events, int32_t ttl, str channel) except -1:
        cdef int i
        self.port = port
        self.system = system
        self.events = events
        self.ttl = ttl
        self.channel = channel
        self._reports_since_ns = INT64_MIN // 2
        for i in range(ERROR_CODES_MAX):
            self._last_error_ns[i] = INT64_MIN // 2
        return 0

    cdef void report(self, int code, int64_t a, int64_t b, int64_t now_ns) noexcept nogil:
        cdef bint is_repeated = a == self._last_error[code] and now_ns - self._last_error_ns[code] < ERROR_INTERVAL_NS
        if self.events is None or is_repeated:
            return
        if now_ns - self._reports_since_ns >= ERROR_INTERVAL_NS:
            self._reports_since_ns = now_ns
            self._reports = 0
        if self._reports < REPORTS_PER_INTERVAL and self.events.report(<void*>self, code, a, b):
            self._reports += 1
            self._last_error[code] = a
            self._last_error_ns[code] = now_ns

    def close(self) -> None:
        """Close the socket. Only when no agent uses the endpoint: after the event of its removal, or when it was never added."""
        self.port.close()

    @property
    def local_address(self):
        """(host, port) that the socket is bound to; None without one."""
        return None if self.port is None else self.port.local_address
