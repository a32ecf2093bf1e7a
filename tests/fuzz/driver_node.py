"""Native agents of a driver that several executions share: each ends its streams, and the next one begins at a full interval of the clock.

An execution that leaves a stream behind is followed by new agents.
"""

from __future__ import annotations

import itertools

from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.ipc.counters import CountersManager
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock
from tests.support.agent_host import SECOND, SUBSCRIPTION, AgentHost
from tests.support.anonymous_regions import AnonymousRegions

COUNTERS_MAX = 900  # of the 1,024 that a node has room for
# Longer than every timeout, so that all timers start again with each execution.
INTERVAL_NS = 1_000 * SECOND
END_STEPS_MAX = 16


class NodeFactory:
    """Keeps a node, its clock and its counters, and makes a network for each execution."""

    def __init__(self) -> None:
        self._first = AgentHost(ManualClock(now_ns=SECOND, epoch_ms=1_700_000_000_000))
        self._fixed_id = self._first.counter("the last that stays")
        self._node: FuzzNode | None = None

    def renew(self) -> None:
        """Let the next execution begin with new agents."""
        if self._node is not None:
            self._node.close()
        self._node = None

    def make(self) -> tuple[FuzzNode, SimulatedNetwork]:
        """Return a node without streams, and the network that it is to use."""
        if self._node is None or not self._node.is_empty:
            self.renew()
            self._node = FuzzNode(self._first.counters, ManualClock(now_ns=INTERVAL_NS, epoch_ms=1_700_000_000_000))
        else:
            self._node.begin()
        counters = self._first.counters
        for counter_id in range(self._fixed_id + 1, COUNTERS_MAX):
            if counters.state(counter_id) == 0:
                break
            if counters.state(counter_id) == 1:
                counters.free(counter_id)
        return self._node, SimulatedNetwork(self._node.clock, seed=1)


class FuzzNode(AgentHost):
    """A node that shares the counters of another one."""

    def __init__(self, counters: CountersManager, clock: ManualClock) -> None:
        super().__init__(clock, counters=counters)
        self.clock: ManualClock = clock
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
            if subscriber.image in self.images:
                self.unlink(subscriber.image, subscriber, SUBSCRIPTION)
        for _ in range(END_STEPS_MAX):
            self.advance(20 * SECOND)
            if not self.images:
                break
        self.remove_endpoint(endpoint)
        self.work()
        self.is_empty = not self.images and self._has_seen(EventType.RECEIVE_ENDPOINT_REMOVED)

    def end_publication(self, publication: NetworkPublication, endpoint: SendEndpoint) -> None:
        """Let the publication drain or time out, and remove its endpoint."""
        self.is_empty = False
        self.close_publication(publication)
        for _ in range(END_STEPS_MAX):
            self.advance(20 * SECOND)
            if self._has_seen(EventType.PUBLICATION_REMOVED):
                break
        else:
            return
        self.remove_endpoint(endpoint)
        self.work()
        self.is_empty = self._has_seen(EventType.SEND_ENDPOINT_REMOVED)

    def _has_seen(self, kind: EventType) -> bool:
        return kind in self.kinds()

    def advance(self, duration_ns: int) -> None:
        """Let time pass in one step, and do what is due."""
        self.clock.advance(duration_ns)
        for _ in range(8):
            if not self.work():
                return
