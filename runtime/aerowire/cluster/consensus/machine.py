"""The consensus of one member: an input and a time give effects. Aeron: Election, and what ConsensusModuleAgent decides outside of one.

    INIT -> CANVASS -> NOMINATE -> CANDIDATE_BALLOT -> LEADER_LOG_REPLICATION -> LEADER_REPLAY -> LEADER_INIT -> LEADER_READY ------> CLOSED
               |  <--- FOLLOWER_BALLOT                                                                                                   |
               +-> FOLLOWER_LOG_REPLICATION -> CANVASS                                                                                   |
               +-> FOLLOWER_REPLAY -> FOLLOWER_CATCHUP_INIT -> _AWAIT -> FOLLOWER_CATCHUP -> FOLLOWER_LOG_INIT -> FOLLOWER_READY ------->+
                         +-> FOLLOWER_LOG_INIT -> FOLLOWER_LOG_AWAIT -> FOLLOWER_READY ------------------------------------------------->+

Any state goes back to INIT when the attempt fails or another term begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from aerowire.cluster.consensus.canvass import UNDECIDED, Canvass
from aerowire.cluster.consensus.core import ConsensusCore
from aerowire.cluster.consensus.effects import Effect, ElectionStarted
from aerowire.cluster.consensus.follower_commit import FollowerCommit
from aerowire.cluster.consensus.following import FOLLOWING, Following
from aerowire.cluster.consensus.initiation import Initiation
from aerowire.cluster.consensus.inputs import (
    CatchupDestinationAdded,
    EffectFailed,
    LogCommitted,
    LogConsumed,
    LogImageClosed,
    LogJoined,
    LogPublicationAdded,
    LogRecorded,
    LogReplicated,
    LogStopped,
    RecoveryFacts,
    ReplayDone,
    Result,
    SendFailed,
    TermEventAppended,
    TermReplayed,
)
from aerowire.cluster.consensus.leader_commit import LeaderCommit
from aerowire.cluster.consensus.leading import LEADING, Leading
from aerowire.cluster.consensus.member_states import MemberState
from aerowire.cluster.consensus.messages import (
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    CommitPosition,
    Message,
    NewLeadershipTerm,
    RequestVote,
    StopCatchup,
    TerminationPosition,
    Vote,
)
from aerowire.cluster.consensus.options import NULL_MEMBER_ID
from aerowire.cluster.consensus.term_table import TermTable
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState

if TYPE_CHECKING:
    from aerowire.base.ports import RandomPort
    from aerowire.cluster.consensus.options import ConsensusOptions

# Inputs that wait for a store to end, which takes milliseconds. Beyond these, messages are dropped: members repeat those that matter.
DEFERRED_MAX = 256


class ConsensusMachine:
    """One member's consensus. Changed by `start`, `tick` and `handle`, each of which returns effects to be carried out in their order.

    Invariant: while an effect that stores a term or truncates the log is under way, no other effect is returned.
    """

    def __init__(
        self, member_id: int, member_ids: tuple[int, ...], options: ConsensusOptions, random: RandomPort, facts: RecoveryFacts
    ) -> None:
        """`random` is drawn from once per nomination, `facts` are what the member has recovered."""
        members = tuple(MemberState(other_id) for other_id in member_ids)
        self._core = core = ConsensusCore(member_id, members, options, random, TermTable(facts.terms), facts)
        self._initiation = initiation = Initiation(core, self._forget_log, self._begin_canvass, self._lead_alone)
        self._leading = Leading(core, initiation.begin_again)
        self._canvass = Canvass(core, self._leading.lead)
        self._following = Following(core, initiation.fail, initiation.begin_again, self._complete_following)
        self._leader_commit = LeaderCommit(core, initiation.enter_election)
        self._follower_commit = FollowerCommit(core, initiation.enter_election)
        self._deferred: deque[Message | Result] = deque()
        self._recorded: LogRecorded | None = None
        self.dropped_messages = 0
        self._ticks: dict[ElectionState, Callable[[], None]] = {
            ElectionState.INIT: initiation.init,
            ElectionState.CANVASS: self._canvass.canvass,
            ElectionState.NOMINATE: self._canvass.nominate,
            ElectionState.CANDIDATE_BALLOT: self._canvass.candidate_ballot,
            ElectionState.FOLLOWER_BALLOT: self._canvass.follower_ballot,
            ElectionState.LEADER_LOG_REPLICATION: self._leading.log_replication,
            ElectionState.LEADER_REPLAY: self._leading.replay,
            ElectionState.LEADER_INIT: self._leading.init,
            ElectionState.LEADER_READY: self._leading.ready,
            ElectionState.FOLLOWER_LOG_REPLICATION: self._following.log_replication,
            ElectionState.FOLLOWER_REPLAY: self._following.replay,
            ElectionState.FOLLOWER_CATCHUP_INIT: self._following.catchup_init,
            ElectionState.FOLLOWER_CATCHUP_AWAIT: self._following.await_catchup,
            ElectionState.FOLLOWER_CATCHUP: self._following.catchup,
            ElectionState.FOLLOWER_LOG_INIT: self._following.log_init,
            ElectionState.FOLLOWER_LOG_AWAIT: self._following.await_log,
            ElectionState.FOLLOWER_READY: self._following.ready,
            ElectionState.CLOSED: self._closed,
        }
        self._handlers: dict[type, Callable[[Any], None]] = {
            CanvassPosition: self._on_canvass_position,
            RequestVote: self._on_request_vote,
            Vote: self._canvass.on_vote,
            NewLeadershipTerm: self._on_new_leadership_term,
            AppendPosition: self._on_append_position,
            CommitPosition: self._on_commit_position,
            CatchupPosition: self._on_catchup_position,
            StopCatchup: self._following.on_stop_catchup,
            TerminationPosition: self._on_termination_position,
            LogStopped: initiation.on_log_stopped,
            LogPublicationAdded: self._leading.on_log_publication_added,
            LogReplicated: self._following.on_log_replicated,
            TermReplayed: self._following.on_term_replayed,
            ReplayDone: self._on_replay_done,
            CatchupDestinationAdded: self._following.on_catchup_destination_added,
            LogJoined: self._on_log_joined,
            TermEventAppended: self._on_term_event_appended,
            LogRecorded: self._on_log_recorded,
            LogCommitted: self._on_log_committed,
            LogConsumed: self._on_log_consumed,
            LogImageClosed: self._on_log_image_closed,
            SendFailed: self._on_send_failed,
            EffectFailed: self._on_effect_failed,
        }

    # What the agent and its counters ask

    @property
    def member_id(self) -> int:
        """The id of this member."""
        return self._core.member_id

    @property
    def state(self) -> ElectionState:
        """The state of the election; CLOSED outside of one."""
        return self._core.state

    @property
    def role(self) -> ClusterRole:
        """The role of this member."""
        return self._core.role

    @property
    def leader_id(self) -> int:
        """The leader that this member knows; -1 if it knows none."""
        return self._core.leader_id

    @property
    def leadership_term_id(self) -> int:
        """The latest term that this member takes part in."""
        return self._core.leadership_term_id

    @property
    def log_leadership_term_id(self) -> int:
        """The term that the end of this member's log is of, as stored."""
        return self._core.log_leadership_term_id

    @property
    def candidate_term_id(self) -> int:
        """The latest term of a ballot that this member took part in."""
        return self._core.candidate_term_id

    @property
    def log_position(self) -> int:
        """How far a leader's log is committed, and a follower's consumed."""
        return self._core.log_position

    @property
    def append_position(self) -> int:
        """How far the log is recorded."""
        return self._core.append_position

    @property
    def log_recording_id(self) -> int:
        """The archive's id of the recording that is the log; -1 before there is one."""
        return self._core.log_recording_id

    @property
    def member_states(self) -> Mapping[int, MemberState]:
        """The log that each member has reported, by id."""
        return {member.member_id: member for member in self._core.members}

    # Inputs

    def start(self, now_ns: int) -> tuple[Effect, ...]:
        """Begin the first election of a node that has started."""
        core = self._core
        core.now_ns = now_ns
        core.is_extended_canvass = True
        core.emit(ElectionStarted("node started"))
        self._initiation.init()
        return self._take_effects()

    def tick(self, now_ns: int) -> tuple[Effect, ...]:
        """Do what is due at a time."""
        core = self._core
        core.now_ns = max(core.now_ns, now_ns)
        if core.awaited is None and (core.state not in FOLLOWING or self._following.check_leader()):
            self._ticks[core.state]()
        return self._take_effects()

    def handle(self, now_ns: int, given: Message | Result) -> tuple[Effect, ...]:
        """Take a message of another member, or the result of an effect."""
        core = self._core
        core.now_ns = max(core.now_ns, now_ns)
        if core.awaited is None:
            self._dispatch(given)
        elif given == core.awaited[0]:
            self._complete_store()
        elif isinstance(given, EffectFailed):
            core.awaited = None
            self._initiation.fail(given.reason)
            self._dispatch_deferred()
        elif len(self._deferred) >= DEFERRED_MAX and isinstance(given, Message):
            self.dropped_messages += 1
        else:
            self._deferred.append(given)
        return self._take_effects()

    def _complete_store(self) -> None:
        awaited = self._core.awaited
        self._core.awaited = None
        if awaited is not None:
            awaited[1]()
        self._dispatch_deferred()

    def _dispatch_deferred(self) -> None:
        while self._deferred and self._core.awaited is None:
            self._dispatch(self._deferred.popleft())

    def _dispatch(self, given: Message | Result) -> None:
        if isinstance(given, Message) and not self._core.is_acceptable(given):
            self.dropped_messages += 1
            return
        self._handlers[type(given)](given)

    def _take_effects(self) -> tuple[Effect, ...]:
        effects = tuple(self._core.effects)
        self._core.effects.clear()
        return effects

    # Results, and what fails

    def _on_effect_failed(self, result: EffectFailed) -> None:
        if self._core.state is ElectionState.CLOSED:
            self._initiation.enter_election(result.reason)
        else:
            self._initiation.fail(result.reason)

    # Messages

    def _on_canvass_position(self, message: CanvassPosition) -> None:
        core = self._core
        if core.state is ElectionState.INIT:
            return
        self._forget_graceful_close(message.follower_member_id)
        follower = core.find(message.follower_member_id)
        if follower is not None and (core.state is not ElectionState.CLOSED or core.role is ClusterRole.LEADER):
            follower.update_log_position(message.log_leadership_term_id, message.log_position, core.now_ns)
        if core.state in LEADING:
            self._leading.on_canvass_position(message)
        elif core.state is ElectionState.CLOSED and core.role is ClusterRole.LEADER:
            self._leader_commit.on_canvass_position(message)

    def _on_request_vote(self, message: RequestVote) -> None:
        core = self._core
        if core.state is ElectionState.CLOSED:
            if message.candidate_term_id > core.leadership_term_id:
                # An official member lets the candidate ask again, in its next ballot.
                self._initiation.hold(message)
                self._initiation.enter_election(
                    f"unexpected vote request: leadershipTermId={core.leadership_term_id} candidateTermId={message.candidate_term_id}"
                )
        elif core.state is not ElectionState.INIT:
            self._canvass.on_request_vote(message, lambda: self._refuse(message))

    def _refuse(self, message: RequestVote) -> None:
        """Tell a candidate whose log is behind of this leader."""
        if self._core.state in LEADING:
            self._leading.answer(message.candidate_member_id, message.log_leadership_term_id)

    def _on_new_leadership_term(self, message: NewLeadershipTerm) -> None:
        core = self._core
        term_id = message.leadership_term_id
        self._note_leader_update(term_id)
        if core.state is ElectionState.INIT:
            return
        self._forget_graceful_close(message.leader_member_id)
        if core.state in UNDECIDED:
            self._consider_leader(message)
        elif core.state in FOLLOWING and message.leader_member_id == core.leader_id and term_id == core.leadership_term_id:
            self._following.on_leader_word(message.commit_position)
        elif term_id > core.leadership_term_id:
            self._begin_election_of(f"unexpected new leadership term: {term_id} of member {message.leader_member_id}")
        elif core.state is ElectionState.CLOSED and core.role is ClusterRole.FOLLOWER:
            self._follower_commit.on_leader_word(message)

    def _consider_leader(self, message: NewLeadershipTerm) -> None:
        """Follow a leader, unless it is one of an earlier term than this member may have voted another leader into.

        A member that went back to such a leader would have it commit what the other one's log has not got (Raft §5.1: stale terms are
        rejected). It stands for leader instead, which ends the stale term; the official member goes back.
        """
        core = self._core
        is_in_ballot = core.state in {ElectionState.CANDIDATE_BALLOT, ElectionState.FOLLOWER_BALLOT}
        if is_in_ballot and message.leadership_term_id < core.candidate_term_id:
            return
        if message.leadership_term_id >= core.voted_term_id:
            self._following.on_new_leadership_term(message)
        elif core.state is ElectionState.CANVASS and self._canvass.may_stand:
            self._canvass.stand(f"leader of term {message.leadership_term_id} is older than the vote in term {core.voted_term_id}")

    def _on_append_position(self, message: AppendPosition) -> None:
        core = self._core
        is_leading = core.state in LEADING or (core.state is ElectionState.CLOSED and core.role is ClusterRole.LEADER)
        if core.state is ElectionState.INIT or message.leadership_term_id > core.leadership_term_id:
            return
        follower = core.find(message.follower_member_id)
        if follower is not None and (is_leading or core.state is not ElectionState.CLOSED):
            follower.update_log_position(message.leadership_term_id, message.log_position, core.now_ns, is_following=True)
        if core.state in LEADING:
            self._leading.on_append_position(message)
        elif is_leading:
            self._leader_commit.on_append_position(message)

    def _on_commit_position(self, message: CommitPosition) -> None:
        core = self._core
        self._note_leader_update(message.leadership_term_id)
        if core.state in FOLLOWING and message.leader_member_id == core.leader_id:
            self._following.on_leader_word(message.log_position)
        elif message.leadership_term_id > core.leadership_term_id and core.state not in UNDECIDED | {ElectionState.INIT}:
            self._begin_election_of(f"unexpected commit position of term {message.leadership_term_id}")
        elif core.state is ElectionState.CLOSED and core.role is ClusterRole.FOLLOWER:
            self._follower_commit.on_leader_word(message)

    def _on_catchup_position(self, message: CatchupPosition) -> None:
        if self._core.role is ClusterRole.LEADER:
            self._core.catchups.on_catchup_position(message)

    def _on_termination_position(self, message: TerminationPosition) -> None:
        if self._core.state is ElectionState.CLOSED and self._core.role is ClusterRole.FOLLOWER:
            self._follower_commit.on_termination_position(message)

    def _begin_election_of(self, reason: str) -> None:
        """Leave a term for a later one that another member leads."""
        if self._core.state is ElectionState.CLOSED:
            self._initiation.enter_election(reason)
        else:
            self._initiation.begin_again(reason)

    def _note_leader_update(self, leadership_term_id: int) -> None:
        if leadership_term_id >= self._core.leadership_term_id:
            self._core.time_of_last_leader_update_ns = self._core.now_ns

    def _forget_graceful_close(self, member_id: int) -> None:
        if member_id == self._core.graceful_closed_leader_id:
            self._core.graceful_closed_leader_id = NULL_MEMBER_ID

    # Results

    def _on_replay_done(self, result: ReplayDone) -> None:
        if self._core.state is ElectionState.LEADER_REPLAY:
            self._leading.on_replay_done(result)
        elif self._core.state is ElectionState.FOLLOWER_REPLAY:
            self._following.on_replay_done(result)

    def _on_log_joined(self, result: LogJoined) -> None:
        if self._core.state is ElectionState.LEADER_INIT:
            self._leading.on_log_joined(result)
        elif self._core.state in {ElectionState.FOLLOWER_CATCHUP_AWAIT, ElectionState.FOLLOWER_LOG_AWAIT}:
            self._following.on_log_joined(result)

    def _on_term_event_appended(self, result: TermEventAppended) -> None:
        if self._core.state is ElectionState.LEADER_READY:
            self._leading.on_term_event_appended(result)
            self._take_recorded()
            self._leader_commit.begin()
            self._initiation.end_failures()

    def _on_log_recorded(self, result: LogRecorded) -> None:
        self._recorded = result
        if self._core.state in FOLLOWING:
            self._following.on_log_recorded(result.append_position)
        elif self._core.state is ElectionState.CLOSED:
            self._take_recorded()

    def _take_recorded(self) -> None:
        """Take what is recorded of the term's log by now; an election is decided by what was recorded before it."""
        core, recorded = self._core, self._recorded
        if recorded is not None:
            core.append_position = max(core.append_position, recorded.append_position)
            core.published_position = max(core.published_position, recorded.published_position)

    def _on_log_committed(self, result: LogCommitted) -> None:
        if self._core.role is ClusterRole.LEADER and self._core.state is ElectionState.CLOSED:
            self._core.log_position = max(self._core.log_position, result.log_position)

    def _on_log_consumed(self, result: LogConsumed) -> None:
        if self._core.role is ClusterRole.FOLLOWER or self._core.state is ElectionState.LEADER_REPLAY:
            self._core.log_position = max(self._core.log_position, result.log_position)

    def _on_log_image_closed(self, result: LogImageClosed) -> None:
        core = self._core
        if core.role is ClusterRole.FOLLOWER and core.state is ElectionState.CLOSED:
            leader_id = core.leader_id if result.is_end_of_stream else NULL_MEMBER_ID
            self._initiation.enter_election(f"log disconnected from leader: eos={result.is_end_of_stream}", leader_id)
        elif core.state in FOLLOWING:
            self._initiation.fail("unexpected image close of the log")

    def _on_send_failed(self, result: SendFailed) -> None:
        self._canvass.on_send_failed(result.member_id, result.message)
        self._following.on_send_failed(result.message)

    # CLOSED

    def _closed(self) -> None:
        """CLOSED: lead or follow the term."""
        core = self._core
        if core.role is ClusterRole.LEADER:
            self._leader_commit.tick()
        else:
            self._follower_commit.tick()

    def _complete_following(self) -> None:
        self._take_recorded()
        self._follower_commit.begin()
        self._initiation.end_failures()

    def _begin_canvass(self, held: RequestVote | None) -> None:
        self._core.enter(ElectionState.CANVASS)
        if held is not None:
            self._on_request_vote(held)

    def _lead_alone(self) -> None:
        self._leading.lead("single-node cluster leader")

    def _forget_log(self) -> None:
        self._following.reset()
        self._recorded = None
