"""A driver that keeps names, and its neighbours, which the harness plays."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import ResFlags
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.cases.options import QUICK_RESOLVER
from aerowire.conformance.cases.own import own_driver
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, Bench
from aerowire.conformance.harness.check import check_equal
from aerowire.conformance.harness.client import Client
from aerowire.conformance.harness.counters import Counter
from aerowire.conformance.harness.units import parse_duration_ns
from aerowire.conformance.harness.wire import Address, Arrival, Wire
from aerowire.conformance.model import Finding

if TYPE_CHECKING:
    from scapy.packet import Packet

NAME = QUICK_RESOLVER["driver_resolver_name"]
# Counter types from here on are the users'.
USER_TYPE = 10_001
# How long a count that must not change is watched.
SETTLED_MS = 100.0


class Resolver:
    """A driver of the case's own that keeps names, and a client of it."""

    def __init__(self, bench: Bench, client: Client) -> None:
        self._bench = bench
        self.client = client
        host, _, port = self._find(CounterType.RESOLVER_NEIGHBORS).label.rpartition(" ")[2].rpartition(":")
        self.address: Address = (str(ipaddress.ip_address(host.strip("[]"))), int(port))

    def count(self, type_id: CounterType) -> int:
        """Return how many neighbours or names the driver knows."""
        return self.client.counters.value(self._find(type_id).id)

    def expect_known(self, neighbours: int, names: int, *, within_ms: float = CONDUCTOR_MS) -> None:
        """Wait until the driver knows so many neighbours and names, and check that it stays so."""
        self._bench.expect(
            lambda: self._known() == (neighbours, names),
            f"{neighbours} neighbours and {names} names",
            within_ms=within_ms,
            actual=lambda: "{} neighbours and {} names".format(*self._known()),
        )
        self.check_known(neighbours, names, for_ms=SETTLED_MS)

    def check_known(self, neighbours: int, names: int, *, for_ms: float) -> None:
        """Check that the driver knows so many neighbours and names for a while."""
        if self._bench.wait_until(lambda: self._known() != (neighbours, names), for_ms):
            raise Finding(f"{neighbours} neighbours and {names} names still", "{} neighbours and {} names".format(*self._known()))

    def _known(self) -> tuple[int, int]:
        return self.count(CounterType.RESOLVER_NEIGHBORS), self.count(CounterType.RESOLVER_CACHE_ENTRIES)

    def _find(self, type_id: CounterType) -> Counter:
        found = [counter for counter in self.client.counters.all() if counter.type_id == type_id]
        check_equal(f"counters of type {type_id.name}", len(found), 1)
        return found[0]


@contextmanager
def resolving(bench: Bench, options: Mapping[str, str] | None = None) -> Iterator[Resolver]:
    """Start a driver that keeps names, with intervals that a case can wait for."""
    with own_driver(bench, {**QUICK_RESOLVER, **(options or {})}) as twin:
        client = Client(twin.directory)
        try:
            # The first turn of a driver may read a clock that nobody has set yet, by which a name would be too old at once.
            client.add_counter(USER_TYPE, "a first answer")
            bench.pause(SETTLED_MS)
            yield Resolver(bench, client)
        finally:
            client.close()


def interval_ms(name: str) -> float:
    """Return a timer of these drivers."""
    text = QUICK_RESOLVER.get(name)
    return (parse_duration_ns(text) if text is not None else int(str(OPTIONS[name].default))) / 1e6


def introduce(wire: Wire, resolver: Resolver, name: str, *, host: str = LOOPBACK) -> None:
    """Let a neighbour of some name make itself known from its socket."""
    wire.send(frames.self_resolution(name, (host, wire.port)), resolver.address)


def is_own(frame: Packet) -> bool:
    """Say whether a frame is a RES frame in which its sender makes itself known."""
    return frames.is_resolution(frame) and any(int(entry.res_flags) & ResFlags.SELF for entry in frame.entries)


def is_gossip(frame: Packet) -> bool:
    """Say whether a frame is a RES frame that tells of others."""
    return frames.is_resolution(frame) and not is_own(frame)


def expect_gossip(wire: Wire, *, start: int = 0) -> Arrival:
    """Wait for what the driver tells of others."""
    within_ms = interval_ms("driver_resolver_neighbor_resolution_interval_ns") + CONDUCTOR_MS
    return wire.expect(is_gossip, "a RES frame about others", within_ms=within_ms, start=start)


def named(frame: Packet, name: str) -> Packet:
    """Return the entry of a RES frame for some name."""
    found: list[Packet] = [entry for entry in frame.entries if entry.entry_name == name.encode()]
    if len(found) != 1:
        raise Finding(f"one entry for {name}", f"{[entry.entry_name.decode('ascii', 'replace') for entry in frame.entries]}")
    return found[0]
