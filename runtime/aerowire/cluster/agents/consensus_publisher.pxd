# Messages to other members, by publications that the conductor has lent.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents
from aerowire.cluster.agents.drop_counts cimport DropCounts

cdef struct MemberPublication:
    int32_t member_id
    bint is_watched             # the conductor wants to see the member's append positions
    void* publication           # a LentPublication; NULL: none


@cython.final
cdef class ConsensusPublisher:
    """ConsensusPublisher(events, drops, member_ids). The agent's."""

    cdef ClusterAgentEvents _events
    cdef DropCounts _drops
    cdef MemberPublication* _members
    cdef int _count

    cdef MemberPublication* find(self, int32_t member_id) noexcept nogil        # NULL: no member
    cdef void set_publication(self, int32_t member_id, void* publication) noexcept nogil
    cdef void look(self) noexcept nogil                     # at the top of a cycle: give recalled publications back
    cdef void give_back(self) noexcept nogil                # all of them, without events: the agent ends
    # A position, or an OFFER_ code: what was not sent is lost and counted, but for append positions, which are sent again.
    cdef int64_t send(self, int32_t member_id, const uint8_t* message, int32_t length) noexcept nogil
    cdef int64_t send_append_position(self, int32_t leader_id, int64_t leadership_term_id, int64_t log_position,
                                      int32_t member_id) noexcept nogil
    cdef void publish_commit_position(self, int64_t leadership_term_id, int64_t log_position, int32_t member_id) noexcept nogil
    cdef int64_t _send(self, MemberPublication* member, const uint8_t* message, int32_t length) noexcept nogil
    cdef int64_t _offer(self, MemberPublication* member, const uint8_t* message, int32_t length) noexcept nogil
