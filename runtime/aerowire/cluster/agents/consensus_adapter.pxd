# What members send to each other: append positions and commit positions of the term to its machines, all else to the conductor.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents
from aerowire.cluster.agents.consensus_publisher cimport ConsensusPublisher
from aerowire.cluster.agents.drop_counts cimport DropCounts
from aerowire.cluster.agents.image_group cimport ImageGroup
from aerowire.cluster.agents.leader_commit cimport LeaderCommit
from aerowire.cluster.agents.member_positions cimport MemberPositions
from aerowire.cluster.agents.message_image cimport MessageImage


@cython.final
cdef class ConsensusAdapter:
    """ConsensusAdapter(events, publisher, drops, member_id, member_ids, fragment_limit). The agent's."""

    cdef ClusterAgentEvents _events
    cdef ConsensusPublisher _publisher
    cdef DropCounts _drops
    cdef int32_t _member_id
    cdef int _fragment_limit
    cdef ImageGroup images
    # The term that this member takes part in: at most one of the two; NULL: all messages are the conductor's.
    cdef void* leader               # a LeaderCommit
    cdef void* follower             # a FollowerCommit
    cdef MemberPositions _heard     # what members have told while this member did not lead
    cdef int64_t _now_ns

    cdef void lead(self, LeaderCommit leader, int64_t now_ns) noexcept nogil
    cdef int poll(self, int64_t now_ns) noexcept nogil
    cdef int _poll_image(self, MessageImage image) noexcept nogil
    cdef void _on_message(self, MessageImage image) noexcept nogil
    cdef void _on_append_position(self, MessageImage image) noexcept nogil
    cdef void _on_commit_position(self, MessageImage image) noexcept nogil
    cdef void _hand_over(self, MessageImage image) noexcept nogil
