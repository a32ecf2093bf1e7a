"""The commit position of a leader, outside elections. Aeron: ConsensusModuleAgent.updateLeaderPosition.

`consensus.leader_commit` decides the same for a member whose agents do not run, and says why.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64


cdef class LeaderCommit:
    """The commit position of a term's leader. `positions` holds the positions that members have reported.

    Changed by: the agent. Invariant: the commit position only moves forward, and is at most the append position of the tick that moved it.
    """

    def __cinit__(self, int32_t member_id, MemberPositions positions not None, *, int64_t leadership_term_id, int64_t commit_position,
                  int64_t heartbeat_interval_ns, int64_t heartbeat_timeout_ns):
        if positions.index_of(member_id) < 0:
            raise ValueError(f"member id: expected one of the members, actual {member_id}")
        self.member_id = member_id
        self.positions = positions
        self.leadership_term_id = leadership_term_id
        self._commit_position = commit_position
        self._heartbeat_interval_ns = heartbeat_interval_ns
        self._heartbeat_timeout_ns = heartbeat_timeout_ns

    cpdef int tick(self, int64_t append_position, int64_t now_ns) noexcept nogil:
        """Move the commit position to what a majority, and this member, have recorded; return the LeaderSteps."""
        cdef int64_t position
        cdef int steps = LEADER_IDLE
        self.positions.update(self.member_id, self.leadership_term_id, append_position, now_ns)
        if not self.positions.has_active_quorum(now_ns, self._heartbeat_timeout_ns):
            return LEADER_INACTIVE_QUORUM
        # Followers' archives may be faster than this member's.
        position = min(self.positions.quorum_position(self.leadership_term_id, now_ns, self._heartbeat_timeout_ns), append_position)
        if position > self._commit_position:
            store_release_i64(&self._commit_position, position)
            steps = LEADER_PUBLISH | LEADER_ADVANCE
        elif not self._is_begun or now_ns - self._time_of_last_log_update_ns >= self._heartbeat_interval_ns:
            steps = LEADER_PUBLISH
        if steps:
            self._is_begun = True
            self._time_of_last_log_update_ns = now_ns
        return steps

    cpdef int64_t next_deadline_ns(self) noexcept nogil:
        """Return when the next heartbeat is due; INT64_MIN before the first."""
        return self._time_of_last_log_update_ns + self._heartbeat_interval_ns if self._is_begun else -INT64_MAX - 1

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    @property
    def commit_position(self) -> int:
        """How far the log is committed; any thread."""
        return load_acquire_i64(&self._commit_position)
