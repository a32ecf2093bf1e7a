"""Native agents of a driver that several executions share: each ends its streams, and the next one begins at a full interval of the clock.

An execution that leaves a stream behind is followed by new agents.
"""

from __future__ import annotations

import itertools
from typing import Any

from aerowire.base.runner import AgentInvoker
from aerowire.driver.agents.conductor_agent import ConductorAgent
from aerowire.driver.agents.receiver import Receiver
from aerowire.driver.agents.sender import Sender
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.queues.events import EventQueue, EventType
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.simulation.network import SimulatedNetwork
from aerowire.simulation.regions import AnonymousRegions
from aerowire.system.clock import ManualClock
from tests.driver_core.conftest import MS, SECOND, SUBSCRIPTION, Node

COUNTERS_MAX = 900  # of the 1,024 that a node has room for
# Longer than every timeout, so that all timers start again with each execution.
INTERVAL_NS = 1_000 * SECOND
END_STEPS_MAX = 16


class NodeFactory:
    """Keeps a node, its clock and its counters, and makes a network for each execution."""

    def __init__(self) -> None:
        self._first = Node(ManualClock(now_ns=SECOND, epoch_ms=1_700_000_000_000))
        self._fixed_id = self._first.counter("the last that stays")
        self._node: FuzzNode | None = None

    def renew(self) -> None:
        """Let the next execution begin with new agents."""
        if self._node is not None:
            self._node.invoker.close()
        self._node = None

    def make(self) -> tuple[FuzzNode, SimulatedNetwork]:
        """Return a node without streams, and the network that it is to use."""
        if self._node is None or not self._node.is_empty:
            self.renew()
            self._node = FuzzNode(self._first, ManualClock(now_ns=INTERVAL_NS, epoch_ms=1_700_000_000_000))
        else:
            self._node.begin()
        counters = self._first.counters
        for counter_id in range(self._fixed_id + 1, COUNTERS_MAX):
            if counters.state(counter_id) == 0:
                break
            if counters.state(counter_id) == 1:
                counters.free(counter_id)
        return self._node, SimulatedNetwork(self._node.clock, seed=1)


class FuzzNode(Node):
    """A node that shares the counters of another one."""

    def __init__(self, first: Node, clock: ManualClock) -> None:
        self.clock = clock
        self.options = {}
        self.congestion_control = None
        self.regions = AnonymousRegions()
        self.counters, self.system = first.counters, first.system
        self.events = EventQueue()
        self.sender = Sender(clock=clock, system=self.system, events=self.events)
        self.receiver = Receiver(clock=clock, system=self.system, events=self.events, batch=4)
        self.conductor_agent = ConductorAgent(clock=clock, system=self.system, events=self.events, timer_interval_ns=10 * MS)
        self.invoker = AgentInvoker([self.conductor_agent, self.sender, self.receiver], clock)
        self.invoker.start()
        self.ids = itertools.count(1)
        self.images: list[Any] = []
        self.subscribers: list[Any] = []
        self.seen: list[Any] = []
        self.rejoins = True
        self.is_empty = True

    def begin(self) -> None:
        """Forget the last execution; go on at the next full interval."""
        self.regions = AnonymousRegions()
        self.ids = itertools.count(1)
        self.subscribers.clear()
        self.seen.clear()
        now_ns = self.clock.now_ns()
        self.clock.advance(INTERVAL_NS - now_ns % INTERVAL_NS)
        self.work()
        self.is_empty = True

    def end_images(self, endpoint: ReceiveEndpoint) -> None:
        """Let the images time out, and remove their endpoint."""
        self.is_empty = False
        for subscriber in self.subscribers:
            if subscriber.source in self.images:
                self.conductor_agent.unlink_subscriber(subscriber.source, subscriber.position_id, SUBSCRIPTION)
        for _ in range(END_STEPS_MAX):
            self.advance(20 * SECOND)
            if not self.images:
                break
        self.receiver.remove_endpoint(endpoint)
        self.work()
        self.is_empty = not self.images and self._has_seen(EventType.RECEIVE_ENDPOINT_REMOVED)

    def end_publication(self, publication: NetworkPublication, endpoint: SendEndpoint) -> None:
        """Let the publication drain or time out, and remove its endpoint."""
        self.is_empty = False
        self.conductor_agent.close_publication(publication)
        for _ in range(END_STEPS_MAX):
            self.advance(20 * SECOND)
            if self._has_seen(EventType.PUBLICATION_REMOVED):
                break
        else:
            return
        self.sender.remove_endpoint(endpoint)
        self.work()
        self.is_empty = self._has_seen(EventType.SEND_ENDPOINT_REMOVED)

    def _has_seen(self, kind: EventType) -> bool:
        return any(event.type is kind for event in self.seen)

    def advance(self, duration_ns: int) -> None:
        """Let time pass in one step, and do what is due."""
        self.clock.advance(duration_ns)
        for _ in range(8):
            if not self.work():
                return
