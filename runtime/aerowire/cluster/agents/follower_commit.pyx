"""The positions of a follower, outside elections. Aeron: ConsensusModuleAgent.updateFollowerPosition, onCommitPosition.

`consensus.follower_commit` decides the same for a member whose agents do not run, and says why.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64


cdef class FollowerCommit:
    """The follower of a term's leader, from the time when it has joined the leader's log.

    Changed by: the agent. Invariant: the notified commit position only moves forward.
    """

    def __cinit__(self, *, int64_t leadership_term_id, int32_t leader_id, int64_t append_position, int64_t notified_commit_position,
                  int64_t heartbeat_interval_ns, int64_t heartbeat_timeout_ns, int64_t now_ns):
        self.leadership_term_id = leadership_term_id
        self.leader_id = leader_id
        self.last_append_position = append_position
        self._notified_commit_position = notified_commit_position
        self._heartbeat_interval_ns = heartbeat_interval_ns
        self._heartbeat_timeout_ns = heartbeat_timeout_ns
        self._time_of_last_log_update_ns = self._time_of_last_append_position_send_ns = now_ns

    cpdef bint on_commit_position(self, int64_t leadership_term_id, int32_t leader_id, int64_t log_position,
                                  int64_t now_ns) noexcept nogil:
        """Take the commit position of the term's own leader; return whether it was one: others say nothing here."""
        if leadership_term_id != self.leadership_term_id or leader_id != self.leader_id:
            return False
        store_release_i64(&self._time_of_last_log_update_ns, now_ns)
        if log_position > self._notified_commit_position:
            store_release_i64(&self._notified_commit_position, log_position)
        return True

    cpdef void on_termination_position(self, int64_t now_ns) noexcept nogil:
        """The leader has said where members end: from now on it may be silent."""
        self.is_terminating = True
        store_release_i64(&self._time_of_last_log_update_ns, now_ns)

    cpdef int tick(self, int64_t append_position, int64_t now_ns) noexcept nogil:
        """Look whether the leader lives, and whether it has to be told of the log; return the FollowerStep."""
        if not self.is_terminating and now_ns - self._time_of_last_log_update_ns >= self._heartbeat_timeout_ns:
            return FOLLOWER_SILENT_LEADER
        if (append_position <= self.last_append_position and not self._is_send_failed
                and now_ns - self._time_of_last_append_position_send_ns < self._heartbeat_interval_ns):
            return FOLLOWER_IDLE
        self._is_send_failed = False
        self.last_append_position = append_position
        self._time_of_last_append_position_send_ns = now_ns
        return FOLLOWER_SEND

    cpdef void on_send_failed(self) noexcept nogil:
        """The append position of the last tick was not sent: the next one sends it again."""
        self._is_send_failed = True

    cpdef int64_t next_deadline_ns(self) noexcept nogil:
        """Return when an append position, or the end of the leader's silence, is due."""
        cdef int64_t send_ns = self._time_of_last_append_position_send_ns + self._heartbeat_interval_ns
        return send_ns if self.is_terminating else min(send_ns, self._time_of_last_log_update_ns + self._heartbeat_timeout_ns)

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    @property
    def notified_commit_position(self) -> int:
        """How far the leader has said that its log is committed; any thread."""
        return load_acquire_i64(&self._notified_commit_position)

    @property
    def time_of_last_log_update_ns(self) -> int:
        """When the leader was heard of last; any thread."""
        return load_acquire_i64(&self._time_of_last_log_update_ns)
