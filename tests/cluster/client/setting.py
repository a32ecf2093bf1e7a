"""Scripted members and a client in a simulated world, and a listener that keeps what it is told."""

from __future__ import annotations

from typing import Any

from aerowire.client import Action, Header
from aerowire.cluster import AeronCluster, AsyncConnect, ControlledEgressListener, EgressListener
from aerowire.simulation.clients import SimulatedClient
from aerowire.simulation.world import SimulatedWorld
from tests.support.scripted.cluster import ScriptedMember

MS = 1_000_000
SECOND = 1_000_000_000
QUICK: dict[str, Any] = {
    "environ": {},
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
}
EGRESS = "aeron:udp?endpoint=10.0.0.9:0"


def endpoint(number: int) -> str:
    """Return the ingress endpoint of a member."""
    return f"10.0.0.{number + 1}:9002"


class KeptEgress(EgressListener):
    """Keeps messages with their times, and events."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.timestamps: list[int] = []
        self.events: list[Any] = []

    def on_message(self, _session_id: int, timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> None:
        self.messages.append(bytes(buffer[offset : offset + length]))
        self.timestamps.append(timestamp)

    def on_session_event(self, event: Any, /) -> None:
        self.events.append(event)

    on_new_leader = on_admin_response = on_session_event


class KeptControlledEgress(ControlledEgressListener):
    """Keeps messages and events; `actions` are its answers, in order, then CONTINUE."""

    def __init__(self, *actions: Action) -> None:
        self.messages: list[bytes] = []
        self.events: list[Any] = []
        self._actions = list(actions)

    def on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header, /) -> Action:
        self.messages.append(bytes(buffer[offset : offset + length]))
        return self._actions.pop(0) if self._actions else Action.CONTINUE

    def on_session_event(self, event: Any, /) -> None:
        self.events.append(event)

    on_new_leader = on_admin_response = on_session_event


class Setting:
    """A host for each scripted member, and one with a client. Member N listens at `endpoint(N)`."""

    def __init__(self, world: SimulatedWorld, members: int = 1) -> None:
        self.world = world
        self.hosts = [world.add_host(f"10.0.0.{number + 1}", **QUICK) for number in range(members)]
        self.members = [ScriptedMember(host, f"aeron:udp?endpoint={endpoint(number)}") for number, host in enumerate(self.hosts)]
        self.client: SimulatedClient = world.add_host("10.0.0.9", **QUICK).connect()
        self.egress = KeptEgress()

    @property
    def endpoints(self) -> str:
        return ",".join(f"{number}={endpoint(number)}" for number in range(len(self.members)))

    def start(self, **options: Any) -> AsyncConnect:
        """Start to connect, polled in each cycle of the client."""
        given = {
            "ingress_channel": "aeron:udp",
            "ingress_endpoints": self.endpoints,
            "egress_channel": EGRESS,
            "egress_listener": self.egress,
            "environ": {},
            **options,
        }
        connecting = AeronCluster.async_connect(aeron=self.client.aeron, **given)
        self.client.start(lambda: int(not connecting.is_done and connecting.poll()), lambda: self.world.clock.now_ns() + MS)
        return connecting

    def connect(self, **options: Any) -> AeronCluster:
        """Connect a client, whose egress is polled in each cycle from then on."""
        cluster = self.client.complete(self.start(**options))
        self.client.start(cluster.poll_egress, lambda: self.world.clock.now_ns() + MS)
        return cluster
