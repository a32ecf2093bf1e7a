"""The states of a member that has found a leader: FOLLOWER_LOG_REPLICATION, FOLLOWER_REPLAY, the catch-up, the live log, FOLLOWER_READY."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.cluster.consensus.effects import (
    AddCatchupDestination,
    AddLiveDestination,
    JoinLogAsFollower,
    NotifyCommit,
    RemoveCatchupDestination,
    StartLogReplication,
    StartReplay,
    TruncateLog,
)
from aerowire.cluster.consensus.inputs import LogTruncated
from aerowire.cluster.consensus.leader_log import Decision, LeaderLog, Step
from aerowire.cluster.consensus.messages import (
    APPEND_POSITION_FLAG_CATCHUP,
    APPEND_POSITION_FLAG_NONE,
    AppendPosition,
    CanvassPosition,
    CatchupPosition,
    NewLeadershipTerm,
    StopCatchup,
)
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cnc import ElectionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.core import ConsensusCore
    from aerowire.cluster.consensus.inputs import CatchupDestinationAdded, LogJoined, LogReplicated, ReplayDone, TermReplayed

FOLLOWING = frozenset(
    {
        ElectionState.FOLLOWER_LOG_REPLICATION,
        ElectionState.FOLLOWER_REPLAY,
        ElectionState.FOLLOWER_CATCHUP_INIT,
        ElectionState.FOLLOWER_CATCHUP_AWAIT,
        ElectionState.FOLLOWER_CATCHUP,
        ElectionState.FOLLOWER_LOG_INIT,
        ElectionState.FOLLOWER_LOG_AWAIT,
        ElectionState.FOLLOWER_READY,
    }
)
LIVE_ADD_MAX_WINDOW = 32 * 1024 * 1024


class Following:
    """Brings a follower's log to the leader's, and joins it.

    A term is stored BEFORE its log is recorded, and BEFORE the leader is sent an append position that it counts for the term. The official
    follower stores it when it has joined the log: what it recorded until then it would take for a log of the term before, if it ended.
    """

    def __init__(
        self, core: ConsensusCore, fail: Callable[[str], None], begin_again: Callable[[str], None], completed: Callable[[], None]
    ) -> None:
        """Start without a leader. `fail` is for failures, `begin_again` for what the protocol asks for."""
        self._core = core
        self._fail = fail
        self._begin_again = begin_again
        self._completed = completed
        self._leader_log = LeaderLog()
        self._decision = Decision(Step.IGNORE)
        self._is_busy = False
        self._is_live_added = False
        self._is_catchup_added = False
        self._is_request_due = False
        self._catchup_endpoint = ""
        self._live_add_window = LIVE_ADD_MAX_WINDOW
        self._time_of_last_word_ns = 0
        self._time_of_last_progress_ns = 0
        self._published_append_position = NULL_POSITION

    def reset(self) -> None:
        """Forget what was under way."""
        self._is_busy = self._is_live_added = self._is_catchup_added = self._is_request_due = False
        self._published_append_position = NULL_POSITION

    # Messages

    def on_new_leadership_term(self, message: NewLeadershipTerm) -> None:
        """Take the next step towards a leader's log. Aeron: Election.onNewLeadershipTerm."""
        core = self._core
        decision = self._leader_log.decide(message, core.terms, core.log_leadership_term_id, core.append_position, core.log_position)
        if decision.step is Step.IGNORE:
            return
        if decision.step in {Step.CANVASS, Step.ASK}:
            core.enter(ElectionState.CANVASS, decision.reason)
            if decision.step is Step.ASK:
                self._ask(message.leader_member_id)
            elif core.time_of_last_update_ns is not None:  # it canvassed in this state already: tell the leader only
                core.send(
                    message.leader_member_id,
                    CanvassPosition(core.log_leadership_term_id, core.append_position, core.leadership_term_id, core.member_id),
                )
        elif decision.step is Step.TRUNCATE:
            self._truncate(decision)
        else:
            self._adopt(message)
            self._decision = decision
            if decision.step is Step.REPLICATE:
                core.enter(ElectionState.FOLLOWER_LOG_REPLICATION, f"to position {decision.position}")
            else:
                core.enter(ElectionState.FOLLOWER_REPLAY)
                self._store_term_at_base()

    def on_leader_word(self, commit_position: int) -> None:
        """The leader lives, and its log is committed up to a position."""
        core = self._core
        self._time_of_last_word_ns = core.now_ns
        if commit_position > core.notified_commit_position:
            core.notified_commit_position = commit_position
            if core.state is ElectionState.FOLLOWER_CATCHUP:
                core.emit(NotifyCommit(commit_position))

    def on_stop_catchup(self, message: StopCatchup) -> None:
        """End the catch-up: the leader has stopped its replay."""
        core = self._core
        if message.leadership_term_id == core.leadership_term_id and message.follower_member_id == core.member_id:
            self.remove_catchup_destination()

    def remove_catchup_destination(self) -> None:
        """Leave the endpoint of the catch-up, if the log is read there."""
        if self._is_catchup_added:
            self._is_catchup_added = False
            self._core.emit(RemoveCatchupDestination())

    # Ticks

    def check_leader(self) -> bool:
        """Whether the leader was heard of in time; otherwise the election begins again.

        The official follower has a limit in most of its states only, and would wait for ever in FOLLOWER_REPLAY.
        """
        core = self._core
        if core.now_ns - self._time_of_last_word_ns >= core.options.leader_heartbeat_timeout_ns:
            self._begin_again(f"leader {core.leader_id} is silent in {core.state.name}")
            return False
        return True

    def log_replication(self) -> None:
        """FOLLOWER_LOG_REPLICATION: replicate what is missing of the terms before the leader's."""
        if not self._is_busy:
            self._is_busy = True
            self._store_replicated_term(self._start_replication)
        elif self._core.append_position < self._decision.position and self._core.has_update_interval_expired(
            self._core.options.leader_heartbeat_interval_ns
        ):
            self._publish_append_position()

    def replay(self) -> None:
        """FOLLOWER_REPLAY: have services consume the log once all of it is committed; tell the leader of it until then.

        A commit position below the log's end is not acted on: it may be one of an earlier term that no majority holds in this term.
        """
        core = self._core
        if self._is_busy:
            return
        if core.log_position >= core.append_position:
            self._is_busy = False
            is_behind = core.catchup_join_position != NULL_POSITION
            core.enter(ElectionState.FOLLOWER_CATCHUP_INIT if is_behind else ElectionState.FOLLOWER_LOG_INIT)
        elif core.notified_commit_position >= core.append_position:
            self._is_busy = True
            core.emit(NotifyCommit(core.append_position))
            core.emit(StartReplay(core.log_position, core.append_position))
        elif core.append_position != self._published_append_position or core.has_update_interval_expired(
            core.options.leader_heartbeat_interval_ns
        ):
            self._publish_append_position()

    def catchup_init(self) -> None:
        """FOLLOWER_CATCHUP_INIT: open the endpoint of the catch-up; its result sends the request."""
        core = self._core
        if not self._is_busy and core.log_session_id is not None:
            self._is_busy = self._is_catchup_added = True
            core.emit(AddCatchupDestination(core.log_session_id))

    def await_catchup(self) -> None:
        """FOLLOWER_CATCHUP_AWAIT: ask again if the request did not leave; the replay has to be joined in time."""
        core = self._core
        if self._is_request_due and core.has_update_interval_expired(core.options.election_status_interval_ns):
            self._request_catchup()
        self.await_log()

    def await_log(self) -> None:
        """FOLLOWER_LOG_AWAIT: the log has to be joined within the heartbeat timeout."""
        core = self._core
        if core.has_stayed(core.options.leader_heartbeat_timeout_ns):
            self._fail(f"failed to join the log of session {core.log_session_id} in {core.state.name}")

    def catchup(self) -> None:
        """FOLLOWER_CATCHUP: add the live log when near to it, and go on with it once the leader has stopped the replay."""
        core = self._core
        target = max(core.catchup_join_position, core.notified_commit_position)
        if not self._is_live_added and core.log_session_id is not None and core.log_position >= target - self._live_add_window:
            self._is_live_added = True
            core.emit(AddLiveDestination(core.log_session_id))
        if core.log_position >= target and not self._is_catchup_added:
            # What is recorded beyond that is of the same term, and consumed as it is committed.
            self._is_busy = False
            core.enter(ElectionState.FOLLOWER_LOG_INIT)
        elif core.now_ns - self._time_of_last_progress_ns > core.options.leader_heartbeat_timeout_ns:
            self._fail(f"no progress of the catch-up at position {core.append_position}, up to {target}")
        elif core.has_update_interval_expired(core.options.leader_heartbeat_interval_ns):
            self._publish_append_position(APPEND_POSITION_FLAG_CATCHUP)

    def log_init(self) -> None:
        """FOLLOWER_LOG_INIT: join the live log, unless the catch-up has joined it."""
        core = self._core
        if self._is_live_added:
            core.enter(ElectionState.FOLLOWER_READY)
        elif core.log_session_id is not None:
            self._is_live_added = True
            core.enter(ElectionState.FOLLOWER_LOG_AWAIT)
            core.emit(AddLiveDestination(core.log_session_id))
            self._join()

    def ready(self) -> None:
        """FOLLOWER_READY: tell the leader, and end the election. Should the message be lost, the next one follows in an interval."""
        self._publish_append_position()
        self._core.complete()
        self._completed()

    # Results

    def on_log_replicated(self, result: LogReplicated) -> None:
        """Tell the leader what is recorded, at the end AFTER the terms that end or begin there are stored."""
        core = self._core
        if core.state is not ElectionState.FOLLOWER_LOG_REPLICATION:
            return
        core.log_recording_id = result.recording_id
        core.append_position = max(core.append_position, min(result.position, self._decision.position))
        if not result.is_ended:
            if core.append_position < self._decision.position:
                self._store_replicated_term(self._publish_append_position)
        elif core.append_position < self._decision.position:
            self._fail(f"replication ended at position {core.append_position}, but was to go to {self._decision.position}")
        else:
            self._end_replication()

    def on_replay_done(self, result: ReplayDone) -> None:
        """Services have consumed the log that is recorded."""
        self._core.log_position = max(self._core.log_position, result.position)
        self._is_busy = False

    def on_term_replayed(self, result: TermReplayed) -> None:
        """Store a term that the log has and recording.log has not. Aeron: onReplayNewLeadershipTermEvent."""
        core = self._core
        if core.state in FOLLOWING and core.log_leadership_term_id < result.leadership_term_id <= core.leadership_term_id:
            core.store_term(result.leadership_term_id, result.term_base_log_position, NULL_POSITION, _nothing)

    def on_catchup_destination_added(self, result: CatchupDestinationAdded) -> None:
        """Ask the leader for a replay, and wait for it."""
        core = self._core
        if core.state is not ElectionState.FOLLOWER_CATCHUP_INIT:
            return
        self._catchup_endpoint = result.catchup_endpoint
        self._time_of_last_progress_ns = core.now_ns
        core.enter(ElectionState.FOLLOWER_CATCHUP_AWAIT)
        self._request_catchup()
        self._join()

    def on_send_failed(self, message: object) -> None:
        """Ask the leader again for a replay, if the request did not leave."""
        if isinstance(message, CatchupPosition) and self._core.state is ElectionState.FOLLOWER_CATCHUP_AWAIT:
            self._is_request_due = True

    def on_log_joined(self, result: LogJoined) -> None:
        """Store the term, if it is not yet, and go on: with the catch-up, or as a follower that is ready."""
        core = self._core
        core.log_recording_id = result.recording_id
        self._live_add_window = min(result.term_buffer_length >> 2, LIVE_ADD_MAX_WINDOW)
        is_catchup = core.state is ElectionState.FOLLOWER_CATCHUP_AWAIT
        joined = self._joined_catchup if is_catchup else self._joined_live
        core.store_term(core.leadership_term_id, core.term_base_log_position, NULL_POSITION, joined)

    def on_log_recorded(self, append_position: int) -> None:
        """Tell the leader of what the catch-up has recorded."""
        core = self._core
        if append_position > core.append_position:
            core.append_position = append_position
            if core.state is ElectionState.FOLLOWER_CATCHUP:
                self._time_of_last_progress_ns = core.now_ns
                self._publish_append_position(APPEND_POSITION_FLAG_CATCHUP)

    # Steps

    def _adopt(self, message: NewLeadershipTerm) -> None:
        """Follow a leader: its term is this member's (Raft §5.1)."""
        core = self._core
        core.leader_id = message.leader_member_id
        core.is_leader_startup = message.is_startup
        core.leadership_term_id = message.leadership_term_id
        core.candidate_term_id = max(message.leadership_term_id, core.candidate_term_id)
        core.log_session_id = message.log_session_id
        core.leader_recording_id = message.leader_recording_id
        core.term_base_log_position = message.term_base_log_position
        is_behind = core.append_position < message.log_position
        core.catchup_join_position = message.log_position if is_behind else NULL_POSITION
        core.notified_commit_position = max(core.notified_commit_position, message.commit_position)
        self.reset()
        self._time_of_last_word_ns = core.now_ns

    def _ask(self, leader_member_id: int) -> None:
        """Ask where the log term begins in the leader's log, by a canvass as of a log that ends there."""
        core = self._core
        last = core.terms.last
        if last is not None:
            core.send(
                leader_member_id,
                CanvassPosition(last.leadership_term_id - 1, last.term_base_log_position, core.leadership_term_id, core.member_id),
            )

    def _truncate(self, decision: Decision) -> None:
        """Remove what the leader's log has not got, BEFORE this member answers for the leader's term; then begin again."""
        core = self._core

        def truncated() -> None:
            core.terms.truncate(decision.leadership_term_id, decision.position)
            core.log_leadership_term_id = core.terms.last_term_id
            core.append_position = decision.position
            self._begin_again(f"log truncated to position {decision.position}")

        core.emit(TruncateLog(decision.leadership_term_id, decision.position))
        core.awaited = (LogTruncated(decision.position), truncated)

    def _store_term_at_base(self) -> None:
        """Store the leader's term as soon as the log has come to its base."""
        core = self._core
        if core.append_position == core.term_base_log_position:
            core.store_term(core.leadership_term_id, core.term_base_log_position, NULL_POSITION, _nothing)

    def _store_replicated_term(self, then: Callable[[], None]) -> None:
        """Store the term whose log is replicated."""
        core, decision = self._core, self._decision
        if decision.term_base_log_position != NULL_POSITION:
            core.store_term(decision.leadership_term_id, decision.term_base_log_position, NULL_POSITION, then)
        else:
            then()

    def _start_replication(self) -> None:
        core = self._core
        if core.append_position < self._decision.position:
            core.emit(StartLogReplication(core.leader_id, core.leader_recording_id, self._decision.position))
        else:
            self._end_replication()

    def _end_replication(self) -> None:
        core, decision = self._core, self._decision
        entry = core.terms.find(decision.leadership_term_id)
        base = decision.term_base_log_position if entry is None else entry.term_base_log_position
        core.store_term(decision.leadership_term_id, max(base, 0), decision.position, self._replicated_term)

    def _replicated_term(self) -> None:
        self._leader_log.on_replicated(self._decision.leadership_term_id)
        core = self._core
        if core.append_position == core.term_base_log_position:
            core.store_term(core.leadership_term_id, core.term_base_log_position, NULL_POSITION, self._replicated)
        else:
            self._replicated()

    def _replicated(self) -> None:
        self._is_busy = False
        self._publish_append_position()
        self._core.enter(ElectionState.CANVASS, f"replicated to position {self._core.append_position}")

    def _join(self) -> None:
        """Join the log from the position up to which it is recorded; store its term BEFORE."""
        core = self._core
        core.store_term(core.leadership_term_id, core.term_base_log_position, NULL_POSITION, self._emit_join)

    def _emit_join(self) -> None:
        core = self._core
        if core.log_session_id is not None:
            core.emit(JoinLogAsFollower(core.log_session_id, core.append_position, core.is_leader_startup))

    def _joined_catchup(self) -> None:
        core = self._core
        core.enter(ElectionState.FOLLOWER_CATCHUP)
        self._time_of_last_progress_ns = core.now_ns
        core.emit(NotifyCommit(core.notified_commit_position))

    def _joined_live(self) -> None:
        self._core.enter(ElectionState.FOLLOWER_READY)

    def _request_catchup(self) -> None:
        core = self._core
        self._is_request_due = False
        core.time_of_last_update_ns = core.now_ns
        core.send(
            core.leader_id,
            CatchupPosition(core.leadership_term_id, core.append_position, core.member_id, self._catchup_endpoint),
        )

    def _publish_append_position(self, flags: int = APPEND_POSITION_FLAG_NONE) -> None:
        core = self._core
        core.time_of_last_update_ns = core.now_ns
        self._published_append_position = core.append_position
        core.send(core.leader_id, AppendPosition(core.leadership_term_id, core.append_position, core.member_id, flags))


def _nothing() -> None:
    """Go on as before."""
