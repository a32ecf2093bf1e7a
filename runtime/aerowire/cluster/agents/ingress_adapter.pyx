"""What clients send to a cluster. Aeron: IngressAdapter, ConsensusModuleAgent.onIngressMessage, onSessionKeepAlive.

Session messages of the term go into the leader's log with a header of its own, keep-alives are noted; both need an open session. All else
is the conductor's, in order: the image of such a message is not read on before the conductor has taken it, so that a message behind a
close request is not appended before the close. Other images go on meanwhile.

Where the log or the conductor has no room a message stays in its image, which holds its publisher up: nothing of it is lost. So does one of
an unknown session while commands wait that may add it: its client may know sooner than the agent that the session is open.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.agents.command_queue cimport CommandQueue
from aerowire.cluster.agents.agent_events cimport EVENT_INGRESS_MESSAGE
from aerowire.cluster.agents.drop_counts cimport (
    DROP_MALFORMED, DROP_NOT_LEADER, DROP_UNKNOWN_SESSION, DROP_UNKNOWN_TEMPLATE, DROP_WRONG_TERM, DropReasonCode)
from aerowire.cluster.agents.log_publisher cimport SESSION_HEADER_LENGTH
from aerowire.cluster.agents.session_table cimport OpenSession
from aerowire.codecs.native.cluster cimport (
    ADMIN_REQUEST_TEMPLATE_ID, CHALLENGE_RESPONSE_TEMPLATE_ID, SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SESSION_CLOSE_REQUEST_TEMPLATE_ID,
    SESSION_CONNECT_REQUEST_TEMPLATE_ID, SESSION_KEEP_ALIVE_BLOCK_LENGTH, SESSION_KEEP_ALIVE_TEMPLATE_ID,
    SESSION_MESSAGE_HEADER_TEMPLATE_ID, header_schema_id, header_template_id, session_keep_alive_cluster_session_id,
    session_keep_alive_leadership_term_id, session_message_header_cluster_session_id, session_message_header_leadership_term_id)
from aerowire.logbuffer.descriptor cimport OFFER_MESSAGE_TOO_LONG

cdef enum:
    NO_LIMIT = 0x7FFFFFFFFFFFFFFF


cdef class IngressAdapter:
    """Reads ingress as long as it is open. Changed by: the agent. Invariant: the sessions are those whose open event is in the log."""

    def __cinit__(self, ClusterAgentEvents events not None, CommandQueue commands not None, LogPublisher publisher not None,
                  DropCounts drops not None, int fragment_limit):
        self._events = events
        self._commands = commands
        self._publisher = publisher
        self._drops = drops
        self._fragment_limit = fragment_limit
        self.sessions = SessionTable()
        self.images = ImageGroup(events)

    cdef int poll(self, int64_t now_ns, int64_t timestamp) noexcept nogil:
        cdef int messages = 0
        cdef int i
        self.images.turn()
        # What waits for the log could not be appended: ingress would not fit either.
        if not self.is_open or self._publisher.has_waiting():
            return 0
        self._now_ns = now_ns
        self._timestamp = timestamp
        for i in range(self.images.count):
            if messages >= self._fragment_limit:
                break
            messages += self._poll_image(<MessageImage>self.images.at(i), self._fragment_limit - messages)
        return messages

    cdef int _poll_image(self, MessageImage image, int limit) noexcept nogil:
        cdef int messages = 0
        while messages < limit and not image.is_held and image.next(NO_LIMIT, self._drops) and self._on_message(image):
            image.take()
            messages += 1
        image.count_read()
        return messages

    cdef bint _on_message(self, MessageImage image) noexcept nogil:
        cdef int template_id
        if image.length < SBE_HEADER_LENGTH:
            return self._drop(DROP_MALFORMED)
        if header_schema_id(image.message) != SBE_SCHEMA_ID:
            return self._hand_over(image)
        template_id = header_template_id(image.message)
        if template_id == SESSION_MESSAGE_HEADER_TEMPLATE_ID:
            return self._on_session_message(image)
        if template_id == SESSION_KEEP_ALIVE_TEMPLATE_ID:
            return self._on_keep_alive(image)
        if (template_id == SESSION_CONNECT_REQUEST_TEMPLATE_ID or template_id == SESSION_CLOSE_REQUEST_TEMPLATE_ID
                or template_id == CHALLENGE_RESPONSE_TEMPLATE_ID or template_id == ADMIN_REQUEST_TEMPLATE_ID):
            return self._hand_over(image)
        return self._drop(DROP_UNKNOWN_TEMPLATE)

    cdef bint _on_session_message(self, MessageImage image) noexcept nogil:
        cdef const uint8_t* block = image.message + SBE_HEADER_LENGTH
        cdef int64_t cluster_session_id, result
        cdef void* session
        cdef bint is_dropped = True
        if image.length < SESSION_HEADER_LENGTH:
            return self._drop(DROP_MALFORMED)
        cluster_session_id = session_message_header_cluster_session_id(block)
        session = self._session(session_message_header_leadership_term_id(block), cluster_session_id, &is_dropped)
        if session is NULL:
            return is_dropped
        result = self._publisher.append_message(self.leadership_term_id, cluster_session_id, self._timestamp,
                                                image.message + SESSION_HEADER_LENGTH, image.length - SESSION_HEADER_LENGTH)
        if result == OFFER_MESSAGE_TOO_LONG:            # the log's terms are shorter than the ingress channel's
            return self._drop(DROP_MALFORMED)
        if result < 0:
            return False
        (<OpenSession>session).touch(self._now_ns)
        return True

    cdef bint _on_keep_alive(self, MessageImage image) noexcept nogil:
        cdef const uint8_t* block = image.message + SBE_HEADER_LENGTH
        cdef void* session
        cdef bint is_dropped = True
        if image.length < SBE_HEADER_LENGTH + SESSION_KEEP_ALIVE_BLOCK_LENGTH:
            return self._drop(DROP_MALFORMED)
        session = self._session(session_keep_alive_leadership_term_id(block), session_keep_alive_cluster_session_id(block), &is_dropped)
        if session is NULL:
            return is_dropped
        (<OpenSession>session).link_image(image.image_id)
        (<OpenSession>session).touch(self._now_ns)
        return True

    cdef bint _hand_over(self, MessageImage image) noexcept nogil:
        if not self._events.post_message(EVENT_INGRESS_MESSAGE, <void*>image, image.message, image.length, image.end_position, 0):
            return False
        image.is_held = True
        return True

    cdef void* _session(self, int64_t leadership_term_id, int64_t cluster_session_id, bint* is_dropped) noexcept nogil:
        # NULL: the message is to be dropped, and was counted; or is to stay
        cdef void* session = NULL
        if not self.is_leader:
            self._drop(DROP_NOT_LEADER)
        elif leadership_term_id != self.leadership_term_id:
            self._drop(DROP_WRONG_TERM)
        else:
            session = self.sessions.find(cluster_session_id)
            if session is NULL:
                is_dropped[0] = self._commands.is_empty() and self._drop(DROP_UNKNOWN_SESSION)
            elif not (<OpenSession>session).is_open:
                session = NULL
                is_dropped[0] = False
        return session

    cdef bint _drop(self, DropReasonCode reason) noexcept nogil:
        self._drops.add(reason)
        return True
