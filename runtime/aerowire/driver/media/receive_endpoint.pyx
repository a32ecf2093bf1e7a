"""The sockets that images receive on, and from which their answers go out. It knows frames' forms and peers, not images."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cimport cython

from aerowire.base.ports cimport Datagram, DatagramPort, datagram_to_peer
from aerowire.codecs.native.counters cimport SYSTEM_COUNTER_ERROR_FRAMES_SENT, SYSTEM_COUNTER_SHORT_SENDS
from aerowire.codecs.native.transport cimport ERROR_FRAME_LENGTH_MAX, GROUP_TAG_LENGTH, NAK_LENGTH, RESPONSE_SETUP_LENGTH, RTTM_LENGTH, SM_FLAGS_SEND_SETUP, STATUS_MESSAGE_LENGTH
from aerowire.driver.queues.events cimport ERROR_SEND_FAILED, EventQueue
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.ipc.counters cimport counter_atomic_add
from aerowire.protocol.frame_build cimport build_error, build_nak, build_response_setup, build_rttm, build_status_message


@cython.final
cdef class ReceiveEndpoint(ChannelEndpoint):
    """`receiver_id` tells senders their receivers apart. Used by the receiver until the event RECEIVE_ENDPOINT_REMOVED.

    With a port it has one transport, of index 0, from the start; without one it is a multi-destination endpoint, whose transports come
    and go. Aeron: ReceiveChannelEndpoint, MultiRcvDestination.
    """

    def __cinit__(self, DatagramPort port, SystemCounters system not None, *, int64_t receiver_id, group_tag=None,
                  stream_session_limit=None, image_limit=None, int64_t image_rate=0, multicast_control=None, explicit_control=None, bint named_control=False,
                  int32_t ttl=0, str channel="", EventQueue events=None):
        self.set_up(port, system, events, ttl, channel)
        self.dispatcher = DataPacketDispatcher(session_limit=stream_session_limit, image_limit=image_limit, image_rate=image_rate)
        self.receiver_id = receiver_id
        self.has_group_tag = group_tag is not None
        self.group_tag = 0 if group_tag is None else group_tag
        self.is_multi_destination = port is None
        self._held = {}
        if port is not None:
            transport = ReceiveTransport(port, multicast_control=multicast_control, explicit_control=explicit_control,
                                         named_control=named_control, ttl=ttl)
            self.hold(transport)
            self.attach(transport)

    cdef void attach(self, ReceiveTransport transport) noexcept nogil:
        transport.endpoint = <void*>self
        self.transports[transport.index] = <void*>transport
        if transport.index >= self.transport_count:
            self.transport_count = transport.index + 1

    cdef void detach(self, ReceiveTransport transport) noexcept nogil:
        if self.transports[transport.index] is <void*>transport:
            self.transports[transport.index] = NULL

    cdef bint has_transport(self, int index) noexcept nogil:
        return index < self.transport_count and self.transports[index] is not NULL

    cdef bint send_frame(self, int index, uint8_t* frame, int32_t length, const Address* to, int64_t now_ns) noexcept nogil:
        cdef Datagram item
        cdef int sent
        if not self.has_transport(index):
            return False
        datagram_to_peer(&item, frame, length)
        item.address = (<ReceiveTransport>self.transports[index]).control_of(to)[0]
        sent = (<ReceiveTransport>self.transports[index]).port.send(&item, 1)
        if sent < 0:
            self.report(ERROR_SEND_FAILED, -sent, 0, now_ns)
        if sent < 1 or item.result < length:
            counter_atomic_add(self.system.address[SYSTEM_COUNTER_SHORT_SENDS], 1)
            return False
        return True

    cdef bint send_status_message(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id,
                                  int32_t term_offset, int32_t window, int flags, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[STATUS_MESSAGE_LENGTH + GROUP_TAG_LENGTH]
        cdef int32_t length = build_status_message(frame, flags, session_id, stream_id, term_id, term_offset, window, self.receiver_id,
                                                   self.has_group_tag, self.group_tag)
        return self.send_frame(index, frame, length, to, now_ns)

    cdef bint send_nak(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id,
                       int32_t term_offset, int32_t length, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[NAK_LENGTH]
        return self.send_frame(index, frame, build_nak(frame, session_id, stream_id, term_id, term_offset, length), to, now_ns)

    cdef bint send_rttm(self, int index, const Address* to, int flags, int32_t session_id, int32_t stream_id,
                        int64_t echo_timestamp_ns, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[RTTM_LENGTH]
        cdef int32_t built = build_rttm(frame, flags, session_id, stream_id, echo_timestamp_ns, 0, self.receiver_id)
        return self.send_frame(index, frame, built, to, now_ns)

    cdef bint send_error(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t error_code,
                         const char* text, int32_t text_length, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[ERROR_FRAME_LENGTH_MAX]
        cdef int32_t length = build_error(frame, session_id, stream_id, self.receiver_id, self.has_group_tag, self.group_tag, error_code,
                                          text, text_length)
        counter_atomic_add(self.system.address[SYSTEM_COUNTER_ERROR_FRAMES_SENT], 1)
        return self.send_frame(index, frame, length, to, now_ns)

    cdef bint send_response_setup(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int32_t response_session_id,
                                  int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[RESPONSE_SETUP_LENGTH]
        return self.send_frame(index, frame, build_response_setup(frame, session_id, stream_id, response_session_id), to, now_ns)

    cdef bint elicit_setup(self, int index, const Address* to, int32_t session_id, int32_t stream_id, int64_t now_ns) noexcept nogil:
        return self.send_status_message(index, to, session_id, stream_id, 0, 0, 0, SM_FLAGS_SEND_SETUP, now_ns)

    def hold(self, ReceiveTransport transport not None) -> None:
        """Keep a transport alive. The conductor calls this BEFORE it puts the command that adds the transport into the receiver's queue."""
        self._held[transport.index] = transport

    def let_go(self, ReceiveTransport transport not None) -> None:
        """Forget a transport that the receiver uses no more. Conductor."""
        if self._held.get(transport.index) is transport:
            del self._held[transport.index]

    def transport(self, int index):
        """Return the transport of an index, None where there is none. Conductor."""
        return self._held.get(index)

    def close(self) -> None:
        """Close every socket. Only when no agent uses the endpoint."""
        for transport in self._held.values():
            transport.close()
        self._held.clear()
