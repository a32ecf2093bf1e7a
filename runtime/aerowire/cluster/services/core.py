"""What the parts of a service container share: its options and resources, and the state of the service in the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aerowire.agents.client_errors import ClientErrors
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.services.call_guard import CallGuard
from aerowire.cluster.services.session_header import SessionHeader
from aerowire.codecs.flyweights.cnc import ClusterRole

if TYPE_CHECKING:
    from collections.abc import Generator

    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.counter import Counter
    from aerowire.cluster.files.mark_file import ClusterMarkFile
    from aerowire.cluster.services.consensus_module_proxy import ConsensusModuleProxy
    from aerowire.cluster.services.context import ClusteredServiceContext
    from aerowire.cluster.services.errors import ContainerErrors
    from aerowire.cluster.services.log_adapter import BoundedLogAdapter
    from aerowire.cluster.services.service_calls import ServiceCalls
    from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
    from aerowire.codecs.tables.counters import CounterType
    from aerowire.system.ports import Ports


class ContainerTermination(Exception):  # noqa: N818 the end of an agent, as officially, and not always an error
    """The container is to end: told to (`is_expected`), or because it cannot go on."""

    def __init__(self, why: str, *, is_expected: bool = False) -> None:
        super().__init__(why)
        self.is_expected = is_expected


@dataclass(slots=True, eq=False)
class ContainerCore:
    """Changed by the agent's thread only."""

    context: ClusteredServiceContext
    ports: Ports
    aeron: Aeron
    calls: ServiceCalls
    proxy: ConsensusModuleProxy
    mark_file: ClusterMarkFile
    counters: dict[CounterType, Counter]
    errors: ContainerErrors
    client_errors: ClientErrors = field(default_factory=ClientErrors)
    guard: CallGuard = field(default_factory=CallGuard)
    header: SessionHeader = field(default_factory=SessionHeader)
    role: ClusterRole = ClusterRole.FOLLOWER
    is_leader: bool = False
    member_id: int = NULL_VALUE
    time_unit: ClusterTimeUnit | None = None
    next_ack_id: int = 0
    log: BoundedLogAdapter = field(init=False)

    def take_role(self, role: ClusterRole) -> None:
        """Take the role of the member."""
        self.role = role
        self.is_leader = role == ClusterRole.LEADER

    def acknowledge(self, log_position: int, timestamp: int, relevant_id: int = NULL_VALUE) -> Generator[None, None, None]:
        """Send an acknowledgement as soon as the consensus module is connected and there is room."""
        ack_id, self.next_ack_id = self.next_ack_id, self.next_ack_id + 1
        while not self.proxy.is_connected or not self.proxy.ack(log_position, timestamp, ack_id, relevant_id, self.context.service_id):
            yield
