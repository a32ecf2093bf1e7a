"""Native agents of a driver that are made anew for every execution, on counters that are made once."""

from __future__ import annotations

import itertools
from typing import Any

from aerowire.base.runner import AgentInvoker
from aerowire.driver.events import EventQueue
from aerowire.driver.receiver import Receiver
from aerowire.driver.sender import Sender
from aerowire.driver.tracker import Tracker
from aerowire.simulation.network import SimulatedNetwork
from aerowire.simulation.regions import AnonymousRegions
from aerowire.system.clock import ManualClock
from tests.driver_core.conftest import MS, SECOND, Node

COUNTERS_MAX = 900  # of the 1,024 that a node has room for


class NodeFactory:
    """Makes a node with its clock and network. The counters of a node are freed when the next one is made."""

    def __init__(self) -> None:
        self._first = Node(ManualClock(now_ns=SECOND, epoch_ms=1_700_000_000_000))
        self._fixed_id = self._first.counter("the last that stays")

    def make(self, **options: int) -> tuple[FuzzNode, SimulatedNetwork]:
        """Return a node that has done nothing yet, and the network that it is to use."""
        counters = self._first.counters
        for counter_id in range(self._fixed_id + 1, COUNTERS_MAX):
            if counters.state(counter_id) == 0:
                break
            if counters.state(counter_id) == 1:
                counters.free(counter_id)
        clock = ManualClock(now_ns=SECOND, epoch_ms=1_700_000_000_000)
        return FuzzNode(self._first, clock, options), SimulatedNetwork(clock, seed=1)


class FuzzNode(Node):
    """A node that shares the counters of another one."""

    def __init__(self, first: Node, clock: ManualClock, options: dict[str, int]) -> None:
        self.clock = clock
        self.options = options
        self.regions = AnonymousRegions()
        self.counters, self.system = first.counters, first.system
        self.events = EventQueue()
        self.sender = Sender(clock=clock, system=self.system, events=self.events)
        self.receiver = Receiver(clock=clock, system=self.system, events=self.events, batch=4)
        self.tracker = Tracker(clock=clock, system=self.system, events=self.events, timer_interval_ns=10 * MS)
        self.invoker = AgentInvoker([self.tracker, self.sender, self.receiver], clock)
        self.invoker.start()
        self.ids = itertools.count(1)
        self.images: list[Any] = []
        self.subscribers: list[Any] = []
        self.seen: list[Any] = []
        self.rejoins = True

    def advance(self, duration_ns: int) -> None:
        """Let time pass in one step, and do what is due."""
        self.clock.advance(duration_ns)
        for _ in range(8):
            if not self.work():
                return
