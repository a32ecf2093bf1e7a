"""The language of impairments, and what a bad network does to datagrams: lost, late, turned about, repeated, damaged."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameType, NakEncoder, SetupEncoder, StatusMessageEncoder
from aerowire.conformance.impairment import Impairment, Kind
from aerowire.conformance.network import HOLD_NS, Network, is_no_frame_of_old, rejects
from aerowire.conformance.rules import Effect, Endpoint, KnownStream, effect_of

KNOWN = KnownStream(session_id=7, stream_id=1001, initial_term_id=0, term_length=65_536)
IDS: Any = {"session_id": 7, "stream_id": 1001}
SETUP = SetupEncoder.encode(**IDS, term_length=65_536, mtu=1408)
STATUS = StatusMessageEncoder.encode(**IDS, receiver_window=32_768)
NAK = NakEncoder.encode(**IDS, length=64)
ALL = (
    "loss=0.05,loss.burst=3,loss.every=7,loss.of=data+nak,duplicate=0.1,delay=0.2,delay.ms=50,swap=0.1,"
    "reverse=8,shuffle=4,truncate=0.05,flip=0.25,seed=7"
)


def data(index: int) -> bytes:
    header = DataHeaderEncoder.encode(frame_length=64, type=FrameType.DATA, flags=0xC0, term_offset=64 * index, **IDS)
    return header + bytes([index]) * 32


def never(_: bytes) -> bool:
    return False


def pass_through(text: str, count: int = 100) -> list[int]:
    """Return the numbers of the datagrams that come out, in order; one goes in each microsecond."""
    network = Network(Impairment.parse(text), "test")
    found: list[bytes] = []
    for index in range(count):
        network.put(data(index), index * 1000, never)
        found += [passage.payload for passage in network.take(index * 1000)]
    found += [passage.payload for passage in network.take(count * 1000 + HOLD_NS)]
    return [payload[-1] for payload in found]


@pytest.mark.parametrize("text", ["seed=1", ALL, "swap=0.5,seed=123456789012"])
def test_impairment_is_written_as_it_is_read(text: str) -> None:
    assert str(Impairment.parse(text)) == text


def test_impairment_is_read() -> None:
    assert Impairment.parse("loss=0.05, reorder=0.1,seed=7") == Impairment(loss=0.05, swap=0.1, seed=7)
    assert Impairment.parse("loss.every=7,loss.of=nak+status").loss_of == {Kind.NAK, Kind.STATUS}
    assert Impairment.parse("") == Impairment()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wind=0.1", "expected loss=, loss.burst=, loss.every=, loss.of="),
        ("loss", "expected loss=, loss.burst="),
        ("loss=2", "a share is at least 0 and below 1"),
        ("loss=lots", "'lots' is not a number"),
        ("loss=nan", "a share is at least 0 and below 1"),
        ("loss.every=1", "expected a whole number from 2 to 1000000"),
        ("reverse=1.5", "expected a whole number from 2 to 64"),
        ("shuffle=65", "expected a whole number from 2 to 64"),
        ("loss.of=data+rain", "'rain' is no kind of datagram; expected some of data+setup+status+nak"),
        ("delay=0.1,delay.ms=0", "expected milliseconds above 0"),
        ("delay.ms=5", "expected delay= beside it"),
        ("loss.burst=5", "expected loss= or loss.every= beside it"),
        ("swap=0.1,reorder=0.1", "swap was given before"),
        ("seed=-1", "expected a whole number from 0"),
    ],
)
def test_impairment_that_is_none_is_refused_with_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        Impairment.parse(text)


def test_network_without_impairment_changes_nothing() -> None:
    assert pass_through("") == list(range(100))


def test_every_other_of_some_kinds_is_lost_in_bursts() -> None:
    assert pass_through("loss.every=10,loss.burst=3", 30) == [*range(9), *range(12, 19), *range(22, 29)]
    network = Network(Impairment.parse("loss.every=2,loss.of=setup+nak"), "test")
    wholes = [network.put(datagram, 0, never) for datagram in (SETUP, STATUS, data(0), NAK, SETUP, STATUS, NAK)]
    assert wholes == [True, True, True, False, True, True, False]
    assert network.lost == 2


def test_share_is_lost_and_another_comes_twice() -> None:
    came = pass_through("loss=0.2,duplicate=0.3,seed=5", 200)
    assert came == sorted(came)
    assert 120 < len(set(came)) < 190
    assert 30 < len(came) - len(set(came)) < 80


def test_windows_turn_the_order_about_and_lose_nothing() -> None:
    assert pass_through("reverse=4", 10) == [3, 2, 1, 0, 7, 6, 5, 4, 9, 8]
    came = pass_through("shuffle=5", 20)
    assert came != list(range(20))
    assert [sorted(came[at : at + 5]) for at in range(0, 20, 5)] == [list(range(at, at + 5)) for at in range(0, 20, 5)]
    swapped = pass_through("swap=0.5", 20)
    assert swapped != list(range(20)) == sorted(swapped)
    assert all(abs(number - at) <= 1 or swapped[at - 1] == number - 1 for at, number in enumerate(swapped))


def test_delayed_datagrams_come_at_their_time() -> None:
    network = Network(Impairment.parse("delay=0.99,delay.ms=20"), "test")
    network.put(data(0), 0, never)
    assert network.take(19_999_999) == []
    assert [passage.payload for passage in network.take(20_000_000)] == [data(0)]


@pytest.mark.parametrize("text", ["truncate=0.9", "flip=0.9"])
@pytest.mark.parametrize(
    ("datagram", "endpoint"),
    [(data(0) + data(1), Endpoint.RECEIVE), (SETUP, Endpoint.RECEIVE), (STATUS, Endpoint.SEND), (NAK, Endpoint.SEND)],
    ids=["data", "setup", "status", "nak"],
)
def test_damage_is_what_the_rules_call_invalid(text: str, datagram: bytes, endpoint: Endpoint) -> None:
    network = Network(Impairment.parse(text), "test")
    wholes = [network.put(datagram, 0, rejects(endpoint, KNOWN)) for _ in range(200)]
    passages = network.take(HOLD_NS)
    damaged = [passage.payload for passage in passages if passage.is_damaged]
    assert len(damaged) == network.damaged == wholes.count(False) > 150
    assert {effect_of(payload, endpoint, KNOWN) for payload in damaged} == {Effect.INVALID}
    assert len(set(damaged)) > 5
    assert {passage.payload for passage in passages if not passage.is_damaged} <= {datagram}
    assert all(len(payload) == len(datagram) for payload in damaged) is (text == "flip=0.9")


def test_damage_for_old_drivers_is_what_they_look_at() -> None:
    network = Network(Impairment.parse("truncate=0.5,flip=0.5"), "test")
    for _ in range(200):
        network.put(data(0), 0, is_no_frame_of_old)
    damaged = [passage.payload for passage in network.take(HOLD_NS) if passage.is_damaged]
    assert len(damaged) > 100
    assert all(len(payload) < 8 or payload[4] for payload in damaged)


def test_damage_that_nothing_rejects_is_loss_instead() -> None:
    network = Network(Impairment.parse("flip=0.99"), "test")
    assert not network.put(data(0), 0, never)
    assert (network.take(HOLD_NS), network.lost, network.damaged) == ([], 1, 0)


def test_same_seed_makes_the_same_choices() -> None:
    assert pass_through(ALL) == pass_through(ALL) != pass_through(ALL.replace("seed=7", "seed=8"))
