"""A socket that publications of one channel send on. It knows bytes and peers, not what the frames mean."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cimport cython

from aerowire.codecs.native.counters cimport SYSTEM_COUNTER_SHORT_SENDS
from aerowire.base.ports cimport Datagram, DatagramPort, datagram_to_peer
from aerowire.driver.events cimport ERROR_SEND_FAILED
from aerowire.driver.system_counters cimport SystemCounters
from aerowire.ipc.counters cimport counter_atomic_add

PUBLICATIONS_MAX = 65536            # of one endpoint


@cython.final
cdef class SendEndpoint(ChannelEndpoint):
    """The peer is the one that `port` is connected to. Used by the sender until the event SEND_ENDPOINT_REMOVED."""

    def __cinit__(self, DatagramPort port not None, SystemCounters system not None, *, int32_t ttl=0, bint group=False, str channel=""):
        self._set_up(port, system, ttl, channel)
        self.publications = PointerMap(PUBLICATIONS_MAX)
        self.group = group

    cdef int send(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil:
        cdef int taken = self._port.send(items, count)
        cdef int sent = 0
        if taken < 0:
            self.report(ERROR_SEND_FAILED, -taken, 0, now_ns)
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
        datagram_to_peer(&item, frame, length)
        return self.send(&item, 1, &bytes_sent, now_ns) == 1
