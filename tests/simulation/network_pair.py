"""Two hosts of a simulated network with a socket each, and a clock that the test moves."""

from __future__ import annotations

from typing import Any

from aerowire.base.ports import DatagramBatch
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
HERE, THERE = "10.0.0.1", "10.0.0.2"
BATCH = DatagramBatch(64, 2048)


class NetworkPair:
    """`send` at a host, `take` at the other; times are those since the start, which is 0."""

    def __init__(self, seed: int = 1, **faults: Any) -> None:
        self.clock = ManualClock(now_ns=0, epoch_ms=0)
        self.network = SimulatedNetwork(self.clock, seed=seed, faults=LinkFaults(**faults))
        self.here, self.there = (self.network.open_port((host, 7000)) for host in (HERE, THERE))

    def send(self, *payloads: bytes) -> int:
        """Send datagrams from here to there; return how many the port took."""
        return self.here.send_datagrams([(payload, (THERE, 7000)) for payload in payloads])

    def take(self) -> list[bytes]:
        """Return what has arrived there."""
        taken: list[bytes] = []
        while batch := self.there.receive_datagrams(64, BATCH):
            taken += [payload for payload, _, _ in batch]
        return taken

    def arrivals(self, until_ns: int) -> list[tuple[int, bytes]]:
        """Let time pass from one arrival to the next; return what came when."""
        found = []
        while (next_ns := self.network.next_arrival_ns()) <= until_ns:
            self.clock.advance(max(next_ns - self.clock.now_ns(), 0))
            found += [(self.clock.now_ns(), payload) for payload in self.take()]
        self.clock.advance(until_ns - self.clock.now_ns())
        return found
