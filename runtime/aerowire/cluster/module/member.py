"""The member beside its consensus: its state and role, its services, what it does as a leader and as a follower, and its end.

Aeron: ConsensusModuleAgent, outside of elections. Toggles and snapshots are `member_actions`, what the log builds is `replicated_state`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ConsensusModuleError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.inputs import Result, TermReplayed
from aerowire.cluster.consensus.member_states import MemberState
from aerowire.cluster.consensus.members import encode_members
from aerowire.cluster.module.clients.client_sessions import ClientSessions
from aerowire.cluster.module.clients.ingress_adapter import IngressAdapter, source_of
from aerowire.cluster.module.extension.extension_host import ExtensionHost
from aerowire.cluster.module.member_actions import MemberActions
from aerowire.cluster.module.node_services.service_acks import Ack
from aerowire.cluster.module.replicated_state import ReplicatedState
from aerowire.cluster.module.snapshot_taker import load_snapshot
from aerowire.cluster.sessions import inputs as session_inputs
from aerowire.cluster.sessions.request_codec import BackupRecord, backup_request_of
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.challenge_response import ChallengeResponse
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.cluster_members_query import ClusterMembersQuery
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ClusterRole, ConsensusModuleState, ElectionState, NodeControlToggle
from aerowire.codecs.flyweights.events import ClusterEventCode
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.actions import Action
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.agents.message_image import MessageImage
    from aerowire.cluster.consensus.effects import ChangeState, ElectionComplete
    from aerowire.cluster.consensus.machine import ConsensusMachine
    from aerowire.cluster.files.snapshot_sets import Snapshot
    from aerowire.cluster.module.consensus_publisher import ConsensusPublisher
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.leader_log import LeaderLog
    from aerowire.cluster.module.log.log_consumption import LogConsumption
    from aerowire.cluster.module.log.log_publisher import LogPublisher
    from aerowire.cluster.module.node_services.service_codec import Word
    from aerowire.cluster.module.node_services.service_control import ServiceControl
    from aerowire.cluster.module.recovery import Recovered
    from aerowire.cluster.sessions.extension_message import ExtensionMessage
    from aerowire.codecs.flyweights.cluster.messages.termination_ack import TerminationAck
    from aerowire.ipc.counters import CountersReader

# Toggles, and what waits for a time, are looked at that often. Aeron: SLOW_TICK_INTERVAL_NS.
_TICK_INTERVAL_NS = 10_000_000


class Member:
    """The state of one member. Changed by the log, its services, elections and toggles. Invariant: `state` is what the counter shows."""

    def __init__(self, core: ModuleCore, services: ServiceControl) -> None:
        """Start in INIT."""
        self.core = core
        self.services = services
        self.machine: ConsensusMachine | None = None
        self.log_publisher: LogPublisher | None = None
        self.leader_log: LeaderLog | None = None
        self.consumption: LogConsumption | None = None
        self.consensus_publisher: ConsensusPublisher | None = None
        self.state = ConsensusModuleState.INIT
        self.role = ClusterRole.FOLLOWER
        self.leader_member_id = NULL_VALUE
        self.leadership_term_id = NULL_VALUE
        self.has_ended = False
        self._election_state = ElectionState.INIT
        self._give: Callable[[Result], object] = lambda _: None
        self._counter_handler: int | None = None
        self._tick_ns: int | None = None
        self._swept: tuple[int, int] = (NULL_VALUE, 0)
        self._sessions = ClientSessions(core)
        self.extension = ExtensionHost(
            core, self._sessions, may_append=lambda: self.is_leading and self.is_active, end=lambda why: self.end(why, is_expected=True)
        )
        self._sessions.listen(self.extension.on_session_opened, self.extension.on_session_closed)
        self._ingress = IngressAdapter(core, self._sessions, self.extension)
        self.replicated = ReplicatedState(core, self._sessions)
        self._actions = MemberActions(self)
        self.set_role(ClusterRole.FOLLOWER)

    # Its life

    def load_snapshot(self, image: Image, snapshot: Snapshot) -> Generator[Pending[Any] | None, Any, None]:
        """Read the consensus module's own snapshot, and let the extension read on, in steps."""
        yield from load_snapshot(self.core, image, snapshot, self.replicated.load)
        yield from self.extension.start(image)

    def begin(
        self,
        recovered: Recovered,
        machine: ConsensusMachine,
        log_publisher: LogPublisher,
        leader_log: LeaderLog,
        consumption: LogConsumption,
        consensus_publisher: ConsensusPublisher,
        give: Callable[[Result], object],
    ) -> None:
        """Take over what was recovered, BEFORE the first election."""
        core = self.core
        self.machine, self.log_publisher, self.leader_log, self.consumption = machine, log_publisher, leader_log, consumption
        self.consensus_publisher, self._give = consensus_publisher, give
        self.services.client_ids = recovered.client_ids
        self._counter_handler = core.aeron.add_unavailable_counter_handler(self._on_unavailable_counter)
        core.set_counter(CounterType.CLUSTER_COMMIT_POSITION, recovered.facts.log_position)
        # Of what is replayed: actions of the snapshot's term are behind it, before the log tells of a later one.
        snapshots = recovered.plan.snapshots
        self._set_leadership_term_id(snapshots[0].leadership_term_id if snapshots else NULL_VALUE)

    def do_work(self, now_ns: int) -> int:
        """Do what is the member's own in a cycle; return how much that was."""
        self.sweep()
        work = self._sessions.poll() + self._actions.poll() + self._ingress.poll()
        if self._tick_ns is None or now_ns >= self._tick_ns:
            self._tick_ns = now_ns + _TICK_INTERVAL_NS
            self._sessions.tick()
            self._actions.tick(now_ns)
            work += self.extension.slow_tick_work()
        if self.is_leading and self.is_active:
            work += self.replicated.append_due()
        self._open_ingress()
        if self._is_in_term:
            work += self.extension.consensus_work()
        return work + self.extension.do_work()

    def end(self, reason: str, *, is_expected: bool) -> None:
        """End the member, with its services if that was not their doing."""
        if self.has_ended:
            return
        self.has_ended = True
        if not is_expected:
            self.core.errors.record(f"unexpected termination: {reason}", key="unexpected termination")
            self.services.terminate(0, is_ack_required=True)
        self.set_state(ConsensusModuleState.CLOSED)

    def close(self) -> None:
        """Tell services that the consensus module closes, unless the member has ended by itself; leave the clients."""
        if self._counter_handler is not None:
            self.core.aeron.remove_unavailable_counter_handler(self._counter_handler)
        self.extension.close()
        self._actions.close()
        self._ingress.close()
        self._sessions.close()
        if not self.has_ended:
            self.has_ended = True
            self.services.terminate(self.commit_position, is_ack_required=False)
            self.set_state(ConsensusModuleState.CLOSED)

    def set_state(self, state: ConsensusModuleState) -> None:
        """Become another state."""
        if state is not self.state:
            self.core.events.tell(ClusterEventCode.STATE_CHANGE, old_state=self.state.name, new_state=state.name)
        self.state = state
        self.core.set_counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE, state)
        self.tell_activity()

    def tell_activity(self) -> None:
        """Let sessions be opened and closed, and ingress be read, or not."""
        self._sessions.give(session_inputs.ActivityChanged(self.is_active))
        self._open_ingress()

    def set_role(self, role: ClusterRole) -> None:
        """Become another role."""
        if role is not self.role:
            self.core.events.tell(ClusterEventCode.ROLE_CHANGE, old_role=self.role.name, new_role=role.name)
        self.role = role
        self.core.set_counter(CounterType.CLUSTER_NODE_ROLE, role)

    # What it is

    @property
    def commit_position(self) -> int:
        """Up to where the log is committed, as the counter shows it."""
        return self.core.counter_value(CounterType.CLUSTER_COMMIT_POSITION)

    @property
    def is_active(self) -> bool:
        """Whether a leader may append: not behind an action whose position is not known yet."""
        return self.state is ConsensusModuleState.ACTIVE and not self._actions.is_appending

    @property
    def is_ending(self) -> bool:
        """Whether its services end, as they were told, whatever becomes of the log, and the member after them."""
        if self.state is ConsensusModuleState.TERMINATING:
            return self.commit_position >= self._actions.termination_position
        return self.state is ConsensusModuleState.QUITTING

    @property
    def may_read_log(self) -> bool:
        """Whether the log may be consumed on: not while a snapshot is taken at the position that it has come to."""
        return self.state in {ConsensusModuleState.ACTIVE, ConsensusModuleState.SUSPENDED}

    @property
    def is_ingress_closed(self) -> bool:
        """Whether nothing of ingress comes behind what the log has now."""
        return self._ingress.is_closed

    @property
    def is_leading(self) -> bool:
        """Whether this member leads a term whose election has ended."""
        return self._is_in_term and self.role is ClusterRole.LEADER

    @property
    def is_following(self) -> bool:
        """Whether this member follows the leader of a term whose election has ended."""
        return self._is_in_term and self.role is ClusterRole.FOLLOWER

    @property
    def _is_in_term(self) -> bool:
        return self.machine is not None and self.machine.state is ElectionState.CLOSED

    # Elections

    def on_election_started(self, reason: str) -> None:
        """Count an election; one that ends a term is an error, as officially."""
        self.core.increment(CounterType.CLUSTER_ELECTION_COUNT)
        self.core.events.tell(
            ClusterEventCode.NEW_ELECTION,
            leadership_term_id=self.leadership_term_id,
            log_position=self.commit_position,
            reason=reason,
        )
        if self.state is not ConsensusModuleState.INIT:
            self.core.errors.record(f"WARN - new election - {reason}", key="new election")

    def on_state(self, effect: ChangeState) -> None:
        """Show the election's state."""
        self.core.events.tell(
            ClusterEventCode.ELECTION_STATE_CHANGE,
            old_state=self._election_state.name,
            new_state=effect.state.name,
            log_position=self.commit_position,
            reason=effect.reason,
        )
        self._election_state = effect.state
        self.core.set_counter(CounterType.CLUSTER_ELECTION_STATE, effect.state)

    def on_role(self, role: ClusterRole) -> None:
        """Show the member's role."""
        self.set_role(role)

    def on_log_left(self, log_position: int) -> None:
        """Roll back what was not committed, and leave the clients until a leader is known."""
        self._ingress.close()
        self._sessions.end_leading()
        self._actions.end_term(log_position)
        self.core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, ClusterControlToggle.INACTIVE)
        self.core.raise_counter(CounterType.CLUSTER_COMMIT_POSITION, log_position)
        state = self.replicated.end_term(log_position)
        if state is not None and self.state is not ConsensusModuleState.CLOSED:
            self.set_state(state)
        self.extension.on_prepare_for_new_leadership()

    def on_election_complete(self, effect: ElectionComplete) -> None:
        """Take part in a term."""
        core, term_id = self.core, effect.leadership_term_id
        self.leader_member_id = effect.leader_member_id
        self._set_leadership_term_id(term_id)
        if self.role is ClusterRole.LEADER and self.log_publisher is not None:
            core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, ClusterControlToggle.NEUTRAL)
            self.replicated.begin_leading(self.log_publisher, term_id)
            self._sessions.begin_leading(self.log_publisher)
            self._sessions.give(session_inputs.LeadershipBegun(term_id, is_startup=effect.is_leader_startup))
            self._ingress.open(is_leader=True)
        else:
            core.raise_counter(CounterType.CLUSTER_COMMIT_POSITION, effect.log_position)
            self._sessions.begin_following(self._send_to_leader)
            self._sessions.give(session_inputs.FollowingBegun(term_id, effect.leader_member_id))
            self._ingress.open(is_leader=False)
        core.set_counter(CounterType.NODE_CONTROL_TOGGLE, NodeControlToggle.NEUTRAL)
        self._actions.begin_term()
        self.extension.on_election_complete(term_id, is_leader=self.role is ClusterRole.LEADER)

    def on_terminate_at(self, position: int) -> None:
        """End where the leader says."""
        self._actions.terminate_at(position)

    def _send_to_leader(self, message: bytes) -> None:
        if self.consensus_publisher is not None:
            self.consensus_publisher.send(self.leader_member_id, message)

    # The log

    def on_service_message(self, cluster_session_id: int) -> None:
        """Take note of the session id of the latest message of a service."""
        self.replicated.on_service_message(cluster_session_id)

    def on_log_event(self, event: Any, log_position: int) -> None:
        """Take a message of the log of another template."""
        if self.replicated.on_log_event(event, log_position):
            return
        if isinstance(event, NewLeadershipTermEvent):
            self._on_new_leadership_term_event(event, log_position)
        elif isinstance(event, ClusterActionRequest):
            self._actions.on_cluster_action(event, log_position)

    def on_extension_message(self, message: ExtensionMessage, log_position: int) -> Action:
        """Take a message of the log of another schema."""
        return self.extension.on_log_message(message, log_position)

    def on_damaged_message(self, schema_id: int, template_id: int) -> None:
        """Pass over what cannot be read."""
        self.core.errors.record(
            f"unexpected message in the log: schemaId={schema_id} templateId={template_id}", key="unexpected message in the log"
        )

    def _on_new_leadership_term_event(self, event: NewLeadershipTermEvent, log_position: int) -> None:
        core = self.core
        core.events.tell(
            ClusterEventCode.REPLAY_NEW_LEADERSHIP_TERM,
            leadership_term_id=event.leadership_term_id,
            log_position=log_position,
            timestamp=event.timestamp,
            term_base_log_position=event.term_base_log_position,
        )
        if event.time_unit not in {None, core.cluster_clock.time_unit}:
            self.end(f"incompatible timestamp units: {core.cluster_clock.time_unit.name} log={event.time_unit}", is_expected=False)
        elif not core.context.app_version_validator(core.context.app_version, event.app_version or 0):
            self.end(f"incompatible version: {core.context.app_version} log={event.app_version}", is_expected=False)
        else:
            self._set_leadership_term_id(event.leadership_term_id)
            self._give(TermReplayed(event.leadership_term_id, event.term_base_log_position, log_position))
            self.extension.on_new_leadership_term(event.leadership_term_id)

    def _set_leadership_term_id(self, leadership_term_id: int) -> None:
        self.leadership_term_id = leadership_term_id
        self.core.set_counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID, leadership_term_id)

    def sweep(self) -> None:
        """Take note of how far the log is committed: again, as soon as results of appends have come that are committed already."""
        position = self.commit_position
        swept = position, 0 if self.log_publisher is None else self.log_publisher.result_count
        if self._is_in_term and swept != self._swept:
            self._swept = swept
            if self.is_leading:
                self.replicated.sweep(position)
            self._sessions.give(session_inputs.Committed(position))

    def _open_ingress(self) -> None:
        """Let the native agent read ingress where the member's role and state are so: a leader not behind an action."""
        is_open = self.is_active if self.is_leading else self.is_following and self.may_read_log
        self._ingress.let_read(is_open)

    # Services

    def on_service_word(self, word: Word, image: Image | None = None) -> None:
        """Take a message of a service, which has come by an image if one is given."""
        if isinstance(word, ServiceAck):
            self.core.events.tell(
                ClusterEventCode.SERVICE_ACK,
                log_position=word.log_position,
                timestamp=word.timestamp,
                ack_id=word.ack_id,
                relevant_id=word.relevant_id,
                service_id=word.service_id,
            )
            try:
                self.services.acks.add(word.service_id, Ack(word.ack_id, word.log_position, word.relevant_id))
            except ConsensusModuleError as error:  # of another service than the node's own: dropped
                self.core.errors.record(error)
                return
            if image is not None:
                self.services.sources.add(image.correlation_id)
            self.services.acks.settle()
            self.sweep()
            self._actions.on_service_acks()
        elif isinstance(word, ClusterMembersQuery):
            self._answer_members(word)
        elif image is None or image.correlation_id in self.services.sources:
            self.replicated.on_service_word(word)
        else:
            self.core.errors.record("message of a service that has not recovered", key="message of a service that has not recovered")

    def _answer_members(self, query: ClusterMembersQuery) -> None:
        proxy, context = self.services.proxy, self.core.context
        if query.extended != BooleanType.TRUE:
            proxy.cluster_members(query.correlation_id, self.leader_member_id, encode_members(context.members))
        elif self.machine is not None:
            now_ns = self.core.ports.clock.now_ns()
            proxy.cluster_members_extended(
                query.correlation_id,
                now_ns=now_ns,
                leader_member_id=self.leader_member_id,
                member_id=context.cluster_member_id,
                members=context.members,
                states=self._member_states(self.machine),
            )

    def _member_states(self, machine: ConsensusMachine) -> Mapping[int, MemberState]:
        """Return the log that each member has reported: to the native agent, while it has a leader's term."""
        reported = [] if self.leader_log is None else self.leader_log.reported_positions
        of_term = {
            found.member_id: MemberState(
                found.member_id,
                leadership_term_id=found.leadership_term_id,
                log_position=found.log_position,
                time_of_last_append_position_ns=found.time_of_last_append_position_ns,
            )
            for found in reported
        }
        return of_term or machine.member_states

    def _on_unavailable_counter(self, _counters: CountersReader, registration_id: int, _counter_id: int) -> None:
        is_of_service = self.services.note_gone(registration_id)
        if is_of_service and self.state not in {ConsensusModuleState.TERMINATING, ConsensusModuleState.QUITTING}:
            self.end("Aeron client in service closed unexpectedly", is_expected=False)

    def on_services_heard(self) -> None:
        """End where all that services have said is read, and one has gone without the acknowledgement of its end."""
        if self._actions.is_awaiting_services and self.services.missing:
            self.end(f"services {self.services.missing} closed before they came to their end", is_expected=False)

    # Messages of others

    def on_termination_ack(self, ack: TerminationAck) -> None:
        """Take a follower's word that it has ended."""
        self.core.events.tell(
            ClusterEventCode.TERMINATION_ACK,
            leadership_term_id=ack.leadership_term_id,
            log_position=ack.log_position,
            sender_member_id=ack.member_id,
        )
        if ack.leadership_term_id == self.leadership_term_id and self.role is ClusterRole.LEADER:
            self._actions.on_termination_ack(ack.member_id, ack.log_position)

    def on_consensus_request(self, request: BackupRecord | ChallengeResponse, image: MessageImage) -> None:
        """Take a request of a backup or a standby node, or an answer to a challenge that a follower passes on."""
        if isinstance(request, ChallengeResponse):
            self._sessions.give(
                session_inputs.BackupChallengeResponse(
                    request.correlation_id, request.cluster_session_id, bytes(request.encoded_credentials)
                )
            )
            return
        asked = backup_request_of(request, source_of(image))
        channel = None if asked is None else self._ingress.response_channel(asked.response_channel)
        if asked is not None and channel is not None:
            self._sessions.give(replace(asked, response_channel=channel))
