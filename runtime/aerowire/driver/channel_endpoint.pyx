"""What sending and receiving endpoints share: a socket, whose it is, and how its failures are told."""

from libc.stdint cimport INT64_MIN, int32_t, int64_t

cdef int64_t ERROR_INTERVAL_NS = 1_000_000_000  # the same failure of one endpoint is reported at most this often


cdef class ChannelEndpoint:
    """One per canonical channel and direction.

    Created by the registrar, used by its agent between add_endpoint and the event that says that it was removed, then closed.
    """

    cdef int _set_up(self, DatagramPort port, SystemCounters system, int32_t ttl, str channel) except -1:
        self._port = port
        self._system = system
        self.ttl = ttl
        self.channel = channel
        self._last_error_ns = INT64_MIN // 2
        return 0

    cdef void report(self, int code, int64_t a, int64_t b, int64_t now_ns) noexcept nogil:
        cdef bint is_repeated = code == self._last_error_code and a == self._last_error
        if self.events is None or (is_repeated and now_ns - self._last_error_ns < ERROR_INTERVAL_NS):
            return
        if self.events.report(<void*>self, code, a, b):
            self._last_error_code = code
            self._last_error = a
            self._last_error_ns = now_ns

    def close(self) -> None:
        """Close the socket. Only when no agent uses the endpoint: after the event of its removal, or when it was never added."""
        self._port.close()

    @property
    def port(self):
        """The DatagramPort; None for a multi-destination endpoint."""
        return self._port

    @property
    def local_address(self):
        """(host, port) that the socket is bound to; None without one."""
        return None if self._port is None else self._port.local_address
