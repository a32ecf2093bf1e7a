# The positions of a follower, by the rules of consensus.follower_commit.

cimport cython
from libc.stdint cimport int32_t, int64_t

# What a tick leads to.
cpdef enum FollowerStep:
    FOLLOWER_IDLE = 0
    FOLLOWER_SEND = 1               # tell the leader of the append position
    FOLLOWER_SILENT_LEADER = 2      # the leader was not heard of: an election begins


@cython.final
cdef class FollowerCommit:
    """FollowerCommit(*, leadership_term_id, leader_id, append_position, notified_commit_position, heartbeat_interval_ns,
    heartbeat_timeout_ns, now_ns)."""

    cdef readonly int64_t leadership_term_id
    cdef readonly int32_t leader_id
    cdef readonly int64_t last_append_position          # that the leader was told of
    cdef readonly bint is_terminating
    # Written by the agent, read by any thread.
    cdef int64_t _notified_commit_position
    cdef int64_t _time_of_last_log_update_ns
    cdef int64_t _heartbeat_interval_ns
    cdef int64_t _heartbeat_timeout_ns
    cdef int64_t _time_of_last_append_position_send_ns
    cdef bint _is_send_failed

    cpdef bint on_commit_position(self, int64_t leadership_term_id, int32_t leader_id, int64_t log_position, int64_t now_ns) noexcept nogil
    cpdef void on_termination_position(self, int64_t now_ns) noexcept nogil
    cpdef int tick(self, int64_t append_position, int64_t now_ns) noexcept nogil
    cpdef void on_send_failed(self) noexcept nogil      # of the last tick: the next one sends again
    cpdef int64_t next_deadline_ns(self) noexcept nogil

    cdef inline int64_t commit_limit(self) noexcept nogil:              # the agent's
        return self._notified_commit_position
