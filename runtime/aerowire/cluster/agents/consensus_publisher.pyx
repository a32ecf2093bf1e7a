"""Messages to other members, by publications that the conductor has lent. Aeron: ConsensusPublisher.

The agent encodes append positions and commit positions; all other messages the conductor has encoded. One publication has one writer, so
all go through here. A message that cannot be sent is lost, as members expect of each other, and counted.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free

from aerowire.client.lending.lent_publication cimport LentPublication
from aerowire.cluster.agents.agent_events cimport EVENT_PUBLICATION_RETURNED
from aerowire.cluster.agents.drop_counts cimport DROP_UNSENT
from aerowire.codecs.native.cluster cimport (
    APPEND_POSITION_BLOCK_LENGTH, APPEND_POSITION_TEMPLATE_ID, COMMIT_POSITION_BLOCK_LENGTH, COMMIT_POSITION_TEMPLATE_ID,
    SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SBE_SCHEMA_VERSION, append_position_set_flags, append_position_set_follower_member_id,
    append_position_set_leadership_term_id, append_position_set_log_position, commit_position_set_leader_member_id,
    commit_position_set_leadership_term_id, commit_position_set_log_position, header_set_block_length, header_set_schema_id,
    header_set_template_id, header_set_version)
from aerowire.logbuffer.descriptor cimport OFFER_ADMIN_ACTION, OFFER_CLOSED, OFFER_NOT_CONNECTED

cdef enum:
    SEND_ATTEMPTS = 3           # a term may trip once; Aeron has as many
    MESSAGE_LENGTH = 32         # of the longer of the two that are encoded here, rounded up


cdef class ConsensusPublisher:
    """The publications to the members. Changed by: the agent. Invariant: a publication is here from its command until its final event."""

    def __cinit__(self, ClusterAgentEvents events not None, DropCounts drops not None, member_ids):
        cdef int i
        ids = list(member_ids)
        self._events = events
        self._drops = drops
        self._count = <int>len(ids)
        self._members = <MemberPublication*>calloc(max(1, self._count), sizeof(MemberPublication))
        if self._members is NULL:
            raise MemoryError("publications to members")
        for i in range(self._count):
            self._members[i].member_id = ids[i]

    def __dealloc__(self):
        free(self._members)

    cdef MemberPublication* find(self, int32_t member_id) noexcept nogil:
        cdef int i
        for i in range(self._count):
            if self._members[i].member_id == member_id:
                return &self._members[i]
        return NULL

    cdef void set_publication(self, int32_t member_id, void* publication) noexcept nogil:
        cdef MemberPublication* member = self.find(member_id)
        cdef void* former = publication             # of no member: it goes back at once
        if member is not NULL:
            former = member.publication
            member.publication = publication
        if former is not NULL:
            (<LentPublication>former).give_back()
            self._events.post(EVENT_PUBLICATION_RETURNED, former, 0, 0)

    cdef void look(self) noexcept nogil:
        cdef MemberPublication* member
        cdef int i
        for i in range(self._count):
            member = &self._members[i]
            if member.publication is NULL or (<LentPublication>member.publication).is_out():
                continue
            (<LentPublication>member.publication).give_back()
            if self._events.post(EVENT_PUBLICATION_RETURNED, member.publication, 0, 0):
                member.publication = NULL           # else in another cycle

    cdef void give_back(self) noexcept nogil:
        cdef int i
        for i in range(self._count):
            if self._members[i].publication is not NULL:
                (<LentPublication>self._members[i].publication).give_back()

    cdef int64_t send(self, int32_t member_id, const uint8_t* message, int32_t length) noexcept nogil:
        return self._send(self.find(member_id), message, length)

    cdef int64_t send_append_position(self, int32_t leader_id, int64_t leadership_term_id, int64_t log_position,
                                      int32_t member_id) noexcept nogil:
        cdef uint8_t message[MESSAGE_LENGTH]
        cdef uint8_t* block = message + SBE_HEADER_LENGTH
        _write_header(message, APPEND_POSITION_TEMPLATE_ID, APPEND_POSITION_BLOCK_LENGTH)
        append_position_set_leadership_term_id(block, leadership_term_id)
        append_position_set_log_position(block, log_position)
        append_position_set_follower_member_id(block, member_id)
        append_position_set_flags(block, 0)
        return self._offer(self.find(leader_id), message, SBE_HEADER_LENGTH + APPEND_POSITION_BLOCK_LENGTH)

    cdef void publish_commit_position(self, int64_t leadership_term_id, int64_t log_position, int32_t member_id) noexcept nogil:
        cdef uint8_t message[MESSAGE_LENGTH]
        cdef uint8_t* block = message + SBE_HEADER_LENGTH
        cdef int i
        _write_header(message, COMMIT_POSITION_TEMPLATE_ID, COMMIT_POSITION_BLOCK_LENGTH)
        commit_position_set_leadership_term_id(block, leadership_term_id)
        commit_position_set_log_position(block, log_position)
        commit_position_set_leader_member_id(block, member_id)
        for i in range(self._count):
            if self._members[i].member_id != member_id:
                self._send(&self._members[i], message, SBE_HEADER_LENGTH + COMMIT_POSITION_BLOCK_LENGTH)

    cdef int64_t _send(self, MemberPublication* member, const uint8_t* message, int32_t length) noexcept nogil:
        cdef int64_t result = self._offer(member, message, length)
        if result < 0:
            self._drops.add(DROP_UNSENT)
        return result

    cdef int64_t _offer(self, MemberPublication* member, const uint8_t* message, int32_t length) noexcept nogil:
        cdef int64_t result = OFFER_ADMIN_ACTION
        cdef int attempts = 0
        if member is NULL or member.publication is NULL:
            result = OFFER_CLOSED if member is NULL else OFFER_NOT_CONNECTED
        while result == OFFER_ADMIN_ACTION and attempts < SEND_ATTEMPTS:
            result = (<LentPublication>member.publication).offer(message, length, NULL, NULL)
            attempts += 1
        return result


cdef void _write_header(uint8_t* message, int template_id, int block_length) noexcept nogil:
    header_set_block_length(message, block_length)
    header_set_template_id(message, template_id)
    header_set_schema_id(message, SBE_SCHEMA_ID)
    header_set_version(message, SBE_SCHEMA_VERSION)
