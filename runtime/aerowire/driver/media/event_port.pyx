"""A port around another that notes what passes in the event log: datagrams, and NAKs by a name of their own. Aeron: DriverLog.logFrameIn."""

cimport cython
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from aerowire.base.address cimport AF_INET6, Address, address_family, address_from, address_ip, address_port
from aerowire.base.ports cimport Datagram, DatagramPort, datagram_step
from aerowire.codecs.native.events cimport (
    DRIVER_EVENT_CODE_FRAME_IN, DRIVER_EVENT_CODE_FRAME_OUT, DRIVER_EVENT_CODE_NAK_RECEIVED, DRIVER_EVENT_CODE_NAK_SENT,
    EVENT_FRAME_LENGTH_MAX, FRAME_EVENT_ADDRESS_OFFSET, FRAME_EVENT_FRAME_OFFSET, frame_event_set_address_length,
    frame_event_set_datagram_length, frame_event_set_kept_length, frame_event_set_port)
from aerowire.codecs.native.transport cimport (
    ADDRESS_LENGTH_IP4, ADDRESS_LENGTH_IP6, FRAME_TYPE_NAK, NAK_LENGTH, frame_header_type)


@cython.final
cdef class EventPort(OuterPort):
    """Put around a socket only when the event log has frames or NAKs to note. Belongs to the endpoint's agent."""

    def __cinit__(self, DatagramPort inner not None, EventLog log not None, *, remote=None):
        self.inner = inner
        self._log = log
        address_from(&self._remote, remote)

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        cdef int sent = self.inner.send(items, count)
        cdef int i
        for i in range(sent):
            if items[i].result >= items[i].length:
                self._note(DRIVER_EVENT_CODE_FRAME_OUT, DRIVER_EVENT_CODE_NAK_SENT, &items[i])
        return sent

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        cdef int received = self.inner.receive(items, count)
        cdef int i
        for i in range(received):
            self._note(DRIVER_EVENT_CODE_FRAME_IN, DRIVER_EVENT_CODE_NAK_RECEIVED, &items[i])
        return received

    cdef int rebind(self, const Address* remote) noexcept nogil:
        self._remote = remote[0]
        return self.inner.rebind(remote)

    cdef void _note(self, int32_t frame_code, int32_t nak_code, const Datagram* item) noexcept nogil:
        # The kernel joins datagrams of one length that arrive together; they are noted one by one.
        cdef const Address* peer = &item.address if item.address.length else &self._remote
        cdef int32_t step = datagram_step(item)
        cdef int32_t offset = 0, length
        while offset < item.length:
            length = min(step, item.length - offset)
            if self._log.has(frame_code):
                self._note_frame(frame_code, peer, item.buffer + offset, length)
            if length >= NAK_LENGTH and frame_header_type(item.buffer + offset) == FRAME_TYPE_NAK and self._log.has(nak_code):
                self._note_frame(nak_code, peer, item.buffer + offset, length)
            offset += step

    cdef void _note_frame(self, int32_t code, const Address* peer, const uint8_t* frame, int32_t length) noexcept nogil:
        cdef uint8_t head[FRAME_EVENT_FRAME_OFFSET]
        cdef int32_t kept = min(length, <int32_t>EVENT_FRAME_LENGTH_MAX)
        cdef int32_t address_length = 0
        memset(head + FRAME_EVENT_ADDRESS_OFFSET, 0, ADDRESS_LENGTH_IP6)
        if peer.length:
            address_length = ADDRESS_LENGTH_IP6 if address_family(peer) == AF_INET6 else ADDRESS_LENGTH_IP4
            memcpy(head + FRAME_EVENT_ADDRESS_OFFSET, address_ip(peer), address_length)
        frame_event_set_address_length(head, address_length)
        frame_event_set_port(head, address_port(peer))
        frame_event_set_datagram_length(head, length)
        frame_event_set_kept_length(head, kept)
        self._log.write(code, head, FRAME_EVENT_FRAME_OFFSET, frame, kept)
