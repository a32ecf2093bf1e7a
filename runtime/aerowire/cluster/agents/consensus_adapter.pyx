"""What members send to each other. Aeron: ConsensusAdapter, ConsensusModuleAgent.onAppendPosition, onCommitPosition.

Members repeat what matters, and an image of positions must not wait for a conductor that is busy: a message for which the conductor has no
room is dropped and counted. An append position is also the conductor's if it says that its member catches up, or if the conductor watches
the member; a commit position is, if it is of a later term.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.cluster.agents.agent_events cimport EVENT_CONSENSUS_MESSAGE
from aerowire.cluster.agents.consensus_publisher cimport MemberPublication
from aerowire.cluster.agents.drop_counts cimport (
    DROP_MALFORMED, DROP_NO_ROOM, DROP_UNKNOWN_MEMBER, DROP_WRONG_TERM)
from aerowire.cluster.agents.follower_commit cimport FollowerCommit
from aerowire.cluster.agents.leader_commit cimport LeaderCommit
from aerowire.codecs.native.cluster cimport (
    APPEND_POSITION_BLOCK_LENGTH, APPEND_POSITION_FLAGS_OFFSET, APPEND_POSITION_TEMPLATE_ID, COMMIT_POSITION_BLOCK_LENGTH,
    COMMIT_POSITION_TEMPLATE_ID, SBE_HEADER_LENGTH, SBE_SCHEMA_ID, append_position_flags, append_position_follower_member_id,
    append_position_leadership_term_id, append_position_log_position, commit_position_leader_member_id,
    commit_position_leadership_term_id, commit_position_log_position, header_block_length, header_schema_id, header_template_id)

cdef enum:
    NO_LIMIT = 0x7FFFFFFFFFFFFFFF
    FLAGS_NULL = 255            # of a uint8


cdef class ConsensusAdapter:
    """Reads messages of members at all times. Changed by: the agent."""

    def __cinit__(self, ClusterAgentEvents events not None, ConsensusPublisher publisher not None, DropCounts drops not None,
                  int32_t member_id, member_ids, int fragment_limit):
        self._events = events
        self._publisher = publisher
        self._drops = drops
        self._member_id = member_id
        self._heard = MemberPositions(member_ids)
        self._fragment_limit = fragment_limit
        self.images = ImageGroup(events)

    cdef void lead(self, LeaderCommit leader, int64_t now_ns) noexcept nogil:
        leader.positions.adopt(self._heard, now_ns)
        self.leader = <void*>leader

    cdef int poll(self, int64_t now_ns) noexcept nogil:
        cdef int messages = 0
        cdef int i
        self.images.turn()
        self._now_ns = now_ns
        for i in range(self.images.count):
            messages += self._poll_image(<MessageImage>self.images.at(i))
        return messages

    cdef int _poll_image(self, MessageImage image) noexcept nogil:
        cdef int messages = 0
        while messages < self._fragment_limit and image.next(NO_LIMIT, self._drops):
            self._on_message(image)
            image.take()
            messages += 1
        image.count_read()
        return messages

    cdef void _on_message(self, MessageImage image) noexcept nogil:
        cdef int template_id
        if image.length < SBE_HEADER_LENGTH or header_schema_id(image.message) != SBE_SCHEMA_ID:
            self._drops.add(DROP_MALFORMED)
            return
        template_id = header_template_id(image.message)
        if template_id == APPEND_POSITION_TEMPLATE_ID:
            self._on_append_position(image)
        elif template_id == COMMIT_POSITION_TEMPLATE_ID and (self.leader is not NULL or self.follower is not NULL):
            self._on_commit_position(image)
        else:
            self._hand_over(image)

    cdef void _on_append_position(self, MessageImage image) noexcept nogil:
        cdef const uint8_t* block = image.message + SBE_HEADER_LENGTH
        cdef MemberPublication* member
        cdef int64_t leadership_term_id, log_position
        cdef int flags = 0
        if image.length < SBE_HEADER_LENGTH + APPEND_POSITION_FLAGS_OFFSET:         # what the first versions had
            self._drops.add(DROP_MALFORMED)
            return
        leadership_term_id = append_position_leadership_term_id(block)
        log_position = append_position_log_position(block)
        if (header_block_length(image.message) >= APPEND_POSITION_BLOCK_LENGTH
                and image.length >= SBE_HEADER_LENGTH + APPEND_POSITION_BLOCK_LENGTH and append_position_flags(block) != FLAGS_NULL):
            flags = append_position_flags(block)
        member = self._publisher.find(append_position_follower_member_id(block))
        if leadership_term_id < 0 or log_position < 0:
            self._drops.add(DROP_MALFORMED)
        elif member is NULL or member.member_id == self._member_id:
            self._drops.add(DROP_UNKNOWN_MEMBER)
        elif self.leader is NULL:
            self._heard.update(member.member_id, leadership_term_id, log_position, self._now_ns)
            self._hand_over(image)
        elif leadership_term_id > (<LeaderCommit>self.leader).leadership_term_id:
            self._drops.add(DROP_WRONG_TERM)
        else:
            (<LeaderCommit>self.leader).positions.update(member.member_id, leadership_term_id, log_position, self._now_ns)
            if flags or member.is_watched:
                self._hand_over(image)

    cdef void _on_commit_position(self, MessageImage image) noexcept nogil:
        cdef const uint8_t* block = image.message + SBE_HEADER_LENGTH
        cdef int64_t leadership_term_id, log_position, own_term_id
        if image.length < SBE_HEADER_LENGTH + COMMIT_POSITION_BLOCK_LENGTH:
            self._drops.add(DROP_MALFORMED)
            return
        leadership_term_id = commit_position_leadership_term_id(block)
        log_position = commit_position_log_position(block)
        own_term_id = ((<LeaderCommit>self.leader).leadership_term_id if self.leader is not NULL
                       else (<FollowerCommit>self.follower).leadership_term_id)
        if leadership_term_id < 0 or log_position < 0:
            self._drops.add(DROP_MALFORMED)
        elif leadership_term_id > own_term_id:
            self._hand_over(image)
        elif leadership_term_id < own_term_id:
            self._drops.add(DROP_WRONG_TERM)
        elif self.follower is NULL or not (<FollowerCommit>self.follower).on_commit_position(
                leadership_term_id, commit_position_leader_member_id(block), log_position, self._now_ns):
            self._drops.add(DROP_UNKNOWN_MEMBER)

    cdef void _hand_over(self, MessageImage image) noexcept nogil:
        if not self._events.post_message(EVENT_CONSENSUS_MESSAGE, <void*>image, image.message, image.length, image.end_position, 0):
            self._drops.add(DROP_NO_ROOM)
