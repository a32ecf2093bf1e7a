# Consumes a log up to a limit: session messages here, all else at the conductor.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.lending.lent_counter cimport LentCounter
from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents, LogEndCode
from aerowire.cluster.agents.drop_counts cimport DropCounts
from aerowire.cluster.agents.followed_log cimport FollowedLog


@cython.final
cdef class LogAdapter:
    """LogAdapter(events, commit_position, drops, fragment_limit). The agent's."""

    cdef ClusterAgentEvents _events
    cdef LentCounter _commit_position       # or None
    cdef DropCounts _drops
    cdef int _fragment_limit
    cdef void* _log                         # a FollowedLog; NULL: none
    cdef int _end                           # a LogEndCode, as long as the image is given back and the event is due

    cdef void look(self) noexcept nogil                                 # at the top of a cycle: give a log back that has ended
    cdef void connect(self, void* log, int64_t limit) noexcept nogil    # a log before is given back
    cdef void disconnect(self, LogEndCode end) noexcept nogil
    cdef void resume(self) noexcept nogil
    cdef void set_limit(self, int64_t limit) noexcept nogil
    cdef void keep_limit(self) noexcept nogil                           # where it is now: a term has ended
    cdef int poll_to(self, int64_t limit) noexcept nogil                # the leader's commit position
    cdef int poll(self) noexcept nogil                                  # to the conductor's limit
    cdef void give_back(self) noexcept nogil                            # without an event: the agent ends
    cdef bint _on_message(self, FollowedLog log) noexcept nogil
    cdef bint _hand_over(self, FollowedLog log, bint is_held) noexcept nogil
