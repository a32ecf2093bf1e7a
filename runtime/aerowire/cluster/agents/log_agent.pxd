# The native agent of a consensus module: ingress, log, append and commit positions.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.agents.command_queue cimport Command
from aerowire.agents.queued_agent cimport QueuedAgent
from aerowire.archive.agents.cycle_counters cimport CycleCounters
from aerowire.base.ports cimport ClockPort
from aerowire.client.lending.lent_counter cimport LentCounter
from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents, TermFaultCode
from aerowire.cluster.agents.consensus_adapter cimport ConsensusAdapter
from aerowire.cluster.agents.consensus_publisher cimport ConsensusPublisher
from aerowire.cluster.agents.drop_counts cimport DropCounts
from aerowire.cluster.agents.ingress_adapter cimport IngressAdapter
from aerowire.cluster.agents.log_adapter cimport LogAdapter
from aerowire.cluster.agents.log_publisher cimport LogPublisher
from aerowire.cluster.agents.terms cimport FollowerTerm, LeaderTerm

# Operations. What they take is at the methods of LogAgentProxy.
cpdef enum LogOperation:
    ADD_INGRESS_IMAGE = 1
    ADD_CONSENSUS_IMAGE = 2
    RESUME_IMAGE = 3
    OPEN_INGRESS = 4
    ADD_SESSION = 5
    REMOVE_SESSION = 6
    APPEND_MESSAGE = 7
    SEND_MESSAGE = 8
    SET_PUBLICATION = 9
    WATCH_MEMBER = 10
    LEAD_TERM = 11
    FOLLOW_TERM = 12
    END_TERM = 13
    UPDATE_MEMBER = 14
    NOTIFY_COMMIT = 15
    TERMINATE = 16
    ADD_LOG = 17
    LIMIT_LOG = 18
    RESUME_LOG = 19
    REMOVE_LOG = 20


@cython.final
cdef class LogAgent(QueuedAgent):
    """LogAgent(events, clock, commit_position, *, member_id, member_ids, time_unit, fragment_limit=50, log_fragment_limit=50,
    cycles=None)."""

    cdef ClusterAgentEvents _posted
    cdef ClockPort _clock
    cdef LentCounter _commit_position
    cdef CycleCounters _cycles              # or None
    cdef readonly DropCounts ingress_drops
    cdef readonly DropCounts consensus_drops
    cdef readonly DropCounts log_drops
    cdef LogPublisher _log_publisher
    cdef IngressAdapter _ingress
    cdef ConsensusPublisher _consensus_publisher
    cdef ConsensusAdapter _consensus
    cdef LogAdapter _log
    cdef int32_t _member_id
    cdef int64_t _tick_ns                   # of the cluster's time unit
    cdef void* _leader_term                 # at most one of the two
    cdef void* _follower_term
    cdef int _faults                        # a bit of each that is due as an event
    cdef int _posted_faults
    cdef int64_t _published_position        # of the leader's log, for any thread

    cdef void _look_at_loans(self) noexcept nogil
    cdef void _leave_term(self) noexcept nogil
    cdef void _end_term(self) noexcept nogil
    cdef void _add_session(self, void* session) noexcept nogil
    cdef void _remove_session(self, void* session) noexcept nogil
    cdef int _lead(self, int64_t now_ns, int64_t timestamp) noexcept nogil
    cdef int _follow(self, int64_t now_ns, int64_t timestamp) noexcept nogil
    cdef void _fault(self, TermFaultCode fault) noexcept nogil
    cdef void _post_faults(self) noexcept nogil
    cdef void _on_rare_command(self, Command* command, int64_t now_ns) noexcept nogil
    cdef void _on_term_command(self, Command* command, int64_t now_ns) noexcept nogil
