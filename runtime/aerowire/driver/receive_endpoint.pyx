"""A socket that images receive on, and from which their answers go out. It knows frames' forms and peers, not images."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cimport cython

from aerowire.base.address cimport Address, address_from
from aerowire.base.ports cimport Datagram, DatagramPort, datagram_to_peer
from aerowire.codecs.native.counters cimport SYSTEM_COUNTER_ERROR_FRAMES_SENT, SYSTEM_COUNTER_SHORT_SENDS
from aerowire.codecs.native.transport cimport ERROR_FRAME_LENGTH_MAX, GROUP_TAG_LENGTH, NAK_LENGTH, RTTM_LENGTH, SM_FLAGS_SEND_SETUP, STATUS_MESSAGE_LENGTH
from aerowire.driver.events cimport ERROR_SEND_FAILED
from aerowire.driver.system_counters cimport SystemCounters
from aerowire.ipc.counters cimport counter_atomic_add
from aerowire.protocol.frame_build cimport build_error, build_nak, build_rttm, build_status_message


@cython.final
cdef class ReceiveEndpoint(ChannelEndpoint):
    """`receiver_id` tells senders their receivers apart. Used by the receiver until the event RECEIVE_ENDPOINT_REMOVED."""

    def __cinit__(self, DatagramPort port not None, SystemCounters system not None, *, int64_t receiver_id, group_tag=None,
                  stream_session_limit=None, multicast_control=None, explicit_control=None, int32_t ttl=0, str channel=""):
        self._set_up(port, system, ttl, channel)
        self.interest = InterestTable(session_limit=stream_session_limit)
        self.receiver_id = receiver_id
        self.has_group_tag = group_tag is not None
        self.group_tag = 0 if group_tag is None else group_tag
        self.quiet_batch = getattr(port, "batch_min", 1)
        address_from(&self.multicast_control, multicast_control)
        address_from(&self.explicit_control, explicit_control)

    cdef bint send_frame(self, uint8_t* frame, int32_t length, const Address* to, int64_t now_ns) noexcept nogil:
        cdef Datagram item
        cdef int sent
        datagram_to_peer(&item, frame, length)
        item.address = to[0]
        sent = self._port.send(&item, 1)
        if sent < 0:
            self.report(ERROR_SEND_FAILED, -sent, 0, now_ns)
        if sent < 1 or item.result < length:
            counter_atomic_add(self._system.address[SYSTEM_COUNTER_SHORT_SENDS], 1)
            return False
        return True

    cdef bint send_status_message(self, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset,
                                  int32_t window, int flags, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[STATUS_MESSAGE_LENGTH + GROUP_TAG_LENGTH]
        cdef int32_t length = build_status_message(frame, flags, session_id, stream_id, term_id, term_offset, window, self.receiver_id,
                                                   self.has_group_tag, self.group_tag)
        return self.send_frame(frame, length, to, now_ns)

    cdef bint send_nak(self, const Address* to, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset,
                       int32_t length, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[NAK_LENGTH]
        return self.send_frame(frame, build_nak(frame, session_id, stream_id, term_id, term_offset, length), to, now_ns)

    cdef bint send_rttm(self, const Address* to, int flags, int32_t session_id, int32_t stream_id, int64_t echo_timestamp_ns,
                        int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[RTTM_LENGTH]
        return self.send_frame(frame, build_rttm(frame, flags, session_id, stream_id, echo_timestamp_ns, 0, self.receiver_id), to, now_ns)

    cdef bint send_error(self, const Address* to, int32_t session_id, int32_t stream_id, int32_t error_code, const char* text,
                         int32_t text_length, int64_t now_ns) noexcept nogil:
        cdef uint8_t frame[ERROR_FRAME_LENGTH_MAX]
        cdef int32_t length = build_error(frame, session_id, stream_id, self.receiver_id, self.has_group_tag, self.group_tag, error_code,
                                          text, text_length)
        counter_atomic_add(self._system.address[SYSTEM_COUNTER_ERROR_FRAMES_SENT], 1)
        return self.send_frame(frame, length, to, now_ns)

    cdef bint elicit_setup(self, const Address* to, int32_t session_id, int32_t stream_id, int64_t now_ns) noexcept nogil:
        return self.send_status_message(to, session_id, stream_id, 0, 0, 0, SM_FLAGS_SEND_SETUP, now_ns)

    cdef const Address* control_of(self, const Address* source) noexcept nogil:
        if self.multicast_control.length:
            return &self.multicast_control
        return source
