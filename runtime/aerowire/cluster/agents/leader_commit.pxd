# The commit position of a leader, by the rules of consensus.leader_commit.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.cluster.agents.member_positions cimport MemberPositions

# What a tick leads to.
cpdef enum LeaderStep:
    LEADER_IDLE = 0
    LEADER_PUBLISH = 1              # tell the followers of the commit position
    LEADER_ADVANCE = 2              # and the commit position has moved
    LEADER_INACTIVE_QUORUM = 4      # no majority was heard of: the leadership is over


@cython.final
cdef class LeaderCommit:
    """LeaderCommit(member_id, positions, *, leadership_term_id, commit_position, heartbeat_interval_ns, heartbeat_timeout_ns)."""

    cdef readonly MemberPositions positions
    cdef readonly int32_t member_id
    cdef readonly int64_t leadership_term_id
    cdef int64_t _commit_position   # written by the agent, read by any thread
    cdef int64_t _heartbeat_interval_ns
    cdef int64_t _heartbeat_timeout_ns
    cdef int64_t _time_of_last_log_update_ns
    cdef bint _is_begun             # the commit position was published in this term

    cpdef int tick(self, int64_t append_position, int64_t now_ns) noexcept nogil
    cpdef int64_t next_deadline_ns(self) noexcept nogil

    cdef inline int64_t committed(self) noexcept nogil:                 # the agent's
        return self._commit_position
