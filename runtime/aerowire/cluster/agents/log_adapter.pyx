"""Consumes a log up to a limit. Aeron: LogAdapter.

Session messages are done with here: services read them for themselves. All else is the conductor's, in the order of the log. Behind what
changes how the log goes on, cluster actions and new terms, and behind messages of an extension, the log is held until the conductor has
taken them; openings, closes and timers do not hold it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.cluster.agents.agent_events cimport (
    EVENT_LOG_MESSAGE, EVENT_LOG_REACHED, EVENT_LOG_RETURNED, LOG_END_IMAGE_CLOSED, LOG_END_MALFORMED, LOG_END_OF_STREAM,
    LOG_END_REMOVED)
from aerowire.cluster.agents.drop_counts cimport DROP_MALFORMED, DROP_UNKNOWN_TEMPLATE
from aerowire.cluster.agents.log_publisher cimport SESSION_HEADER_LENGTH
from aerowire.codecs.native.cluster cimport (
    CLUSTER_ACTION_REQUEST_TEMPLATE_ID, NEW_LEADERSHIP_TERM_EVENT_TEMPLATE_ID, SBE_HEADER_LENGTH, SBE_SCHEMA_ID,
    SESSION_CLOSE_EVENT_TEMPLATE_ID, SESSION_MESSAGE_HEADER_TEMPLATE_ID, SESSION_OPEN_EVENT_TEMPLATE_ID, TIMER_EVENT_TEMPLATE_ID,
    header_schema_id, header_template_id, session_message_header_cluster_session_id, session_message_header_timestamp)


cdef class LogAdapter:
    """Reads at most one log. Changed by: the agent.

    Invariant: the commit position counter is at least what was consumed; what was consumed is at most the limit, and recorded.
    """

    def __cinit__(self, ClusterAgentEvents events not None, LentCounter commit_position, DropCounts drops not None, int fragment_limit):
        self._events = events
        self._commit_position = commit_position
        self._drops = drops
        self._fragment_limit = fragment_limit

    cdef void look(self) noexcept nogil:
        if self._log is NULL:
            return
        if self._end != 0:
            self.disconnect(LOG_END_REMOVED)
        elif (<FollowedLog>self._log).image.is_malformed:
            self.disconnect(LOG_END_MALFORMED)
        elif not (<FollowedLog>self._log).image.loan.is_out():
            self.disconnect(LOG_END_OF_STREAM if (<FollowedLog>self._log).image.is_end_of_stream() else LOG_END_IMAGE_CLOSED)

    cdef void connect(self, void* log, int64_t limit) noexcept nogil:
        self.disconnect(LOG_END_REMOVED)
        self._log = log
        (<FollowedLog>log).limit = limit

    cdef void disconnect(self, LogEndCode end) noexcept nogil:
        if self._log is NULL:
            return
        if self._end == 0:
            self._end = end
            (<FollowedLog>self._log).image.loan.give_back()
        if self._events.post(EVENT_LOG_RETURNED, self._log, self._end, (<FollowedLog>self._log).image.position()):
            self._log = NULL
            self._end = 0

    cdef void resume(self) noexcept nogil:
        if self._log is not NULL:
            (<FollowedLog>self._log).image.is_held = False

    cdef void set_limit(self, int64_t limit) noexcept nogil:
        if self._log is not NULL:
            (<FollowedLog>self._log).limit = limit
            (<FollowedLog>self._log).is_reached_posted = False

    cdef void keep_limit(self) noexcept nogil:
        if self._log is not NULL:
            (<FollowedLog>self._log).limit = (<FollowedLog>self._log).image.position()
            (<FollowedLog>self._log).is_reached_posted = True

    cdef int poll_to(self, int64_t limit) noexcept nogil:
        cdef int messages = 0
        if self._log is NULL or self._end != 0:
            return 0
        if (<FollowedLog>self._log).append_position is not None:
            limit = min(limit, (<FollowedLog>self._log).append_position.read())
        while (messages < self._fragment_limit and not (<FollowedLog>self._log).image.is_held
                and (<FollowedLog>self._log).image.next(limit, self._drops) and self._on_message(<FollowedLog>self._log)):
            (<FollowedLog>self._log).image.take()
            messages += 1
        (<FollowedLog>self._log).image.count_read()
        (<FollowedLog>self._log).on_consumed()
        if self._commit_position is not None:
            self._commit_position.propose_max((<FollowedLog>self._log).image.position())
        return messages

    cdef int poll(self) noexcept nogil:
        cdef int messages
        if self._log is NULL:
            return 0
        messages = self.poll_to((<FollowedLog>self._log).limit)
        if (self._end == 0 and not (<FollowedLog>self._log).is_reached_posted and not (<FollowedLog>self._log).image.is_held
                and (<FollowedLog>self._log).image.position() >= (<FollowedLog>self._log).limit):
            (<FollowedLog>self._log).is_reached_posted = self._events.post(
                EVENT_LOG_REACHED, self._log, (<FollowedLog>self._log).image.position(), 0)
        return messages

    cdef void give_back(self) noexcept nogil:
        if self._log is not NULL:
            (<FollowedLog>self._log).image.loan.give_back()

    cdef bint _on_message(self, FollowedLog log) noexcept nogil:
        # False: the message stays, and is offered again
        cdef const uint8_t* block = log.image.message + SBE_HEADER_LENGTH
        cdef int template_id
        if log.image.length < SBE_HEADER_LENGTH:
            self._drops.add(DROP_MALFORMED)
            return True
        if header_schema_id(log.image.message) != SBE_SCHEMA_ID:
            return self._hand_over(log, True)
        template_id = header_template_id(log.image.message)
        if template_id == SESSION_MESSAGE_HEADER_TEMPLATE_ID:
            if log.image.length < SESSION_HEADER_LENGTH:
                self._drops.add(DROP_MALFORMED)
            else:
                log.on_session_message(session_message_header_cluster_session_id(block), session_message_header_timestamp(block))
            return True
        if template_id == CLUSTER_ACTION_REQUEST_TEMPLATE_ID or template_id == NEW_LEADERSHIP_TERM_EVENT_TEMPLATE_ID:
            return self._hand_over(log, True)
        if (template_id == SESSION_OPEN_EVENT_TEMPLATE_ID or template_id == SESSION_CLOSE_EVENT_TEMPLATE_ID
                or template_id == TIMER_EVENT_TEMPLATE_ID):
            return self._hand_over(log, False)
        self._drops.add(DROP_UNKNOWN_TEMPLATE)
        return True

    cdef bint _hand_over(self, FollowedLog log, bint is_held) noexcept nogil:
        if not self._events.post_message(EVENT_LOG_MESSAGE, <void*>log, log.image.message, log.image.length, log.image.end_position,
                                         is_held):
            return False
        log.on_handed_over(log.image.end_position)
        log.image.is_held = is_held
        return True
