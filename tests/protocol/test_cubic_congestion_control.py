"""The window of a receiver that reacts to loss, at literal times."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.ipc.counters import CountersManager
from aerowire.memory.region import Region
from aerowire.protocol.cubic_congestion_control import CubicCongestionControl

US = 1_000
MS = 1_000_000
SECOND = 1_000_000_000
MTU = 4096
WINDOW = 131_072  # 32 MTUs: back at the old window cbrt(32 * 0.2 / 0.4) = 2.52 s after a loss
START = 7 * SECOND


def cubic(**options: Any) -> CubicCongestionControl:
    defaults: dict[str, Any] = {"max_window_length": WINDOW, "mtu": MTU, "now_ns": START}
    return CubicCongestionControl(**defaults | options)


def test_begins_with_ten_datagrams_or_as_many_as_the_window_holds() -> None:
    assert cubic().window_length == 10 * MTU
    assert cubic(max_window_length=3 * MTU + 1).window_length == 3 * MTU
    with pytest.raises(ValueError, match="at least one MTU"):
        cubic(max_window_length=MTU - 1)
    for rtt_ns in (-1, 60 * SECOND + 1, 2**63 - 1):
        with pytest.raises(ValueError, match=f"expected 0 to 60000000000 ns, actual {rtt_ns}"):
            cubic(initial_rtt_ns=rtt_ns)
    assert cubic(initial_rtt_ns=60 * SECOND).window_length == 10 * MTU


def test_a_loss_takes_a_fifth_and_is_told_at_once_down_to_one_datagram() -> None:
    control = cubic()
    windows = [control.track(START + index, loss=True) for index in range(9)]
    assert [window // MTU for window, _ in windows] == [8, 6, 4, 3, 2, 1, 1, 1, 1]
    assert all(force for _, force in windows)


def test_grows_back_to_the_old_window_in_k_seconds_and_then_to_the_limit() -> None:
    control = cubic()
    for millisecond in range(3_000):
        window, force = control.track(START + millisecond * MS)
        assert not force
    assert window == WINDOW
    lost_ns = START + 3 * SECOND
    assert control.track(lost_ns, loss=True) == (25 * MTU, True)
    seen = [control.track(lost_ns + millisecond * MS)[0] // MTU for millisecond in range(1, 3_000)]
    assert seen == sorted(seen)
    assert (seen[0], seen[1_000], seen[-1]) == (26, 31, 32)
    assert seen.index(32) > 1_000


def test_updates_no_more_often_than_a_round_trip() -> None:
    control = cubic(initial_rtt_ns=100 * MS)
    assert control.track(START + 100 * MS) == (10 * MTU, False)
    window, _ = control.track(START + 100 * MS + 1)
    assert window == 27 * MTU  # 32 - 0.4 * (2.52 - 0.1)^3
    assert control.track(START + 200 * MS) == (27 * MTU, False)


def test_with_one_datagram_every_step_is_told() -> None:
    control = cubic(initial_rtt_ns=SECOND)
    for _ in range(8):
        control.track(START, loss=True)
    assert control.track(START, consumption_position=64, last_sm_position=64) == (MTU, False)
    assert control.track(START, consumption_position=128, last_sm_position=64) == (MTU, True)


def test_in_tcp_mode_no_slower_than_tcp() -> None:
    slow, quick = cubic(), cubic(tcp_mode=True)
    for control in (slow, quick):
        for _ in range(3_000):
            control.track(START + 4 * SECOND)
        control.track(START + 5 * SECOND, loss=True)
    at = START + 5 * SECOND + 2 * MS
    assert (slow.track(at)[0] // MTU, quick.track(at)[0] // MTU) == (26, 32)  # 25.6 + 20 round trips of a third of a datagram


def test_measures_round_trips_only_when_told_to_each_four_of_them() -> None:
    assert not cubic().poll_rtt_request(START)
    control = cubic(measure_rtt=True)
    assert control.poll_rtt_request(START)
    assert not control.poll_rtt_request(START + 400 * US)
    assert control.poll_rtt_request(START + 401 * US)
    control.on_rtt(START + 402 * US, 10 * MS)
    assert not control.poll_rtt_request(START + 402 * US + 40 * MS)
    assert control.poll_rtt_request(START + 403 * US + 40 * MS)


@pytest.mark.parametrize("made_up", [-1, -(2**63), 2**63 - 1, 61 * SECOND])
def test_an_impossible_round_trip_is_not_believed(made_up: int) -> None:
    control = cubic(measure_rtt=True, tcp_mode=True)
    control.on_rtt(START, made_up)
    assert control.poll_rtt_request(START + 401 * US)


def test_a_round_trip_of_nothing_does_no_harm() -> None:
    control = cubic(tcp_mode=True, initial_rtt_ns=0)
    control.track(START, loss=True)
    assert control.track(START + 1)[0] <= WINDOW


def test_counters_tell_window_and_round_trip() -> None:
    counters = CountersManager(Region.anonymous(64 * 1024), Region.anonymous(16 * 1024))
    rtt_id, window_id = counters.allocate("rtt"), counters.allocate("window")
    control = cubic(counters=counters, rtt_counter_id=rtt_id, window_counter_id=window_id)
    assert (counters.value(rtt_id), counters.value(window_id)) == (0, 10 * MTU)
    control.track(START, loss=True)
    control.on_rtt(START, 123_456)
    assert (counters.value(rtt_id), counters.value(window_id)) == (123_456, 8 * MTU)
