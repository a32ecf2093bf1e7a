"""The harness's UDP endpoint: what it waits for, what it calls late, what it calls missing."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.conformance.harness import frames, wire
from aerowire.conformance.harness.check import check_intervals
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.harness.units import parse_duration_ns
from aerowire.conformance.harness.wire import Wire, free_port
from aerowire.conformance.model import Finding, MachineLacks, NotSent, TimingMiss

STREAM = StreamFrames(1, 2, initial_term_id=2**31 - 1, term_length=65_536)


@pytest.fixture
def pair() -> Iterator[tuple[Wire, Wire]]:
    """Two endpoints on loopback."""
    one, two = Wire(), Wire()
    yield one, two
    one.close()
    two.close()


def test_free_ports_are_outside_of_the_range_that_the_system_assigns_from() -> None:
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    drawn = [free_port(host) for host in ["127.0.0.1", "::1"] * 50]
    assert len(set(drawn)) == len(drawn)
    assert 1024 < min(drawn) <= max(drawn) < first


def test_free_port_is_free_on_every_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    # A multicast endpoint binds its port on all interfaces.
    taken, free = free_port(), free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", taken))
        monkeypatch.setattr(wire, "_ports", iter([taken, free]))
        assert free_port() == free
        monkeypatch.setattr(wire, "_ports", itertools.repeat(taken))
        with pytest.raises(MachineLacks, match=r"20000 to 32759 that is free.*50 of them are taken"):
            free_port()


def test_group_is_heard_on_the_interface_of_loopback(pair: tuple[Wire, Wire]) -> None:
    group = ("239.77.88.98", pair[0].port)
    ear = Wire(group[0], port=group[1], interface="127.0.0.1")
    pair[0].send(b"to all", group)
    pair[0].send(b"to the next group", ("239.77.88.99", group[1]))
    assert ear.wait(time.monotonic_ns() + 10**9)
    ear.collect(20)
    assert [(arrival.payload, arrival.source) for arrival in ear.arrivals] == [(b"to all", ("127.0.0.1", pair[0].port))]
    ear.close()


def test_arrival_has_source_time_and_frames(pair: tuple[Wire, Wire]) -> None:
    one, two = pair
    left_ns = one.send(STREAM.data(0, b"a") + STREAM.data(64, b"bb"), ("127.0.0.1", two.port))
    arrival = two.expect(frames.is_data, "data", within_ms=1000)
    assert arrival.source == ("127.0.0.1", one.port)
    assert abs(arrival.time_ns - left_ns) < 50_000_000
    assert [bytes(frame.data) for frame in arrival.frames] == [b"a", b"bb"]


def test_time_is_that_of_arrival_not_of_reading(pair: tuple[Wire, Wire]) -> None:
    one, two = pair
    taken_ns = []
    # Beside other work the kernel may deliver late; a stamp of the reading is late each time.
    for _ in range(10):
        left_ns = one.send(STREAM.heartbeat(0), ("127.0.0.1", two.port))
        # Whatever the reader does meanwhile, the kernel's stamp stays.
        until = time.monotonic_ns() + 30_000_000
        while time.monotonic_ns() < until:
            pass
        taken_ns.append(two.expect(frames.is_heartbeat, "a heartbeat", within_ms=1000, since_ns=left_ns).time_ns - left_ns)
        if taken_ns[-1] < 25_000_000:
            break
    assert taken_ns[-1] < 25_000_000, taken_ns


def test_late_is_told_from_missing(pair: tuple[Wire, Wire], monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = pair
    monkeypatch.setattr(wire, "PATIENCE_S", 0.3)
    timer = threading.Timer(0.1, one.send, (STREAM.setup(), ("127.0.0.1", two.port)))
    timer.start()
    with pytest.raises(TimingMiss, match=r"within 5 ms; got it came after \d+"):
        two.expect(frames.is_setup, "a SETUP", within_ms=5)
    timer.join()
    with pytest.raises(Finding, match="a NAK within 5 ms; got it did not come; instead: SETUP"):
        two.expect(frames.is_nak, "a NAK", within_ms=5)


def test_silence_is_broken_by_a_match_only(pair: tuple[Wire, Wire]) -> None:
    one, two = pair
    one.send(STREAM.setup(), ("127.0.0.1", two.port))
    two.expect_none(frames.is_nak, "NAK", for_ms=20, start=0)
    with pytest.raises(Finding, match="no SETUP; got SETUP"):
        two.expect_none(frames.is_setup, "SETUP", for_ms=1, start=0)


def test_datagram_too_long_for_the_socket_is_not_sent(pair: tuple[Wire, Wire]) -> None:
    one, two = pair
    with pytest.raises(NotSent, match="Message too long"):
        one.send(bytes(66_000), ("127.0.0.1", two.port))


def test_bytes_that_are_no_frame_are_kept_but_match_nothing(pair: tuple[Wire, Wire]) -> None:
    one, two = pair
    one.send(b"hello", ("127.0.0.1", two.port))
    assert two.collect(20, match=lambda _: True) == []
    assert repr(two.arrivals[0]) == "5 bytes that are no frame (68656c6c6f)"


def test_frames_of_a_position_wrap_the_term_id() -> None:
    (frame,) = frames.parse(STREAM.nak(65_536 + 96, 64))
    assert (frame.term_id, frame.term_offset, frame.length) == (-(2**31), 96, 64)


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([100, 101, 99, 100], None),
        ([100, 101, 130, 100], TimingMiss),
        ([100, 101, 90, 100], TimingMiss),
        ([100, 101, 260, 100], Finding),
        ([100, 101, 40, 100], Finding),
        ([100, 101, 100], TimingMiss),
        ([100], Finding),
        ([], Finding),
    ],
)
def test_periods(intervals: list[float], outcome: type[Exception] | None) -> None:
    if outcome is None:
        check_intervals("beats", intervals, at_least=4, low=98, high=120)
        return
    with pytest.raises(outcome):
        check_intervals("beats", intervals, at_least=4, low=98, high=120)


@pytest.mark.parametrize(
    ("text", "nanos"), [("5s", 5 * 10**9), ("200ms", 2 * 10**8), ("1us", 1000), ("7ns", 7), ("42", 42), (" 1S ", 10**9)]
)
def test_durations(text: str, nanos: int) -> None:
    assert parse_duration_ns(text) == nanos


@pytest.mark.parametrize("text", ["", "s", "5m", "-1s", "1.5s"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ns(text)


def test_datagram_of_an_unknown_type_is_told_in_words() -> None:
    assert frames.describe(bytes.fromhex("20000000 00c0 0c00") + bytes(24)).startswith("type 12[frame_length=32 flags=192")
