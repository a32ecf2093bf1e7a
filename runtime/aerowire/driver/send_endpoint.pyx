"""A socket that publications of one channel send on. It knows bytes and peers, not what the frames mean."""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memset

cimport cython

from aerowire.codecs.native.counters cimport SYSTEM_COUNTER_SHORT_SENDS
from aerowire.driver.events cimport ERROR_SEND_FAILED
from aerowire.ipc.counters cimport counter_atomic_add

PUBLICATIONS_MAX = 65536            # of one endpoint
cdef int64_t ERROR_INTERVAL_NS = 1_000_000_000  # the same failure of one socket is reported at most this often


@cython.final
cdef class SendEndpoint:
    """One per canonical channel. The peer is the one that `port` is connected to.

    Created by the registrar, used by the sender between add_endpoint and the event SEND_ENDPOINT_REMOVED, then closed.
    """

    def __cinit__(self, DatagramPort port not None, SystemCounters system not None, *, int32_t ttl=0, bint group=False, str channel=""):
        self._port = port
        self._system = system
        self.publications = PointerMap(PUBLICATIONS_MAX)
        self.group = group
        self.ttl = ttl
        self.channel = channel
        self._last_error_ns = INT64_MIN // 2

    cdef int send(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil:
        cdef int taken = self._port.send(items, count)
        cdef int sent = 0
        if taken < 0:
            self.report(ERROR_SEND_FAILED, -taken, now_ns)
            taken = 0
        while sent < taken and items[sent].result >= items[sent].length:
            bytes_sent[0] += items[sent].length
            sent += 1
        if sent < count:
            counter_atomic_add(self._system.address[SYSTEM_COUNTER_SHORT_SENDS], 1)
        return sent

    cdef bint send_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil:
        cdef Datagram item
        cdef int64_t bytes_sent = 0
        memset(&item, 0, sizeof(Datagram))
        item.buffer = frame
        item.length = length
        return self.send(&item, 1, &bytes_sent, now_ns) == 1

    cdef void report(self, int code, int error, int64_t now_ns) noexcept nogil:
        if self.events is None or (error == self._last_error and now_ns - self._last_error_ns < ERROR_INTERVAL_NS):
            return
        if self.events.report(<void*>self, code, error, 0):
            self._last_error = error
            self._last_error_ns = now_ns

    def close(self) -> None:
        """Close the socket. Only after SEND_ENDPOINT_REMOVED, or when the endpoint was never added to a sender."""
        close = getattr(self._port, "close", None)
        if close is not None:
            close()

    @property
    def port(self):
        """The DatagramPort."""
        return self._port

    @property
    def local_address(self):
        """(host, port) that the socket is bound to."""
        return self._port.local_address
