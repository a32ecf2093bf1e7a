"""Whatever is sent over a simulated network, counts add up, and the same seed has the same trace."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.base.errors import SocketError
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork
from aerowire.simulation.partitions import PartitionKind
from aerowire.system.clock import ManualClock
from tests.simulation.network_pair import HERE, MS, SECOND, THERE, US
from tests.simulation.test_network import ELSEWHERE, GROUP, received

FAULTS = st.fixed_dictionaries(
    {},
    optional={
        "loss": st.sampled_from([0.0, 0.1, 0.5]),
        "duplicate": st.sampled_from([0.0, 0.2, 1.0]),
        "replay": st.sampled_from([0.0, 0.2, 1.0]),
        "reorder": st.sampled_from([0.0, 0.5]),
        "latency_ns": st.sampled_from([0, 10 * US, 5 * MS]),
        "jitter_ns": st.sampled_from([0, US, 10 * MS]),
        "queue_length": st.sampled_from([0, 1, 2, 20]),
        "drops_oldest": st.booleans(),
        "bytes_per_second": st.sampled_from([0, 1_000, 1_000_000]),
        "send_error": st.sampled_from([0.0, 0.2]),
        "clog_interval_ns": st.just(5 * MS),
        "clog_mean_ns": st.just(5 * MS),
    },
).map(lambda fields: fields if "clog_mean_ns" in fields else {**fields, "clog_interval_ns": 0})


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 3), st.integers(0, 4)),
        st.tuples(st.just("receive"), st.integers(0, 3)),
        st.tuples(st.just("pass"), st.sampled_from([0, US, MS, 50 * MS])),
        st.tuples(st.just("partition"), st.sampled_from(list(PartitionKind)), st.booleans()),
        st.tuples(st.just("heal")),
        st.tuples(st.just("faults"), FAULTS),
        st.tuples(st.just("clog"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("disconnect"), st.integers(0, 2), st.booleans()),
        st.tuples(st.just("close"), st.integers(0, 3)),
    ),
    max_size=60,
)


class Sockets:
    """Three hosts, the third with two members of a group, and every payload that was sent and received."""

    def __init__(self, seed: int, faults: dict[str, Any]) -> None:
        self.clock = ManualClock()
        self.network = SimulatedNetwork(self.clock, seed=seed, faults=LinkFaults(**faults))
        self.hosts = [HERE, THERE, ELSEWHERE]
        self.ports = [self.network.open_port((host, 7000)) for host in (HERE, THERE)]
        self.ports += [self.network.open_port((ELSEWHERE, number), None, GROUP) for number in (7000, 7001)]
        self.targets = [(HERE, 7000), (THERE, 7000), (ELSEWHERE, 7001), GROUP, ("10.0.0.99", 1)]
        self.sent: set[bytes] = set()
        self.received: list[bytes] = []

    def do(self, action: str, *values: Any) -> None:
        getattr(self, f"do_{action}")(*values)

    def do_send(self, port: int, target: int) -> None:
        payload = len(self.sent).to_bytes(4, "little")
        self.sent.add(payload)
        try:
            self.ports[port].send_datagrams([(payload, self.targets[target])])
        except SocketError:
            return

    def do_receive(self, port: int) -> None:
        self.received += received(self.ports[port])

    def do_pass(self, duration_ns: int) -> None:
        self.clock.advance(duration_ns)

    def do_partition(self, kind: PartitionKind, one_way: bool) -> None:
        self.network.partition(self.network.draw_partition(kind, one_way=one_way))

    def do_heal(self) -> None:
        self.network.heal()

    def do_faults(self, faults: dict[str, Any]) -> None:
        self.network.set_faults(**faults)

    def do_clog(self, source: int, destination: int) -> None:
        self.network.links.clog(self.hosts[source], self.hosts[destination], 20 * MS)

    def do_disconnect(self, host: int, off: bool) -> None:
        (self.network.disconnect if off else self.network.reconnect)(self.hosts[host])

    def do_close(self, port: int) -> None:
        self.ports[port].close()


@given(seed=st.integers(0, 1 << 64), faults=FAULTS, steps=STEPS)
@settings(max_examples=300, deadline=None)
def test_counts_add_up_and_nothing_is_delivered_that_was_not_sent(seed: int, faults: dict[str, Any], steps: list[tuple[Any, ...]]) -> None:
    sockets = Sockets(seed, faults)
    for step in steps:
        sockets.do(*step)
        counts = sockets.network.counts
        came = counts.sent + counts.duplicated + counts.replayed + counts.copied
        assert came == counts.delivered + counts.in_flight + sum(counts.lost.values())
        assert min(counts.in_flight, *counts.lost.values()) >= 0
    assert set(sockets.received) <= sockets.sent
    sockets.network.set_faults()
    sockets.clock.advance(10_000 * SECOND)
    assert sockets.network.counts.in_flight == 0
    assert sockets.network.next_arrival_ns() == (1 << 63) - 1


@given(seed=st.integers(0, 1 << 64), faults=FAULTS, steps=STEPS)
@settings(max_examples=100, deadline=None)
def test_the_same_seed_and_the_same_calls_have_the_same_trace(seed: int, faults: dict[str, Any], steps: list[tuple[Any, ...]]) -> None:
    hashes = set()
    for _ in range(2):
        sockets = Sockets(seed, faults)
        for step in steps:
            sockets.do(*step)
        hashes.add((sockets.network.trace_hash, tuple(sockets.received)))
    assert len(hashes) == 1
