"""What operators ask of a cluster and a node, and how members end: toggles, snapshots, termination. Aeron: ConsensusModuleAgent.

A leader appends an action to the log, and is in the state that it stands for from then on; a follower once it has read that. A snapshot is
taken when all services have acknowledged theirs at the action's position.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.steps import Steps
from aerowire.base.errors import AerowireError
from aerowire.cluster.consensus.messages import TerminationPosition
from aerowire.cluster.module.consensus_codec import encode_message
from aerowire.cluster.module.node_services.service_acks import FAILED_ID
from aerowire.cluster.module.recording_log_validator import validate_recording_log
from aerowire.cluster.module.snapshot_taker import take_snapshot
from aerowire.cluster.module.standby_snapshot_replicator import replicate_standby_snapshots
from aerowire.cluster.module.termination import ClusterTermination
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cluster.enums import ClusterAction
from aerowire.codecs.flyweights.cluster.messages.termination_ack import TerminationAck
from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ClusterRole, ConsensusModuleState, NodeControlToggle
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_publisher import Appended
    from aerowire.cluster.module.member import Member
    from aerowire.cluster.module.node_services.service_acks import Ack
    from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest

_FLAGS_DEFAULT = 0
_FLAGS_STANDBY_SNAPSHOT = 1
_CONSENSUS_MODULE = -1
# What the toggle of a node asks for, as steps of its consensus module.
_NODE_ACTIONS: Mapping[int, tuple[str, Callable[[ModuleCore], Generator[Pending[Any] | None, Any, None]]]] = {
    NodeControlToggle.REPLICATE_STANDBY_SNAPSHOT: ("replicate standby snapshots", replicate_standby_snapshots),
    NodeControlToggle.VALIDATE_RECORDING_LOG: ("validate recording.log", validate_recording_log),
}


class MemberActions:
    """The actions of one member. Changed by toggles, the log, services and other members.

    Invariant: while `_taking` is set, the member's state is SNAPSHOT, and neither ingress nor log is read. While `is_appending`, an action
    is appended whose result is not known: nothing is appended behind it, because it may be that all members take a snapshot there.
    """

    def __init__(self, member: Member) -> None:
        """Start with nothing asked."""
        self._member = member
        self._core = member.core
        self.is_appending = False
        self._is_aborting = False
        self._taking: Steps[None] | None = None
        self._node_actions: dict[int, Steps[None]] = {}
        self._snapshot_begun_ns = 0
        self._snapshot_position = NULL_POSITION
        self._termination: ClusterTermination | None = None
        self._termination_position = NULL_POSITION
        self._termination_term_id = NULL_POSITION
        self._have_services_ended = False

    # The cycle

    def poll(self) -> int:
        """Proceed with a snapshot, and look whether a follower has come to the end; return how much was done."""
        work = 0
        if self._taking is not None and self._taking.poll():
            taking, self._taking = self._taking, None
            self._end_snapshot(taking)
            work += 1
        for toggle, steps in tuple(self._node_actions.items()):
            if steps.poll():
                del self._node_actions[toggle]
                self._note_failure(steps)
                work += 1
        return work + self._follow_termination()

    def tick(self, now_ns: int) -> None:
        """Obey toggles, and end a leader that has waited for the end of others."""
        member = self._member
        if member.is_leading:
            self._obey_cluster_toggle(now_ns)
            termination = self._termination
            if member.state is ConsensusModuleState.TERMINATING and termination is not None and termination.can_terminate(now_ns):
                self._terminate(self._termination_position)
        if member.state is ConsensusModuleState.ACTIVE and (member.is_leading or member.is_following):
            self._obey_node_toggle()
        self._begin_snapshot_without_services()

    def begin_term(self) -> None:
        """Forget the end that a former leader has told."""
        if self._termination is None:
            self._termination_position = NULL_POSITION

    def end_term(self, log_position: int) -> None:
        """Forget what the leader was about to do: it leads no more, and each of its appends has its result.

        A shutdown that the log does not have has not begun. Services know of an abort, and would wait for a position that may never come.
        """
        self._is_aborting = self.is_appending = False
        if self._termination is None or log_position >= self._termination_position:
            return
        if self._member.state is ConsensusModuleState.TERMINATING:
            why = f"the log of the term ended at {log_position}, before the abort at {self._termination_position}"
            self._member.end(why, is_expected=False)
        self._termination, self._termination_position = None, NULL_POSITION

    def close(self) -> None:
        """Give up what is under way."""
        for steps in (self._taking, *self._node_actions.values()):
            if steps is not None:
                steps.abandon()

    # Toggles

    def _obey_cluster_toggle(self, now_ns: int) -> None:
        member, toggle = self._member, self._core.counter_value(CounterType.CLUSTER_CONTROL_TOGGLE)
        if self._is_aborting:
            self._abort(now_ns)
        elif self.is_appending:
            return
        elif member.state is ConsensusModuleState.ACTIVE:
            match toggle:
                case ClusterControlToggle.SUSPEND:
                    self._append(ClusterAction.SUSPEND, lambda position: self._enter(ConsensusModuleState.SUSPENDED, position))
                case ClusterControlToggle.SNAPSHOT:
                    self._append(ClusterAction.SNAPSHOT, lambda position: self._enter(ConsensusModuleState.SNAPSHOT, position))
                case ClusterControlToggle.STANDBY_SNAPSHOT:
                    self._append(ClusterAction.SNAPSHOT, lambda _: self._reset_toggle(), _FLAGS_STANDBY_SNAPSHOT)
                case ClusterControlToggle.SHUTDOWN:
                    self._append(ClusterAction.SNAPSHOT, self._shut_down)
                case ClusterControlToggle.ABORT:
                    self._is_aborting = self.is_appending = True
                    member.tell_activity()
        elif member.state is ConsensusModuleState.SUSPENDED and toggle == ClusterControlToggle.RESUME:
            self._append(ClusterAction.RESUME, self._resume)

    def _abort(self, now_ns: int) -> None:
        """End at the position of the log, once nothing comes behind it any more."""
        member, publisher = self._member, self._member.log_publisher
        if publisher is not None and publisher.is_settled and member.is_ingress_closed:
            self._is_aborting = self.is_appending = False
            self._begin_termination(publisher.position, now_ns)
            self._terminate_services()

    def _obey_node_toggle(self) -> None:
        """Begin what the toggle of the node asks for, unless that is under way, and take the toggle back."""
        toggle = self._core.counter_value(CounterType.NODE_CONTROL_TOGGLE)
        if toggle not in _NODE_ACTIONS:
            return
        if toggle not in self._node_actions:
            what, begin = _NODE_ACTIONS[toggle]
            self._node_actions[toggle] = Steps(what, begin(self._core))
        self._core.set_counter(CounterType.NODE_CONTROL_TOGGLE, NodeControlToggle.NEUTRAL)

    def _append(self, action: ClusterAction, on_appended: Callable[[int], object], flags: int = _FLAGS_DEFAULT) -> None:
        """Append an action if there is room, and then call `on_appended` with the position behind it."""
        member, publisher = self._member, self._member.log_publisher
        if publisher is None or not publisher.has_room:
            return

        def on_result(appended: Appended) -> None:
            self.is_appending = False
            if not appended.is_refused:
                on_appended(appended.position)
            member.tell_activity()

        self.is_appending = True
        member.tell_activity()
        publisher.append_cluster_action(member.leadership_term_id, action, flags, on_result)

    def _enter(self, state: ConsensusModuleState, position: int) -> None:
        """Become the state that an appended action stands for."""
        self._member.replicated.uncommitted_states.add(position, self._member.state)
        self._become(state)
        if state is ConsensusModuleState.SNAPSHOT:
            self._expect_snapshot(position)
            # Services may have read the action, and acknowledged it, before its result came.
            self._member.sweep()
            self.on_service_acks()

    def _resume(self, position: int) -> None:
        self._enter(ConsensusModuleState.ACTIVE, position)
        self._reset_toggle()

    def _shut_down(self, position: int) -> None:
        """Take a snapshot, and end behind it, unless the term has ended since."""
        self._enter(ConsensusModuleState.SNAPSHOT, position)
        if self._member.is_leading:
            self._begin_termination(position, self._core.ports.clock.now_ns())

    def _become(self, state: ConsensusModuleState) -> None:
        if state is ConsensusModuleState.SNAPSHOT:
            self._snapshot_begun_ns = self._core.ports.clock.now_ns()
        self._member.set_state(state)

    def _reset_toggle(self) -> None:
        self._core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, ClusterControlToggle.NEUTRAL)

    # The log of another leader, or of before

    def on_cluster_action(self, event: ClusterActionRequest, log_position: int) -> None:
        """Take an action that the log has."""
        if event.leadership_term_id != self._member.leadership_term_id:
            return
        if event.action == ClusterAction.SUSPEND:
            self._become(ConsensusModuleState.SUSPENDED)
        elif event.action == ClusterAction.RESUME:
            self._become(ConsensusModuleState.ACTIVE)
        elif event.action == ClusterAction.SNAPSHOT and not event.flags:
            self._become(ConsensusModuleState.SNAPSHOT)
            self._expect_snapshot(log_position)
            self._begin_snapshot_without_services(log_position)

    # Services

    def on_service_acks(self) -> None:
        """Take a round of acknowledgements, if one is complete and asked for."""
        member, acks = self._member, self._member.services.acks
        is_snapshot = member.state is ConsensusModuleState.SNAPSHOT and self._taking is None
        if not acks.service_count:
            return
        if is_snapshot and not acks.is_snapshot_expected:
            self._taking = Steps("take no snapshot, as services did not read of it", self._skip())
        elif acks.is_snapshot_next and acks.is_round_complete:
            round_ = acks.take_snapshot_round()
            if is_snapshot:
                self._begin_snapshot(round_, round_[0].log_position)
        elif not acks.is_settled or not acks.is_round_complete:
            return
        elif member.state is ConsensusModuleState.TERMINATING:
            (ack, *_) = acks.take_round()
            self._on_services_terminated(ack.log_position)
        elif member.state is ConsensusModuleState.QUITTING:
            acks.take_round()
            member.end("quit", is_expected=True)

    # Snapshots

    def _expect_snapshot(self, log_position: int) -> None:
        self._snapshot_position = log_position
        self._member.services.acks.expect_snapshot(log_position)

    def _begin_snapshot_without_services(self, consumed_position: int = NULL_POSITION) -> None:
        """Take the snapshot of a member that has no services, once the log is committed up to the action, or consumed."""
        member = self._member
        is_awaited = member.state is ConsensusModuleState.SNAPSHOT and self._taking is None and not member.services.acks.service_count
        if is_awaited and max(consumed_position, member.commit_position) >= self._snapshot_position:
            self._begin_snapshot((), self._snapshot_position)

    def _begin_snapshot(self, acks: tuple[Ack, ...], log_position: int) -> None:
        failed = [service_id for service_id, ack in enumerate(acks) if ack.relevant_id == FAILED_ID]
        for service_id in failed:
            self._core.errors.record(f"service={service_id} failed to take snapshot", key="failed to take snapshot")
        steps = self._skip() if failed else self._take(acks, log_position)
        self._taking = Steps(f"take a snapshot at position {log_position}", steps)

    def _skip(self) -> Generator[None, None, None]:
        """Take no snapshot: a set without a service's is none."""
        return
        yield

    def _take(self, acks: tuple[Ack, ...], log_position: int) -> Generator[Pending[Any] | None, Any, None]:
        """Take the consensus module's snapshot, then note the set: services by descending id, the consensus module LAST."""
        core, member = self._core, self._member
        term_id, timestamp = member.leadership_term_id, core.cluster_clock.time()
        recording_id = yield from take_snapshot(core, member.replicated.state(), log_position, term_id, member.extension.take_snapshot)
        log = core.recording_log
        base = log.get_term_entry(term_id).term_base_log_position
        for service_id in range(len(acks) - 1, -1, -1):
            log.append_snapshot(acks[service_id].relevant_id, term_id, base, log_position, timestamp, service_id)
        log.append_snapshot(recording_id, term_id, base, log_position, timestamp, _CONSENSUS_MODULE)
        log.force()
        core.increment(CounterType.CLUSTER_SNAPSHOT)

    def _end_snapshot(self, taking: Steps[None]) -> None:
        member, now_ns = self._member, self._core.ports.clock.now_ns()
        is_fatal = self._note_failure(taking)
        self._measure(now_ns - self._snapshot_begun_ns)
        member.replicated.sessions.update_time_of_last_activity()
        if is_fatal:
            member.end("no space for a snapshot", is_expected=False)
        elif self._termination is not None:
            self._termination.extend(now_ns + self._core.context.termination_timeout_ns)
            self._terminate_services()
        else:
            member.set_state(ConsensusModuleState.ACTIVE)
            if member.role is ClusterRole.LEADER:
                self._reset_toggle()

    def _note_failure(self, steps: Steps[None]) -> bool:
        """Record why steps have failed, if they have; return whether for want of space."""
        try:
            steps.result()
        except AerowireError as error:
            self._core.errors.record(f"failed to {steps.what}: {error}", key=f"failed: {type(error).__name__}")
            return error.error_code == ArchiveErrorCode.STORAGE_SPACE
        return False

    def _measure(self, duration_ns: int) -> None:
        longest = self._core.counters[CounterType.CLUSTER_TOTAL_MAX_SNAPSHOT_DURATION]
        if not longest.is_closed:
            longest.propose_max(duration_ns)
            if duration_ns > self._core.context.total_snapshot_threshold_ns:
                self._core.increment(CounterType.CLUSTER_TOTAL_SNAPSHOT_DURATION_THRESHOLD_EXCEEDED)

    # Termination

    @property
    def termination_position(self) -> int:
        """Where the member ends in the log, which the log of a leader that aborts may never come to."""
        return self._termination_position

    def terminate_at(self, position: int) -> None:
        """End where the leader says."""
        self._termination_position, self._termination_term_id = position, self._member.leadership_term_id

    def on_termination_ack(self, member_id: int, log_position: int) -> None:
        """Take a follower's word that it has ended."""
        if self._termination is not None and log_position >= self._termination_position:
            self._termination.on_member_terminated(member_id)

    def _begin_termination(self, position: int, now_ns: int) -> None:
        """Tell followers where to end."""
        core, member = self._core, self._member
        self.terminate_at(position)
        followers = [other.member_id for other in core.context.members if other is not core.context.member]
        self._termination = ClusterTermination(followers, now_ns + core.context.termination_timeout_ns)
        message = encode_message(TerminationPosition(member.leadership_term_id, position), 0)
        for member_id in followers:
            if member.consensus_publisher is not None:
                member.consensus_publisher.send(member_id, message, partial(self._on_termination_position_sent, member_id))

    def _on_termination_position_sent(self, member_id: int, is_sent: bool) -> None:
        if not is_sent:
            self._core.errors.warn(f"failed to send termination position to member={member_id}")

    def _terminate_services(self) -> None:
        member = self._member
        member.set_state(ConsensusModuleState.TERMINATING)
        if member.services.acks.service_count:
            member.services.terminate(self._termination_position, is_ack_required=True)
        else:
            self._on_services_terminated(self._termination_position)

    def _follow_termination(self) -> int:
        member, consumption = self._member, self._member.consumption
        if (
            self._termination_position == NULL_POSITION
            or not member.is_following
            or not member.may_read_log
            or consumption is None
            or consumption.position < self._termination_position
        ):
            return 0
        self._terminate_services()
        return 1

    @property
    def is_awaiting_services(self) -> bool:
        """Whether services were told where to end, and have not come there."""
        return self._member.state is ConsensusModuleState.TERMINATING and not self._have_services_ended

    def _on_services_terminated(self, log_position: int) -> None:
        core, member = self._core, self._member
        self._have_services_ended = True
        if self._termination is not None and member.role is ClusterRole.LEADER:
            self._termination.on_services_terminated()  # the leader ends in a tick
            return
        if self._termination_term_id == member.leadership_term_id and member.consensus_publisher is not None:
            ack = TerminationAck(
                leadership_term_id=member.leadership_term_id, log_position=log_position, member_id=core.context.cluster_member_id
            )
            # The member ends once it has left: the publication is closed then.
            member.consensus_publisher.send(member.leader_member_id, ack.encode(), lambda _: self._terminate(log_position))
        else:
            core.errors.record("termination ack not sent - different leadership term to request")
            self._terminate(log_position)

    def _terminate(self, log_position: int) -> None:
        self._core.recording_log.commit_log_position(self._member.leadership_term_id, log_position)
        self._member.end("terminated", is_expected=True)
