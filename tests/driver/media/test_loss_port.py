"""Induced loss around a port: what is lost, repeated and held back, and that a seed decides it."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from aerowire.base.address import AddressTuple
from aerowire.base.ports import DatagramPort
from aerowire.driver.media.loss_port import LossPort, LossRates
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.network import SimulatedNetwork
from aerowire.system.clock import ManualClock
from aerowire.system.poller import PortPoller
from aerowire.system.udp import open_udp

EPOCH_MS = 1_700_000_000_123
A, B = ("10.0.0.1", 5000), ("10.0.0.2", 6000)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now_ns=0, epoch_ms=EPOCH_MS)


@pytest.fixture
def network(clock: ManualClock) -> SimulatedNetwork:
    return SimulatedNetwork(clock, seed=1, faults=LinkFaults(latency_ns=0))


def burst(count: int) -> list[tuple[bytes, AddressTuple]]:
    return [(index.to_bytes(4, "big"), None) for index in range(count)]


def drain(port: DatagramPort, rounds: int = 2000) -> list[int]:
    out: list[int] = []
    for _ in range(rounds):
        out += [int.from_bytes(payload[:4], "big") for payload, _, _ in port.receive_datagrams(16)]
    return out


def test_without_rates_everything_passes_in_order(network: SimulatedNetwork) -> None:
    sender = LossPort(network.open_port(A, B))
    receiver = LossPort(network.open_port(B))
    assert sender.send_datagrams(burst(500)) == 500
    assert drain(receiver) == list(range(500))


@pytest.mark.parametrize("side", ["outgoing", "incoming"])
def test_losses_repetitions_and_overtaking_come_in_their_proportions(network: SimulatedNetwork, side: str) -> None:
    rates = LossRates(loss=0.1, duplicate=0.1, reorder=0.1, seed=7)
    sender = LossPort(network.open_port(A, B), outgoing=rates if side == "outgoing" else None)
    receiver = LossPort(network.open_port(B), incoming=rates if side == "incoming" else None)
    assert sender.send_datagrams(burst(2000)) == 2000
    sender.send_datagrams([(b"\xff\xff\xff\xff", None)] * 8)
    got = [number for number in drain(receiver) if number < 2000]
    lane = sender.outgoing if side == "outgoing" else receiver.incoming
    assert 120 < lane.lost < 280
    assert 120 < lane.duplicated < 280
    assert 60 < lane.reordered < 280
    assert 2000 - lane.lost - 1 <= len(set(got)) <= 2000 - lane.lost + 8
    assert any(later < earlier for earlier, later in itertools.pairwise(got))


def test_what_was_held_back_on_a_silent_socket_comes_out_also_behind_a_poller_of_many() -> None:
    with contextlib.ExitStack() as stack:
        ports = [LossPort(open_udp(bind=("127.0.0.1", 0)), incoming=LossRates(reorder=1.0, seed=3)) for _ in range(8)]
        poller = PortPoller()
        for port in ports:
            stack.callback(port.close)
            poller.add(port)
        sender = stack.enter_context(open_udp(bind=("127.0.0.1", 0), peer=ports[0].local_address))
        sender.send_datagrams([(b"last of its stream", None)])
        got = [
            payload
            for _ in range(2000)
            for port in poller.poll()
            if isinstance(port, LossPort)
            for payload, _, _ in port.receive_datagrams(4)
        ]
        assert got == [b"last of its stream"]


def test_the_same_seed_has_the_same_fate(clock: ManualClock) -> None:
    fates = []
    for _ in range(2):
        network = SimulatedNetwork(clock, seed=1, faults=LinkFaults(latency_ns=0))
        sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=0.3, duplicate=0.2, reorder=0.2, seed=99))
        receiver = network.open_port(B)
        sender.send_datagrams(burst(300))
        fates.append(drain(receiver, 50))
    assert fates[0] == fates[1]


def test_total_loss_still_counts_as_sent(network: SimulatedNetwork) -> None:
    sender = LossPort(network.open_port(A, B), outgoing=LossRates(loss=1.0))
    receiver = network.open_port(B)
    assert sender.send_datagrams(burst(10)) == 10
    assert drain(receiver, 5) == []


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_rates_are_probabilities(rate: float) -> None:
    with pytest.raises(ValueError, match="loss rate: expected 0 to 1"):
        LossRates(loss=rate)
