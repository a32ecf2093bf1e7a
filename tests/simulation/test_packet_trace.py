"""Followers of packets: what they are told, in which order, and what a digest tells apart."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError, SocketError
from aerowire.simulation.links import LossCause
from aerowire.simulation.packet_trace import PacketFate, PacketLog
from aerowire.simulation.partitions import Partition
from tests.simulation.network_pair import HERE, MS, THERE, US, NetworkPair


def followed(pair: NetworkPair, log: PacketLog | None = None) -> PacketLog:
    log = PacketLog(1_000) if log is None else log
    pair.network.add_trace(log)
    return log


def facts(log: PacketLog) -> list[tuple[Any, ...]]:
    return [(record.fate, record.cause, record.time_ns, record.number) for record in log.records()]


def test_a_packet_is_sent_and_delivered() -> None:
    pair = NetworkPair()
    log = followed(pair)
    pair.clock.advance(5)
    pair.send(b"hello")
    pair.arrivals(MS)
    sent, delivered = log.records()
    assert sent == (PacketFate.SENT, 0, 5, 0, (HERE, 7000), (THERE, 7000), 5, b"hello")
    assert delivered == (PacketFate.DELIVERED, 0, 5 + 10 * US, 1, (HERE, 7000), (THERE, 7000), 5, b"hello")


def test_every_loss_tells_its_cause_and_its_time() -> None:
    pair = NetworkPair(queue_length=1)
    log = followed(pair)
    pair.send(b"delivered", b"too much")
    pair.clock.advance(MS)
    pair.network.partition(Partition((HERE,), (THERE,)))
    pair.send(b"cut off")
    pair.network.heal()
    pair.here.send_datagrams([(b"to nobody", (THERE, 1))])
    pair.arrivals(2 * MS)
    lost = [(LossCause(record.cause), record.time_ns, record.payload) for record in log.records() if record.fate is PacketFate.LOST]
    assert lost == [
        (LossCause.QUEUE, 0, b"too much"),
        (LossCause.PARTITION, MS, b"cut off"),
        (LossCause.UNREACHABLE, MS + 10 * US, b"to nobody"),
    ]


def test_repetitions_have_numbers_of_their_own() -> None:
    pair = NetworkPair(duplicate=1.0)
    log = followed(pair)
    pair.send(b"a")
    pair.arrivals(MS)
    assert facts(log) == [
        (PacketFate.SENT, 0, 0, 0),
        (PacketFate.REPEATED, 0, 0, 2),
        (PacketFate.DELIVERED, 0, 10 * US, 1),
        (PacketFate.DELIVERED, 0, 10 * US, 2),
    ]


def test_a_refusal_tells_its_error() -> None:
    pair = NetworkPair(send_error=1.0, send_errors=(errno.EPERM,))
    log = followed(pair)
    with pytest.raises(SocketError):
        pair.send(b"refused")
    assert facts(log) == [(PacketFate.REFUSED, errno.EPERM, 0, 0)]


def test_a_log_keeps_the_last_events_and_the_first_octets() -> None:
    pair = NetworkPair()
    log = followed(pair, PacketLog(3, snap_length=2))
    pair.send(b"first", b"", b"third", b"fourth")
    assert [(record.length, record.payload) for record in log.records()] == [(0, b""), (5, b"th"), (6, b"fo")]
    assert log.count == 4
    bare = followed(pair, PacketLog(2, snap_length=0))
    pair.send(b"fifth")
    assert [record.payload for record in bare.records()] == [b""]


def test_a_follower_can_leave() -> None:
    pair = NetworkPair()
    first, second = followed(pair), followed(pair)
    pair.send(b"a")
    pair.network.remove_trace(first)
    pair.send(b"b")
    assert (first.count, second.count) == (1, 2)
    with pytest.raises(ConfigurationError, match="no such trace"):
        pair.network.remove_trace(first)


def test_there_is_room_for_seven_followers_beside_the_digest() -> None:
    pair = NetworkPair()
    for _ in range(7):
        followed(pair)
    with pytest.raises(ConfigurationError, match="too many traces"):
        followed(pair)


@pytest.mark.parametrize(("capacity", "snap_length"), [(0, 64), (1 << 25, 64), (10, -1), (10, 65_537)])
def test_a_log_has_bounds(capacity: int, snap_length: int) -> None:
    with pytest.raises(ConfigurationError, match="out of range"):
        PacketLog(capacity, snap_length=snap_length)


def trace_hash(*payloads: bytes, seed: int = 1, gap_ns: int = US, **faults: Any) -> int:
    pair = NetworkPair(seed=seed, **faults)
    for payload in payloads:
        pair.send(payload)
        pair.clock.advance(gap_ns)
    pair.arrivals(MS)
    return pair.network.trace_hash


def test_a_digest_tells_payloads_lengths_times_and_fates_apart() -> None:
    hashes = [
        trace_hash(b"a", b"b"),
        trace_hash(b"b", b"a"),
        trace_hash(b"a", b"b", gap_ns=2 * US),
        trace_hash(b"a", b"c"),
        trace_hash(b"ab"),
        trace_hash(b"a\0", b"b"),
        trace_hash(bytes(8) + b"a"),
        trace_hash(bytes(9)),
        trace_hash(b"a", b"b", latency_ns=11 * US),
        trace_hash(b"a", b"b", loss=1.0),
        trace_hash(b"a", b"b", duplicate=1.0),
        trace_hash(),
    ]
    assert len(set(hashes)) == len(hashes)
    assert trace_hash(b"a", b"b") == hashes[0]


def test_a_digest_is_the_same_on_every_machine() -> None:
    # Of little-endian ones: the literal was computed once.
    assert (
        trace_hash(*(bytes([number]) * number for number in range(50)), loss=0.2, jitter_ns=100 * US, duplicate=0.1) == 15487100972544348870
    )
