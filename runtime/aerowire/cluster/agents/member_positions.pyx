"""What the members of a cluster have told a leader of its log, and the rules of a majority over that. Aeron: ClusterMember.

`consensus.member_states` has the same rules, with the reasons for them. Times are nanoseconds of one clock.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from typing import NamedTuple

from aerowire.memory.atomics cimport (
    load_acquire_i32, load_acquire_i64, store_release_i32, store_release_i64)

cdef enum:
    NULL_VALUE = -1


class ReportedPosition(NamedTuple):
    """How far a member has recorded the log of a term, and when it said so; None if it was never heard of."""

    member_id: int
    leadership_term_id: int
    log_position: int
    time_of_last_append_position_ns: int | None


cdef class MemberPositions:
    """The positions that members have reported, by member. Raises ValueError for ids that are not one per member.

    Changed by: the agent. Other threads see a position and its term together only when the agent does not run or is done with it.
    """

    def __cinit__(self, member_ids):
        cdef int i
        ids = list(member_ids)
        if not 0 < len(ids) <= MEMBERS_MAX or len(set(ids)) != len(ids):
            raise ValueError(f"member ids: expected 1 to {MEMBERS_MAX} different ones, actual {ids}")
        self.count = <int>len(ids)
        self.quorum_threshold = (self.count >> 1) + 1
        self.members = <MemberPosition*>calloc(self.count, sizeof(MemberPosition))
        self._ranked = <int64_t*>calloc(self.quorum_threshold, sizeof(int64_t))
        if self.members is NULL or self._ranked is NULL:
            raise MemoryError("positions of members")
        for i in range(self.count):
            self.members[i].member_id = ids[i]
            self.members[i].leadership_term_id = self.members[i].log_position = NULL_VALUE

    def __dealloc__(self):
        free(self.members)
        free(self._ranked)

    cdef int index_of(self, int32_t member_id) noexcept nogil:
        cdef int i
        for i in range(self.count):
            if self.members[i].member_id == member_id:
                return i
        return -1

    cpdef bint update(self, int32_t member_id, int64_t leadership_term_id, int64_t log_position, int64_t now_ns) noexcept nogil:
        """Take what a member has told of its log; return whether there is such a member."""
        cdef int index = self.index_of(member_id)
        cdef MemberPosition* member
        if index < 0:
            return False
        member = &self.members[index]
        store_release_i64(&member.leadership_term_id, leadership_term_id)
        store_release_i64(&member.log_position, log_position)
        store_release_i64(&member.time_of_last_append_position_ns, now_ns)
        store_release_i32(&member.is_heard, 1)
        return True

    cpdef void adopt(self, MemberPositions heard, int64_t now_ns) noexcept nogil:
        """Begin a term: take what members have told before, if that is later; count one that was never heard of as heard of now."""
        cdef MemberPosition* member
        cdef const MemberPosition* before
        cdef int i, index
        for i in range(self.count):
            member = &self.members[i]
            index = heard.index_of(member.member_id)
            before = NULL if index < 0 else &heard.members[index]
            if before is not NULL and before.is_heard and (
                    not member.is_heard or before.time_of_last_append_position_ns >= member.time_of_last_append_position_ns):
                self.update(member.member_id, before.leadership_term_id, before.log_position, before.time_of_last_append_position_ns)
            elif not member.is_heard:
                self.update(member.member_id, NULL_VALUE, NULL_VALUE, now_ns)

    cpdef bint has_active_quorum(self, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
        """Return whether a majority was heard of within the timeout."""
        cdef int active = 0
        cdef int i
        for i in range(self.count):
            active += self._is_active(&self.members[i], now_ns, timeout_ns)
        return active >= self.quorum_threshold

    cpdef int64_t quorum_position(self, int64_t leadership_term_id, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
        """Return the highest position that a majority has recorded of the log of a term; 0 if there is none."""
        cdef const MemberPosition* member
        cdef int64_t position
        cdef int i, rank
        for i in range(self.quorum_threshold):
            self._ranked[i] = 0
        for i in range(self.count):
            member = &self.members[i]
            if member.leadership_term_id != leadership_term_id or not self._is_active(member, now_ns, timeout_ns):
                continue
            position = member.log_position
            for rank in range(self.quorum_threshold):
                if position > self._ranked[rank]:
                    position, self._ranked[rank] = self._ranked[rank], position
        return self._ranked[self.quorum_threshold - 1]

    cdef bint _is_active(self, const MemberPosition* member, int64_t now_ns, int64_t timeout_ns) noexcept nogil:
        return member.is_heard and member.time_of_last_append_position_ns + timeout_ns > now_ns

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    def reported(self) -> list:
        """Return a ReportedPosition of each member; any thread."""
        cdef int i
        return [
            ReportedPosition(
                self.members[i].member_id,
                load_acquire_i64(&self.members[i].leadership_term_id),
                load_acquire_i64(&self.members[i].log_position),
                load_acquire_i64(&self.members[i].time_of_last_append_position_ns) if load_acquire_i32(&self.members[i].is_heard) else None,
            )
            for i in range(self.count)
        ]
