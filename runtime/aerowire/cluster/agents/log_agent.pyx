"""The native agent of a consensus module: what a member does for every message, without the interpreter lock.

Elections, sessions and files are the conductor's. See the package for commands and events.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

from aerowire.codecs.flyweights.cluster import ClusterTimeUnit

from aerowire.cluster.agents.agent_events cimport (
    EVENT_INGRESS_CLOSED, EVENT_MESSAGE_SENT, EVENT_SESSION_REMOVED, EVENT_TERM_ENDED, EVENT_TERM_FAULT, LOG_END_REMOVED,
    TERM_FAULT_INACTIVE_QUORUM, TERM_FAULT_LOG_CLOSED, TERM_FAULT_MAX_POSITION_EXCEEDED, TERM_FAULT_RECORDING_STOPPED,
    TERM_FAULT_SILENT_LEADER)
from aerowire.cluster.agents.consensus_publisher cimport MemberPublication
from aerowire.cluster.agents.follower_commit cimport FOLLOWER_SEND, FOLLOWER_SILENT_LEADER, FollowerCommit
from aerowire.cluster.agents.leader_commit cimport LEADER_ADVANCE, LEADER_INACTIVE_QUORUM, LEADER_PUBLISH, LeaderCommit
from aerowire.cluster.agents.outbound_message cimport OutboundMessage
from aerowire.cluster.agents.session_table cimport OpenSession
from aerowire.logbuffer.descriptor cimport OFFER_CLOSED
from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64

cdef enum:
    NULL_VALUE = -1
    FRAGMENT_LIMIT = 50         # of one cycle, from one subscription; Aeron's default


cdef class LogAgent(QueuedAgent):
    """The member's part in a term, and its streams. Faults of a term are posted once, and end the term's work where they say so.

    Changed by: its one thread. Invariant: at most one term is led or followed; what a command has added is kept until its final event.
    """

    def __cinit__(self, ClusterAgentEvents events not None, ClockPort clock not None, LentCounter commit_position not None, *,
                  int32_t member_id, member_ids, time_unit=ClusterTimeUnit.MILLIS, int fragment_limit=FRAGMENT_LIMIT,
                  int log_fragment_limit=FRAGMENT_LIMIT, CycleCounters cycles=None):
        self.set_up_queues(events)
        self._posted = events
        self._clock = clock
        self._commit_position = commit_position
        self._cycles = cycles
        self._member_id = member_id
        self._tick_ns = {ClusterTimeUnit.MILLIS: 1_000_000, ClusterTimeUnit.MICROS: 1_000, ClusterTimeUnit.NANOS: 1}[time_unit]
        self.ingress_drops, self.consensus_drops, self.log_drops = DropCounts(), DropCounts(), DropCounts()
        self._log_publisher = LogPublisher(events)
        self._ingress = IngressAdapter(events, self.commands, self._log_publisher, self.ingress_drops, fragment_limit)
        self._consensus_publisher = ConsensusPublisher(events, self.consensus_drops, member_ids)
        self._consensus = ConsensusAdapter(events, self._consensus_publisher, self.consensus_drops, member_id, member_ids,
                                           fragment_limit)
        self._log = LogAdapter(events, commit_position, self.log_drops, log_fragment_limit)
        self._published_position = NULL_VALUE

    @property
    def role_name(self) -> str:
        return "consensus-module-log"

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int64_t timestamp = self._clock.epoch_ns() // self._tick_ns
        cdef int work
        if self._cycles is not None:
            self._cycles.measure(now_ns)
        self._look_at_loans()
        work = self.take_commands(now_ns) + self._consensus.poll(now_ns)
        work += self._log_publisher.append_waiting(timestamp)
        if self._consensus.leader is not NULL:
            work += self._lead(now_ns, timestamp)
        elif self._consensus.follower is not NULL:
            work += self._follow(now_ns, timestamp)
        else:
            work += self._log.poll() + self._ingress.poll(now_ns, timestamp)
        if self._faults:
            self._post_faults()
        return work

    cdef void _look_at_loans(self) noexcept nogil:
        # Images are looked at as they are read.
        self._consensus_publisher.look()
        self._log_publisher.look()
        self._log.look()
        if not self._commit_position.is_out():
            self._commit_position.give_back()

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        if self._consensus.leader is not NULL:
            return (<LeaderCommit>self._consensus.leader).next_deadline_ns()
        if self._consensus.follower is not NULL:
            return (<FollowerCommit>self._consensus.follower).next_deadline_ns()
        return INT64_MAX

    cdef void on_close(self) noexcept nogil:
        self._log_publisher.disconnect()
        self._consensus_publisher.give_back()
        self._ingress.images.give_back()
        self._consensus.images.give_back()
        self._log.give_back()
        self._commit_position.give_back()
        if self._cycles is not None:
            self._cycles.give_back()

    # -- the term --------------------------------------------------------------------------------------------------------------------

    cdef int _lead(self, int64_t now_ns, int64_t timestamp) noexcept nogil:
        cdef int work = self._ingress.poll(now_ns, timestamp)
        cdef int steps
        store_release_i64(&self._published_position, self._log_publisher.position())
        if self._log_publisher.fault:
            self._fault(TERM_FAULT_LOG_CLOSED if self._log_publisher.fault == OFFER_CLOSED else TERM_FAULT_MAX_POSITION_EXCEEDED)
        steps = (<LeaderCommit>self._consensus.leader).tick((<LeaderTerm>self._leader_term).append_position.read(), now_ns)
        if (<LeaderTerm>self._leader_term).append_position.is_frozen:
            self._fault(TERM_FAULT_RECORDING_STOPPED)
        if steps & LEADER_INACTIVE_QUORUM:
            self._fault(TERM_FAULT_INACTIVE_QUORUM)
            self._leave_term()
            return work + 1
        if steps & LEADER_ADVANCE:
            self._commit_position.propose_max((<LeaderTerm>self._leader_term).commit.committed())
        if steps & LEADER_PUBLISH:
            self._consensus_publisher.publish_commit_position(
                (<LeaderTerm>self._leader_term).commit.leadership_term_id, (<LeaderTerm>self._leader_term).commit.committed(),
                self._member_id)
            work += 1
        return work

    cdef int _follow(self, int64_t now_ns, int64_t timestamp) noexcept nogil:
        cdef int work = self._log.poll_to((<FollowerCommit>self._consensus.follower).commit_limit())
        cdef int steps = (<FollowerCommit>self._consensus.follower).tick((<FollowerTerm>self._follower_term).append_position.read(), now_ns)
        if (<FollowerTerm>self._follower_term).append_position.is_frozen:
            self._fault(TERM_FAULT_RECORDING_STOPPED)
        if steps == FOLLOWER_SILENT_LEADER:
            self._fault(TERM_FAULT_SILENT_LEADER)
            self._leave_term()
            return work + 1
        if steps == FOLLOWER_SEND:
            if self._consensus_publisher.send_append_position(
                    (<FollowerTerm>self._follower_term).commit.leader_id, (<FollowerTerm>self._follower_term).commit.leadership_term_id,
                    (<FollowerTerm>self._follower_term).commit.last_append_position, self._member_id) < 0:
                (<FollowerCommit>self._consensus.follower).on_send_failed()
            else:
                work += 1
        return work + self._ingress.poll(now_ns, timestamp)

    cdef void _fault(self, TermFaultCode fault) noexcept nogil:
        self._faults |= (1 << <int>fault) & ~self._posted_faults

    cdef void _post_faults(self) noexcept nogil:
        cdef void* term = self._leader_term if self._leader_term is not NULL else self._follower_term
        cdef int fault
        for fault in range(TERM_FAULT_INACTIVE_QUORUM, TERM_FAULT_RECORDING_STOPPED + 1):
            if self._faults & 1 << fault and self._posted.post(EVENT_TERM_FAULT, term, fault, 0):
                self._faults &= ~(1 << fault)
                self._posted_faults |= 1 << fault

    cdef void _leave_term(self) noexcept nogil:
        # Nothing more is committed or consumed. Members' messages go to the conductor, which has still to end the term.
        self._consensus.leader = self._consensus.follower = NULL
        self._ingress.is_leader = False
        self._log.keep_limit()

    cdef void _end_term(self) noexcept nogil:
        cdef void* term = self._leader_term if self._leader_term is not NULL else self._follower_term
        if term is NULL:
            return
        self._leave_term()
        self._log_publisher.disconnect()
        store_release_i64(&self._published_position, NULL_VALUE)
        self._leader_term = self._follower_term = NULL
        self._faults = self._posted_faults = 0
        self._posted.post(EVENT_TERM_ENDED, term, 0, 0)

    # -- commands --------------------------------------------------------------------------------------------------------------------

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        if command.operation == APPEND_MESSAGE:
            self._log_publisher.append_later(command.subject)
        elif command.operation == SEND_MESSAGE:
            self._posted.post(EVENT_MESSAGE_SENT, command.subject, self._consensus_publisher.send(
                command.a, (<OutboundMessage>command.subject).address, (<OutboundMessage>command.subject).length), 0)
        elif command.operation == ADD_SESSION:
            self._add_session(command.subject)
        elif command.operation == REMOVE_SESSION:
            self._remove_session(command.subject)
        elif command.operation == RESUME_IMAGE:
            self._ingress.images.resume(command.subject)
        elif command.operation == RESUME_LOG:
            self._log.resume()
        elif command.operation == LIMIT_LOG:
            self._log.set_limit(command.value)
        else:
            self._on_rare_command(command, now_ns)

    cdef void _on_rare_command(self, Command* command, int64_t now_ns) noexcept nogil:
        if command.operation == ADD_INGRESS_IMAGE:
            self._ingress.images.add(command.subject)
        elif command.operation == ADD_CONSENSUS_IMAGE:
            self._consensus.images.add(command.subject)
        elif command.operation == OPEN_INGRESS:
            self._ingress.is_open = command.flag
            if not command.flag:
                self._posted.post(EVENT_INGRESS_CLOSED, NULL, 0, 0)
        elif command.operation == SET_PUBLICATION:
            self._consensus_publisher.set_publication(command.a, command.subject)
        elif command.operation == ADD_LOG:
            self._log.connect(command.subject, command.value)
        elif command.operation == REMOVE_LOG:
            self._log.disconnect(LOG_END_REMOVED)
        else:
            self._on_term_command(command, now_ns)

    cdef void _on_term_command(self, Command* command, int64_t now_ns) noexcept nogil:
        cdef MemberPublication* member
        if command.operation == LEAD_TERM:
            self._end_term()
            self._leader_term = command.subject
            self._consensus.lead((<LeaderTerm>command.subject).commit, now_ns)
            self._log_publisher.connect((<LeaderTerm>command.subject).log)
            self._ingress.leadership_term_id = (<LeaderTerm>command.subject).commit.leadership_term_id
            self._ingress.is_leader = True
        elif command.operation == FOLLOW_TERM:
            self._end_term()
            self._follower_term = command.subject
            self._consensus.follower = <void*>(<FollowerTerm>command.subject).commit
        elif command.operation == END_TERM:
            self._end_term()
        elif command.operation == UPDATE_MEMBER and self._consensus.leader is not NULL:
            (<LeaderCommit>self._consensus.leader).positions.update(
                command.a, (<LeaderCommit>self._consensus.leader).leadership_term_id if command.flag else NULL_VALUE, command.value, now_ns)
        elif command.operation == NOTIFY_COMMIT and self._consensus.follower is not NULL:
            (<FollowerCommit>self._consensus.follower).on_commit_position(
                (<FollowerCommit>self._consensus.follower).leadership_term_id, (<FollowerCommit>self._consensus.follower).leader_id,
                command.value, now_ns)
        elif command.operation == TERMINATE and self._consensus.follower is not NULL:
            (<FollowerCommit>self._consensus.follower).on_termination_position(now_ns)
        elif command.operation == WATCH_MEMBER:
            member = self._consensus_publisher.find(command.a)
            if member is not NULL:
                member.is_watched = command.flag

    cdef void _add_session(self, void* session) noexcept nogil:
        # One that is there already stays, and has one event in all.
        if (not self._ingress.sessions.put(<OpenSession>session)
                and self._ingress.sessions.find((<OpenSession>session).cluster_session_id) is not session):
            self._posted.post(EVENT_SESSION_REMOVED, session, 0, 0)

    cdef void _remove_session(self, void* session) noexcept nogil:
        cdef int64_t cluster_session_id = (<OpenSession>session).cluster_session_id
        if self._ingress.sessions.find(cluster_session_id) is session:
            self._ingress.sessions.take_out(cluster_session_id)
            self._posted.post(EVENT_SESSION_REMOVED, session, 0, 0)

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    @property
    def published_position(self) -> int:
        """How far the log is published that this member leads; -1 if it leads none. Any thread."""
        return load_acquire_i64(&self._published_position)
