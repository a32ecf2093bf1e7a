"""The member beside its consensus: its state and role, its services, and what the log means to them.

Aeron: ConsensusModuleAgent, outside of elections.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ConsensusModuleError
from aerowire.cluster.consensus.inputs import Result, TermReplayed
from aerowire.cluster.consensus.member_states import NULL_VALUE
from aerowire.cluster.consensus.members import encode_members
from aerowire.cluster.module.service_acks import Ack
from aerowire.codecs.flyweights.cluster.enums import BooleanType
from aerowire.codecs.flyweights.cluster.messages.cluster_members_query import ClusterMembersQuery
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ClusterRole, ConsensusModuleState, ElectionState, NodeControlToggle
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.consensus.effects import ChangeState, ElectionComplete
    from aerowire.cluster.consensus.machine import ConsensusMachine
    from aerowire.cluster.files.snapshot_sets import Snapshot
    from aerowire.cluster.module.consensus_codec import Request
    from aerowire.cluster.module.consensus_publisher import ConsensusPublisher
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log_publisher import LogPublisher
    from aerowire.cluster.module.recovery import Recovered
    from aerowire.cluster.module.service_codec import Word
    from aerowire.cluster.module.service_control import ServiceControl
    from aerowire.codecs.flyweights.cluster.messages.termination_ack import TerminationAck
    from aerowire.ipc.counters import CountersReader


class Member:
    """The state of one member. Changed by the log, its services, elections and toggles. Invariant: `state` is what the counter shows."""

    def __init__(self, core: ModuleCore, services: ServiceControl) -> None:
        """Start in INIT."""
        self._core = core
        self._services = services
        self._machine: ConsensusMachine | None = None
        self._log_publisher: LogPublisher | None = None
        self._consensus_publisher: ConsensusPublisher | None = None
        self._give: Callable[[Result], object] = lambda _: None
        self._counter_handler: int | None = None
        self.state = ConsensusModuleState.INIT
        self.role = ClusterRole.FOLLOWER
        self.leader_member_id = NULL_VALUE
        self.leadership_term_id = NULL_VALUE
        self.has_ended = False
        self.set_role(ClusterRole.FOLLOWER)

    # Its life

    def begin(
        self,
        recovered: Recovered,
        machine: ConsensusMachine,
        log_publisher: LogPublisher,
        consensus_publisher: ConsensusPublisher,
        give: Callable[[Result], object],
    ) -> None:
        """Take over what was recovered, BEFORE the first election."""
        core = self._core
        self._machine, self._log_publisher, self._consensus_publisher, self._give = machine, log_publisher, consensus_publisher, give
        self._services.client_ids = frozenset(recovered.client_ids)
        self._counter_handler = core.aeron.add_unavailable_counter_handler(self._on_unavailable_counter)
        core.set_counter(CounterType.CLUSTER_COMMIT_POSITION, recovered.facts.log_position)
        self._set_leadership_term_id(recovered.plan.last_leadership_term_id)

    def load_snapshot(self, _image: Image, snapshot: Snapshot) -> Generator[None, None, None]:
        """Read the consensus module's own snapshot, in steps."""
        raise ConsensusModuleError("snapshots cannot be read yet", actual=snapshot)
        yield

    def end(self, reason: str, *, is_expected: bool) -> None:
        """End the member, with its services if that was not their doing."""
        if self.has_ended:
            return
        self.has_ended = True
        if not is_expected:
            self._core.errors.record(f"unexpected termination: {reason}", key="unexpected termination")
            self._services.terminate(0, is_ack_required=True)
        self.set_state(ConsensusModuleState.CLOSED)

    def close(self) -> None:
        """Tell services that the consensus module closes, unless the member has ended by itself."""
        if self._counter_handler is not None:
            self._core.aeron.remove_unavailable_counter_handler(self._counter_handler)
        if not self.has_ended:
            self.has_ended = True
            self._services.terminate(self._core.counter_value(CounterType.CLUSTER_COMMIT_POSITION), is_ack_required=False)
            self.set_state(ConsensusModuleState.CLOSED)

    def set_state(self, state: ConsensusModuleState) -> None:
        """Become another state."""
        self.state = state
        self._core.set_counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE, state)

    def set_role(self, role: ClusterRole) -> None:
        """Become another role."""
        self.role = role
        self._core.set_counter(CounterType.CLUSTER_NODE_ROLE, role)

    # Elections

    @property
    def may_read_log(self) -> bool:
        """Whether the log may be read on: not while a snapshot is taken at the position that was read up to."""
        return self.state in {ConsensusModuleState.ACTIVE, ConsensusModuleState.SUSPENDED}

    @property
    def is_leading(self) -> bool:
        """Whether this member leads a term whose election has ended."""
        machine = self._machine
        return machine is not None and machine.state is ElectionState.CLOSED and self.role is ClusterRole.LEADER

    def on_election_started(self, reason: str) -> None:
        """Count an election; one that ends a term is an error, as officially."""
        self._core.increment(CounterType.CLUSTER_ELECTION_COUNT)
        if self.state is not ConsensusModuleState.INIT:
            self._core.errors.record(f"WARN - new election - {reason}", key="new election")

    def on_state(self, effect: ChangeState) -> None:
        """Show the election's state."""
        self._core.set_counter(CounterType.CLUSTER_ELECTION_STATE, effect.state)

    def on_role(self, role: ClusterRole) -> None:
        """Show the member's role."""
        self.set_role(role)

    def on_log_left(self, log_position: int) -> None:
        """Roll back what was not committed."""
        self._core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, ClusterControlToggle.INACTIVE)
        self._core.set_counter(CounterType.CLUSTER_COMMIT_POSITION, log_position)

    def on_election_complete(self, effect: ElectionComplete) -> None:
        """Take part in a term."""
        core = self._core
        self.leader_member_id = effect.leader_member_id
        self._set_leadership_term_id(effect.leadership_term_id)
        core.set_counter(CounterType.CLUSTER_COMMIT_POSITION, effect.log_position)
        if self.role is ClusterRole.LEADER:
            core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, ClusterControlToggle.NEUTRAL)
        core.set_counter(CounterType.NODE_CONTROL_TOGGLE, NodeControlToggle.NEUTRAL)

    def on_terminate_at(self, position: int) -> None:
        """End where the leader says."""

    # The log

    def on_session_message(self, cluster_session_id: int, timestamp: int) -> None:
        """Take note of a message of a client or a service."""

    def on_log_event(self, event: Any, log_position: int) -> None:
        """Take a message of the log of another template."""
        if isinstance(event, NewLeadershipTermEvent):
            self._on_new_leadership_term_event(event, log_position)

    def on_foreign_message(self, schema_id: int, template_id: int, _message: bytes) -> None:
        """Pass over what the log has of another schema."""
        self._core.errors.record(
            f"unexpected message in the log: schemaId={schema_id} templateId={template_id}", key="unexpected message in the log"
        )

    def _on_new_leadership_term_event(self, event: NewLeadershipTermEvent, log_position: int) -> None:
        core = self._core
        if event.time_unit not in {None, core.cluster_clock.time_unit}:
            self.end(f"incompatible timestamp units: {core.cluster_clock.time_unit.name} log={event.time_unit}", is_expected=False)
        elif not core.context.app_version_validator(core.context.app_version, event.app_version or 0):
            self.end(f"incompatible version: {core.context.app_version} log={event.app_version}", is_expected=False)
        else:
            self._set_leadership_term_id(event.leadership_term_id)
            self._give(TermReplayed(event.leadership_term_id, event.term_base_log_position, log_position))

    def _set_leadership_term_id(self, leadership_term_id: int) -> None:
        self.leadership_term_id = leadership_term_id
        self._core.set_counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID, leadership_term_id)

    # Services

    def on_service_word(self, word: Word) -> None:
        """Take a message of a service."""
        if isinstance(word, ServiceAck):
            self._services.acks.add(word.service_id, Ack(word.ack_id, word.log_position, word.relevant_id))
            self._services.acks.settle()
        elif isinstance(word, ClusterMembersQuery):
            self._answer_members(word)

    def _answer_members(self, query: ClusterMembersQuery) -> None:
        members = self._core.context.members
        if query.extended != BooleanType.TRUE:
            self._services.proxy.cluster_members(query.correlation_id, self.leader_member_id, encode_members(members))

    def _on_unavailable_counter(self, _counters: CountersReader, registration_id: int, _counter_id: int) -> None:
        if registration_id in self._services.client_ids and self.state not in {
            ConsensusModuleState.TERMINATING,
            ConsensusModuleState.QUITTING,
        }:
            self.end("Aeron client in service closed unexpectedly", is_expected=False)

    # Messages of others

    def on_termination_ack(self, ack: TerminationAck) -> None:
        """Take a follower's word that it has ended."""

    def on_consensus_request(self, request: Request) -> None:
        """Take a request of a backup or a standby node."""
