# What the agent of a consensus module tells its conductor: records in a ring, some of them with a copy of a message.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.agents.event_ring cimport EVENT_FINAL, EventHeader, EventRing

cdef enum ClusterEventCode:
    EVENT_INGRESS_MESSAGE = 1                   # of a MessageImage; `value` is the position behind the message
    EVENT_CONSENSUS_MESSAGE = 2                 # of a MessageImage
    EVENT_LOG_MESSAGE = 3                       # of a FollowedLog; `value` is the position behind it, `second` says whether the log is held
    EVENT_TERM_FAULT = 4                        # of a LeaderTerm or FollowerTerm; `value` is a TermFault
    EVENT_LOG_REACHED = 5                       # of a FollowedLog; `value` is a position
    EVENT_INGRESS_CLOSED = 6                    # of nothing
    EVENT_IMAGE_RETURNED = 16 | EVENT_FINAL     # of a MessageImage; `value` says whether it was malformed
    EVENT_SESSION_REMOVED = 17 | EVENT_FINAL    # of an OpenSession
    EVENT_MESSAGE_APPENDED = 18 | EVENT_FINAL   # of an OutboundMessage; `value` is a position or an OFFER_ code, `second` the timestamp
    EVENT_MESSAGE_SENT = 19 | EVENT_FINAL       # of an OutboundMessage; `value` is a position or an OFFER_ code
    EVENT_PUBLICATION_RETURNED = 20 | EVENT_FINAL   # of a LentPublication
    EVENT_TERM_ENDED = 21 | EVENT_FINAL         # of a LeaderTerm or FollowerTerm
    EVENT_LOG_RETURNED = 22 | EVENT_FINAL       # of a FollowedLog; `value` is a LogEnd, `second` a position

# What happened in a term: TermFault has it as INACTIVE_QUORUM.
cpdef enum TermFaultCode:
    TERM_FAULT_INACTIVE_QUORUM = 1              # no majority was heard of within the heartbeat timeout: nothing is committed any more
    TERM_FAULT_SILENT_LEADER = 2                # the leader was not heard of within the heartbeat timeout
    TERM_FAULT_LOG_CLOSED = 3                   # the leader's log publication was recalled, or has closed
    TERM_FAULT_MAX_POSITION_EXCEEDED = 4        # the leader's log has come to the last position that it can have
    TERM_FAULT_RECORDING_STOPPED = 5            # the counter of the append position was freed

# Why a log was given back: LogEnd has it as REMOVED.
cpdef enum LogEndCode:
    LOG_END_REMOVED = 1                         # by the conductor
    LOG_END_IMAGE_CLOSED = 2                    # before its stream's end was consumed
    LOG_END_OF_STREAM = 3
    LOG_END_MALFORMED = 4

cdef struct ClusterRecord:
    EventHeader header
    int64_t value
    int64_t second
    uint8_t* message                            # of malloc; the consumer frees it
    int64_t length


@cython.final
cdef class ClusterAgentEvents(EventRing):
    """ClusterAgentEvents(message_bytes_max). Producer: the agent, without the lock. Consumer: the conductor."""

    cdef int64_t _message_bytes_max
    cdef int64_t _message_bytes                 # of messages that wait

    # False: no room. A final event is posted LAST of all that is done with its subject, which may be gone at once.
    cdef bint post(self, int32_t code, void* subject, int64_t value, int64_t second) noexcept nogil
    cdef bint post_message(self, int32_t code, void* subject, const uint8_t* message, int64_t length, int64_t value,
                           int64_t second) noexcept nogil
    cdef bint _has_room_for(self, int64_t length) noexcept nogil
