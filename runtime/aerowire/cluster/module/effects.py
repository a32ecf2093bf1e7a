"""The effects of a member's consensus, carried out: files, streams and archive behind each, and the result that it has.

Effects that store something, and messages, are carried out at once, in their order; all others are operations of several steps, whose
results come later. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from aerowire.base.errors import AerowireError, ConsensusModuleError
from aerowire.cluster.agents.agent_events import LogEnd
from aerowire.cluster.consensus import effects, inputs
from aerowire.cluster.module.consensus_codec import encode_message
from aerowire.cluster.module.log.follower_log import FollowerLog
from aerowire.cluster.module.log.follower_terms import FollowerTerms
from aerowire.cluster.module.log.leader_log import LeaderLog
from aerowire.cluster.module.log.log_replay import replay_log
from aerowire.cluster.module.log.log_replication import replicate_log
from aerowire.cluster.module.operations import Operations
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.codecs.flyweights.events import ClusterEventCode
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.module.consensus_publisher import ConsensusPublisher
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.extension.extension_host import ExtensionHost
    from aerowire.cluster.module.log.log_consumption import LogConsumption
    from aerowire.cluster.module.log.log_publisher import LogPublisher
    from aerowire.cluster.module.log.log_recording import LogRecording
    from aerowire.cluster.module.node_services.service_control import ServiceControl

_Steps = Generator["Pending[Any] | None", Any, inputs.Result | None]


class ElectionListener(Protocol):
    """The member beside its consensus: sessions, timers, services, counters."""

    extension: ExtensionHost

    @property
    def may_read_log(self) -> bool:
        """Whether the log may be consumed on: not while a snapshot is taken at the position that it has come to."""
        ...

    def on_election_started(self, reason: str) -> None:
        """An election has begun."""
        ...

    def on_state(self, effect: effects.ChangeState) -> None:
        """The election has come to another state."""
        ...

    def on_role(self, role: ClusterRole) -> None:
        """The member has another role."""
        ...

    def on_log_left(self, log_position: int) -> None:
        """The log of a term was left: what was not committed up to a position is rolled back."""
        ...

    def on_election_complete(self, effect: effects.ElectionComplete) -> None:
        """The election has ended."""
        ...

    def on_terminate_at(self, position: int) -> None:
        """The leader has told where members end."""
        ...


class Effects:
    """Carries out effects in their order. Invariant: results are given after all effects that were returned with theirs."""

    def __init__(
        self,
        core: ModuleCore,
        *,
        recording: LogRecording,
        log_publisher: LogPublisher,
        consumption: LogConsumption,
        consensus_publisher: ConsensusPublisher,
        services: ServiceControl,
        listener: ElectionListener,
        give: Callable[[inputs.Result], object],
    ) -> None:
        """`give` gets results, in their order, before the machine sees any of them."""
        self._core = core
        self._recording = recording
        self._log_publisher = log_publisher
        self._consumption = consumption
        self._consensus_publisher = consensus_publisher
        self._services = services
        self._listener = listener
        self._give = give
        self._operations = Operations(give, core.errors.record)
        self._follower_log = FollowerLog(core, recording, consumption, services)
        self.follower_terms = FollowerTerms(core, recording, give)
        self.leader_log = LeaderLog(core, recording, log_publisher, services, give)
        self._is_leader = False
        self._is_following = False
        self._told: tuple[int, int] = (NULL_POSITION, NULL_POSITION)
        self._told_position = consumption.position
        self._handlers: Mapping[type, Callable[[Any], object]] = {
            effects.StoreCandidateTerm: self._store_candidate_term,
            effects.StoreTerm: self._store_term,
            effects.TruncateLog: self._truncate_log,
            effects.StopLog: self._stop_log,
            effects.Send: self._send,
            effects.ChangeState: listener.on_state,
            effects.ChangeRole: self._change_role,
            effects.ReportFailure: self._report_failure,
            effects.AddLogPublication: self._add_log_publication,
            effects.JoinLogAsLeader: self._join_log_as_leader,
            effects.AppendTermEvent: self._append_term_event,
            effects.StartLogReplication: self._start_log_replication,
            effects.StartReplay: self._start_replay,
            effects.AddCatchupDestination: self._add_catchup_destination,
            effects.AddLiveDestination: self._add_live_destination,
            effects.RemoveCatchupDestination: self._remove_catchup_destination,
            effects.JoinLogAsFollower: self._join_log_as_follower,
            effects.StartCatchup: self.leader_log.start_catchup,
            effects.StopCatchupReplay: self.leader_log.stop_catchup,
            effects.NotifyCommit: self._notify_commit,
            effects.ElectionStarted: lambda effect: listener.on_election_started(effect.reason),
            effects.ElectionComplete: self._complete_election,
            effects.TerminateAt: self._terminate_at,
        }

    def carry_out(self, decided: tuple[effects.Effect, ...]) -> None:
        """Carry out the effects of one decision, or begin to."""
        for effect in decided:
            try:
                self._handlers[type(effect)](effect)
            except AerowireError as error:
                self._core.errors.record(error)
                self._give(inputs.EffectFailed(f"{type(effect).__name__}: {error}"))

    def poll(self) -> int:
        """Proceed with what is under way and with the log, and tell of both; return how much was done."""
        work = self.leader_log.poll() + self._operations.poll()
        # Both are read BEFORE what is recorded, which they are at most.
        committed_position, consumed_position = self.leader_log.committed_position, self._consumption.position
        return work + self._tell_recorded() + self.leader_log.tell_committed(committed_position) + self._consume(consumed_position)

    def close(self) -> None:
        """Leave the log as a member that ends: without waiting."""
        self._operations.abandon()
        self.leader_log.close()
        self.follower_terms.end()
        self._follower_log.close()
        self._recording.stop_soon()

    # What goes on between effects

    def _tell_recorded(self) -> int:
        try:
            append_position = self._recording.append_position()
        except ConsensusModuleError as error:
            # The archive stops to record a log that its leader has closed, often before the image goes.
            is_log_closed, self._is_following = self._is_following and self._consumption.is_stream_ended, False
            self._give(inputs.LogImageClosed(is_end_of_stream=True) if is_log_closed else inputs.EffectFailed(str(error)))
            return 1
        published = self._log_publisher.position if self._is_leader else NULL_POSITION
        told = append_position, published
        if told == self._told or not self._recording.is_active:
            return 0
        self._told = told
        self._give(inputs.LogRecorded(append_position, published))
        return 1

    def _consume(self, position: int) -> int:
        """Let the log go on behind what was done for it, and tell up to where it is consumed, or that a leader's log has ended."""
        log = self._consumption
        log.sweep()
        may_read = self._listener.may_read_log
        done = int(may_read and log.resume())
        if position > self._told_position:
            self._told_position = position
            self._give(inputs.LogConsumed(position))
        if may_read and self._is_following and log.end is not None:
            self._is_following = False
            self._give(inputs.LogImageClosed(is_end_of_stream=log.end is LogEnd.OF_STREAM))
            done += 1
        return done

    # Stores

    def _store_candidate_term(self, effect: effects.StoreCandidateTerm) -> None:
        core = self._core
        core.node_state.update_candidate_term_id(effect.candidate_term_id, effect.log_position, core.ports.clock.now_ms())
        self._give(inputs.CandidateTermStored(effect.candidate_term_id))

    def _store_term(self, effect: effects.StoreTerm) -> None:
        core = self._core
        core.recording_log.ensure_coherent(
            self._recording.recording_id,
            initial_log_leadership_term_id=0,
            initial_term_base_log_position=0,
            leadership_term_id=effect.leadership_term_id,
            term_base_log_position=effect.term_base_log_position,
            log_position=effect.log_position,
            timestamp=core.cluster_clock.time(),
        )
        self._give(inputs.TermStored(effect.leadership_term_id))

    def _truncate_log(self, effect: effects.TruncateLog) -> None:
        self._operations.start(f"truncate the log to position {effect.position}", self._truncate(effect))

    def _truncate(self, effect: effects.TruncateLog) -> _Steps:
        recording_log = self._core.recording_log
        yield self._core.archive.async_truncate_recording(self._recording.recording_id, effect.position)
        self._recording.stop_position = effect.position
        for entry in [entry for entry in recording_log.entries if entry.is_valid_term]:
            if entry.leadership_term_id > effect.leadership_term_id:
                recording_log.invalidate_entry(entry)
        if not recording_log.is_unknown(effect.leadership_term_id):
            recording_log.commit_log_position(effect.leadership_term_id, effect.position)
        recording_log.force()
        self._core.events.tell(ClusterEventCode.TRUNCATE_LOG_ENTRY, leadership_term_id=effect.leadership_term_id, position=effect.position)
        return inputs.LogTruncated(effect.position)

    # Messages, states

    def _send(self, effect: effects.Send) -> None:
        data = encode_message(effect.message, self._core.cluster_clock.time())

        def on_sent(is_sent: bool) -> None:
            if not is_sent:
                self._give(inputs.SendFailed(effect.member_id, effect.message))

        self._consensus_publisher.send(effect.member_id, data, on_sent)

    def _change_role(self, effect: effects.ChangeRole) -> None:
        self._is_leader = effect.role is ClusterRole.LEADER
        self._listener.on_role(effect.role)

    def _report_failure(self, effect: effects.ReportFailure) -> None:
        self._core.errors.record(f"election failed - {effect.reason}", key="election failed")

    # The log of a leader

    def _add_log_publication(self, effect: effects.AddLogPublication) -> None:
        self._operations.start(f"add the log's publication at position {effect.position}", self._log_publisher.add(effect.position))

    def _join_log_as_leader(self, effect: effects.JoinLogAsLeader) -> None:
        self._core.set_counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID, effect.leadership_term_id)
        self._operations.start(f"join the log of term {effect.leadership_term_id} as leader", self._lead(effect))

    def _lead(self, effect: effects.JoinLogAsLeader) -> _Steps:
        joined = yield from self.leader_log.join(effect)
        yield from self._listener.extension.join_leader_log(self._log_publisher.services_channel(effect.log_session_id), effect.position)
        return joined

    def _append_term_event(self, effect: effects.AppendTermEvent) -> None:
        steps = self.leader_log.append_term_event(effect)
        self._operations.start(f"append the event that begins term {effect.leadership_term_id}", steps)

    def _complete_election(self, effect: effects.ElectionComplete) -> None:
        if self._is_leader:
            self.leader_log.hand_over(effect.leadership_term_id, effect.log_position)
        elif self._is_following:
            self.follower_terms.begin(effect)
        self._listener.on_election_complete(effect)

    # The log of a follower

    def _start_log_replication(self, effect: effects.StartLogReplication) -> None:
        self._operations.start(f"replicate the log of member {effect.leader_member_id}", self._replicate(effect))

    def _replicate(self, effect: effects.StartLogReplication) -> _Steps:
        leader = self._core.context.find_member(effect.leader_member_id)
        if leader is None:
            raise ConsensusModuleError("the leader is no member", actual=effect.leader_member_id)
        replicated = yield from replicate_log(
            self._core,
            leader,
            leader_recording_id=effect.leader_recording_id,
            recording_id=self._recording.recording_id,
            stop_position=effect.stop_position,
            on_progress=self._on_replicated,
        )
        self._recording.adopt(replicated.recording_id, replicated.position)
        return replicated

    def _on_replicated(self, progress: inputs.LogReplicated) -> None:
        self._recording.adopt(progress.recording_id, progress.position)
        self._give(progress)

    def _add_catchup_destination(self, effect: effects.AddCatchupDestination) -> None:
        self._operations.start("add the destination of the catch-up", self._follower_log.add_catchup_destination(effect.log_session_id))

    def _add_live_destination(self, effect: effects.AddLiveDestination) -> None:
        self._operations.start("add the destination of the live log", self._follower_log.add_live_destination(effect.log_session_id))

    def _remove_catchup_destination(self, _effect: effects.RemoveCatchupDestination) -> None:
        self._follower_log.remove_catchup_destination()

    def _join_log_as_follower(self, effect: effects.JoinLogAsFollower) -> None:
        self._operations.start(f"join the log of session {effect.log_session_id} as follower", self._join(effect))

    def _join(self, effect: effects.JoinLogAsFollower) -> _Steps:
        joined = yield from self._follower_log.join(effect.log_session_id, effect.position, is_startup=effect.is_startup)
        self._is_following = True
        return joined

    # The log of either

    def _start_replay(self, effect: effects.StartReplay) -> None:
        steps = replay_log(
            self._core,
            self._consumption,
            self._services,
            self._recording.recording_id,
            effect.from_position,
            effect.to_position,
            lambda: self._listener.may_read_log,
        )
        self._operations.start(f"replay the log from position {effect.from_position} to {effect.to_position}", steps)

    def _notify_commit(self, effect: effects.NotifyCommit) -> None:
        # Before services join the term's log they may still read that of the term before, of which a replay shows them what is committed.
        if self.leader_log.has_joined:
            self._core.raise_counter(CounterType.CLUSTER_COMMIT_POSITION, effect.position)
        elif self.follower_terms.has_term:
            self.follower_terms.notify_commit(effect.position)
        elif self._is_following:
            self._consumption.limit(effect.position)

    def _terminate_at(self, effect: effects.TerminateAt) -> None:
        self.follower_terms.terminate()
        self._listener.on_terminate_at(effect.position)

    def _stop_log(self, effect: effects.StopLog) -> None:
        self._is_following = False
        self._told = (NULL_POSITION, NULL_POSITION)
        self._operations.abandon()
        self._follower_log.close()
        self.leader_log.leave()
        self.follower_terms.end()
        self._operations.start("leave the log", self._stop(effect.log_position))

    def _stop(self, log_position: int) -> _Steps:
        # The end of the term comes after the results of its appends.
        while not self.leader_log.is_settled or self.follower_terms.has_term or not self._consumption.is_left:
            yield None
        # What the agent has committed or consumed meanwhile services may have: it is not taken back.
        log_position = max(log_position, self.leader_log.committed_position, self._consumption.position)
        yield from self._recording.stop()
        yield from self._follower_log.await_sockets_closed()
        self._listener.on_log_left(log_position)
        return inputs.LogStopped(self._recording.stop_position, log_position, self.follower_terms.leader_heard_ns)
