"""Appends to a leader's log: messages of sessions, and what the conductor has encoded. Aeron: LogPublisher.

What the conductor wants appended goes in order, before ingress of the same cycle. Where the log pushes back it waits, and ingress behind
it; what ends the log answers all of it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.cluster.agents.agent_events cimport EVENT_MESSAGE_APPENDED
from aerowire.cluster.agents.outbound_message cimport OutboundMessage
from aerowire.codecs.native.cluster cimport (
    SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SBE_SCHEMA_VERSION, SESSION_MESSAGE_HEADER_BLOCK_LENGTH, SESSION_MESSAGE_HEADER_TEMPLATE_ID,
    header_set_block_length, header_set_schema_id, header_set_template_id, header_set_version,
    session_message_header_set_cluster_session_id, session_message_header_set_leadership_term_id, session_message_header_set_timestamp)
from aerowire.logbuffer.append cimport Part
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_CLOSED, OFFER_MAX_POSITION_EXCEEDED, OFFER_NOT_CONNECTED, compute_framed_length)

cdef enum:
    SEND_ATTEMPTS = 3           # a term may trip once; Aeron has as many
    APPENDS_PER_CYCLE = 64
    NO_LOG = -1


cdef class LogPublisher:
    """The log publication of the term that this member leads.

    Changed by: the agent. Invariant: an OutboundMessage has exactly one final event, and waits in the order of its command until then.
    """

    def __cinit__(self, ClusterAgentEvents events not None):
        self._events = events
        self._waiting = PointerArray()
        header_set_block_length(self._header, <int>SESSION_MESSAGE_HEADER_BLOCK_LENGTH)
        header_set_template_id(self._header, <int>SESSION_MESSAGE_HEADER_TEMPLATE_ID)
        header_set_schema_id(self._header, <int>SBE_SCHEMA_ID)
        header_set_version(self._header, <int>SBE_SCHEMA_VERSION)

    cdef void connect(self, LentPublication publication) noexcept nogil:
        self._publication = <void*>publication
        self.fault = 0

    cdef void disconnect(self) noexcept nogil:
        if self._publication is not NULL:
            (<LentPublication>self._publication).give_back()
            self._publication = NULL
        self.fault = OFFER_CLOSED
        self._stale = self._waiting.count

    cdef void look(self) noexcept nogil:
        if self._publication is not NULL and not (<LentPublication>self._publication).is_out():
            self.disconnect()

    cdef int64_t append_message(self, int64_t leadership_term_id, int64_t cluster_session_id, int64_t timestamp, const uint8_t* payload,
                                int64_t length) noexcept nogil:
        cdef uint8_t* block = self._header + SBE_HEADER_LENGTH
        cdef Part parts[2]
        cdef int64_t result = OFFER_CLOSED
        cdef int attempt
        if self._publication is NULL:
            return OFFER_CLOSED
        session_message_header_set_leadership_term_id(block, leadership_term_id)
        session_message_header_set_cluster_session_id(block, cluster_session_id)
        session_message_header_set_timestamp(block, timestamp)
        parts[0].address = self._header
        parts[0].length = SESSION_HEADER_LENGTH
        parts[1].address = payload
        parts[1].length = length
        for attempt in range(SEND_ATTEMPTS):
            result = (<LentPublication>self._publication).offer_parts(parts, 2, NULL, NULL)
            if result != OFFER_ADMIN_ACTION:
                break
        return self._note(result)

    cdef void append_later(self, void* message) noexcept nogil:
        if self._waiting.count >= APPENDS_MAX or not self._waiting.add(message):
            self._events.post(EVENT_MESSAGE_APPENDED, message, OFFER_BACK_PRESSURED, 0)

    cdef int append_waiting(self, int64_t timestamp) noexcept nogil:
        cdef int64_t result
        cdef int done = 0
        while self._waiting.count > 0 and done < APPENDS_PER_CYCLE and self._events.can_answer():
            result = OFFER_CLOSED if self._stale > 0 else self._append(<OutboundMessage>self._waiting.items[0], timestamp)
            if result == OFFER_BACK_PRESSURED or result == OFFER_NOT_CONNECTED or result == OFFER_ADMIN_ACTION:
                break
            self._stale -= self._stale > 0
            if result > 0:
                (<OutboundMessage>self._waiting.items[0]).open_session()
            self._events.post(EVENT_MESSAGE_APPENDED, self._waiting.items[0], result, timestamp)
            self._waiting.remove_at(0)
            done += 1
        return done

    cdef bint has_waiting(self) noexcept nogil:
        return self._waiting.count > 0

    cdef int64_t position(self) noexcept nogil:
        return NO_LOG if self._publication is NULL else (<LentPublication>self._publication).position()

    cdef int64_t _append(self, OutboundMessage message, int64_t timestamp) noexcept nogil:
        cdef int64_t result = OFFER_CLOSED
        cdef int64_t framed_length
        cdef int attempt
        if self._publication is NULL:
            return OFFER_CLOSED
        framed_length = compute_framed_length(message.length, (<LentPublication>self._publication).max_payload_length)
        for attempt in range(SEND_ATTEMPTS):
            message.stamp((<LentPublication>self._publication).position() + framed_length, timestamp)
            result = (<LentPublication>self._publication).offer(message.address, message.length, NULL, NULL)
            if result != OFFER_ADMIN_ACTION:
                break
        return self._note(result)

    cdef int64_t _note(self, int64_t result) noexcept nogil:
        if result == OFFER_CLOSED or result == OFFER_MAX_POSITION_EXCEEDED:
            self.fault = result
        return result
