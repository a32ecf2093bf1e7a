"""What the agents note of one stream in the event log: what is sent again, whom flow control waits for, that it was revoked.

An agent has one only when the log asks for an event of streams. Aeron: DriverLog, UdpChannelTransport.resendHook.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.events cimport (
    DRIVER_EVENT_CODE_FLOW_CONTROL_RECEIVER_ADDED, DRIVER_EVENT_CODE_FLOW_CONTROL_RECEIVER_REMOVED, DRIVER_EVENT_CODE_RESEND,
    EVENT_TEXT_LENGTH_MAX, RECEIVER_EVENT_CHANNEL_OFFSET, RESEND_EVENT_CHANNEL_OFFSET, REVOKE_EVENT_CHANNEL_OFFSET,
    receiver_event_set_channel_length, receiver_event_set_receiver_count, receiver_event_set_receiver_id, receiver_event_set_session_id,
    receiver_event_set_stream_id, resend_event_set_channel_length, resend_event_set_resend_length, resend_event_set_session_id,
    resend_event_set_stream_id, resend_event_set_term_id, resend_event_set_term_offset, revoke_event_set_channel_length,
    revoke_event_set_revoked_position, revoke_event_set_session_id, revoke_event_set_stream_id)


@cython.final
cdef class StreamEvents(GroupWatcher):
    """Writes the events of one publication or image, each only if the log asks for it."""

    def __cinit__(self, EventLog log not None, int32_t session_id, int32_t stream_id, str channel not None):
        """`channel` is that of the stream's endpoint; at most EVENT_TEXT_LENGTH_MAX bytes of it are noted."""
        self._log = log
        self._session_id = session_id
        self._stream_id = stream_id
        self._channel = channel.encode()[:EVENT_TEXT_LENGTH_MAX].decode(errors="ignore").encode()
        self._characters = <const uint8_t*><const char*>self._channel
        self._channel_length = <int32_t>len(self._channel)

    cdef void resend(self, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil:
        cdef uint8_t head[RESEND_EVENT_CHANNEL_OFFSET]
        if not self._log.has(DRIVER_EVENT_CODE_RESEND):
            return
        resend_event_set_session_id(head, self._session_id)
        resend_event_set_stream_id(head, self._stream_id)
        resend_event_set_term_id(head, term_id)
        resend_event_set_term_offset(head, term_offset)
        resend_event_set_resend_length(head, length)
        resend_event_set_channel_length(head, self._channel_length)
        self._log.write(DRIVER_EVENT_CODE_RESEND, head, RESEND_EVENT_CHANNEL_OFFSET, self._characters, self._channel_length)

    cdef void revoked(self, int32_t code, int64_t position) noexcept nogil:
        cdef uint8_t head[REVOKE_EVENT_CHANNEL_OFFSET]
        if not self._log.has(code):
            return
        revoke_event_set_revoked_position(head, position)
        revoke_event_set_session_id(head, self._session_id)
        revoke_event_set_stream_id(head, self._stream_id)
        revoke_event_set_channel_length(head, self._channel_length)
        self._log.write(code, head, REVOKE_EVENT_CHANNEL_OFFSET, self._characters, self._channel_length)

    cdef void on_receiver_added(self, int64_t receiver_id, int count) noexcept nogil:
        self._note_receiver(DRIVER_EVENT_CODE_FLOW_CONTROL_RECEIVER_ADDED, receiver_id, count)

    cdef void on_receiver_removed(self, int64_t receiver_id, int count) noexcept nogil:
        self._note_receiver(DRIVER_EVENT_CODE_FLOW_CONTROL_RECEIVER_REMOVED, receiver_id, count)

    cdef void _note_receiver(self, int32_t code, int64_t receiver_id, int count) noexcept nogil:
        cdef uint8_t head[RECEIVER_EVENT_CHANNEL_OFFSET]
        if not self._log.has(code):
            return
        receiver_event_set_receiver_id(head, receiver_id)
        receiver_event_set_session_id(head, self._session_id)
        receiver_event_set_stream_id(head, self._stream_id)
        receiver_event_set_receiver_count(head, count)
        receiver_event_set_channel_length(head, self._channel_length)
        self._log.write(code, head, RECEIVER_EVENT_CHANNEL_OFFSET, self._characters, self._channel_length)
