"""Clocks of hosts: drift, offset, jumps and restarts with literal times, and deadlines that are due when the world gets there."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerowire.base.errors import ConfigurationError, WrongTypeError
from aerowire.simulation.host_clock import HostClock
from aerowire.system.clock import ManualClock

MS, SECOND = 1_000_000, 1_000_000_000
EPOCH_MS = 1_700_000_000_000
EPOCH_NS = EPOCH_MS * MS
NEVER = (1 << 63) - 1


def clocks(**settings: Any) -> tuple[ManualClock, HostClock]:
    world = ManualClock(now_ns=SECOND, epoch_ms=EPOCH_MS)
    return world, HostClock(world, **settings)


def test_without_settings_it_tells_the_time_of_the_world() -> None:
    world, clock = clocks()
    world.advance(1_234_567)
    assert (clock.now_ns(), clock.now_epoch_ns(), clock.now_ms()) == (world.now_ns(), world.now_epoch_ns(), world.now_ms())
    assert (clock.drift_ppm, clock.offset_ns) == (0.0, 0)


@pytest.mark.parametrize(
    ("drift_ppm", "after_an_hour_ns"),
    [(100, 3_600_360_000_000), (-100, 3_599_640_000_000), (0.001, 3_600_000_003_600), (100_000, 3_960_000_000_000)],
)
def test_both_clocks_drift(drift_ppm: float, after_an_hour_ns: int) -> None:
    world, clock = clocks(drift_ppm=drift_ppm)
    world.advance(3_600 * SECOND)
    assert clock.now_ns() - SECOND == after_an_hour_ns
    assert clock.now_epoch_ns() - EPOCH_NS == after_an_hour_ns
    assert clock.offset_ns == after_an_hour_ns - 3_600 * SECOND
    assert clock.drift_ppm == drift_ppm


@pytest.mark.parametrize("drift_ppm", [-50, 0, 50])
def test_a_slow_clock_loses_whole_nanoseconds(drift_ppm: int) -> None:
    world, clock = clocks(drift_ppm=drift_ppm)
    read = []
    for _ in range(40_001):
        read.append(clock.now_ns() - SECOND)
        world.advance(1)
    # Two in 40,000.
    assert (read[0], read[20_000], read[40_000]) == (0, 20_000 + drift_ppm // 50, 40_000 + drift_ppm // 25)
    assert {later - earlier for earlier, later in itertools.pairwise(read)} <= {0, 1, 2}


def test_the_wall_clock_is_off_and_jumps_both_ways_and_monotonic_time_does_not() -> None:
    world, clock = clocks(offset_ns=-5 * SECOND)
    assert clock.now_epoch_ns() == EPOCH_NS - 5 * SECOND
    clock.jump(3_600 * SECOND)
    assert clock.now_ms() == EPOCH_MS + 3_595_000
    clock.jump(-7_200 * SECOND)
    assert clock.now_epoch_ns() == EPOCH_NS - 3_605 * SECOND
    assert clock.now_ns() == SECOND
    world.advance(7)
    assert clock.now_ns() == SECOND + 7
    assert clock.offset_ns == -3_605 * SECOND


def test_drift_changes_from_now_on() -> None:
    world, clock = clocks(drift_ppm=1_000)
    world.advance(SECOND)
    clock.set_drift(-1_000)
    assert clock.now_ns() == 2 * SECOND + MS
    world.advance(SECOND)
    assert clock.now_ns() == 3 * SECOND
    assert clock.now_epoch_ns() == EPOCH_NS + 2 * SECOND


def test_a_restart_begins_monotonic_time_again_and_leaves_the_wall_clock() -> None:
    world, clock = clocks(drift_ppm=10, offset_ns=3)
    world.advance(100 * SECOND)
    before = clock.now_epoch_ns()
    clock.restart()
    assert (clock.now_ns(), clock.now_epoch_ns()) == (0, before)
    clock.restart(77)
    assert (clock.now_ns(), clock.now_epoch_ns()) == (77, before)
    world.advance(SECOND)
    assert (clock.now_ns(), clock.now_epoch_ns()) == (77 + SECOND + 10_000, before + SECOND + 10_000)


def test_monotonic_time_begins_where_it_is_told() -> None:
    world, clock = clocks(start_ns=5)
    world.advance(2)
    assert (clock.now_ns(), clock.now_epoch_ns()) == (7, EPOCH_NS + 2)


@pytest.mark.parametrize(
    ("drift_ppm", "deadline_ns", "true_ns"),
    [
        (0, 3 * SECOND, 3 * SECOND),
        (1_000_000 / 10, SECOND + 11 * SECOND, SECOND + 10 * SECOND),  # 100,000: a tenth
        (-100_000, SECOND + 9 * SECOND, SECOND + 10 * SECOND),
        (100, SECOND + 1, SECOND + 1),
        (-100, SECOND + 1, SECOND + 2),  # at 1 ns it shows 0
        (100, SECOND, SECOND),
        (100, 0, SECOND),
        (100, -NEVER - 1, SECOND),
        (100, NEVER, NEVER),
        (-100, NEVER // 2, NEVER),
    ],
)
def test_a_deadline_becomes_true_time(drift_ppm: float, deadline_ns: int, true_ns: int) -> None:
    _, clock = clocks(drift_ppm=drift_ppm)
    assert clock.true_ns_of(deadline_ns) == true_ns


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 100 * SECOND)),
        st.tuples(st.just("drift"), st.floats(-100_000, 100_000)),
        st.tuples(st.just("jump"), st.integers(-1_000 * SECOND, 1_000 * SECOND)),
    ),
    max_size=12,
)


def changed(changes: list[tuple[str, Any]]) -> tuple[ManualClock, HostClock]:
    world, clock = clocks()
    last = clock.now_ns()
    for kind, value in changes:
        if kind == "advance":
            world.advance(value)
        elif kind == "drift":
            clock.set_drift(value)
        else:
            clock.jump(value)
        assert clock.now_ns() >= last
        last = clock.now_ns()
    return world, clock


@given(changes=CHANGES, ahead_ns=st.integers(1, 1_000_000 * SECOND))
def test_a_deadline_is_due_when_the_world_gets_there_and_not_a_nanosecond_before(changes: list[tuple[str, Any]], ahead_ns: int) -> None:
    world, clock = changed(changes)
    deadline_ns = clock.now_ns() + ahead_ns
    left_ns = clock.true_ns_of(deadline_ns) - world.now_ns()
    assert left_ns >= 1
    world.advance(left_ns - 1)
    assert clock.now_ns() < deadline_ns
    world.advance(1)
    assert clock.now_ns() >= deadline_ns


@pytest.mark.parametrize("drift_ppm", [100_001, -100_001, float("nan"), float("inf")])
def test_refuses_a_drift_out_of_range(drift_ppm: float) -> None:
    with pytest.raises(ConfigurationError, match="drift_ppm is out of range"):
        clocks(drift_ppm=drift_ppm)


def test_refuses_what_is_no_number() -> None:
    _, clock = clocks()
    with pytest.raises(WrongTypeError, match="drift_ppm has the wrong type"):
        clock.set_drift("1")  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="by_ns has the wrong type"):
        clock.jump(1.5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="by_ns is out of range"):
        clock.jump(1 << 61)


def test_a_digest_tells_apart_what_was_read() -> None:
    hashes = []
    for reads, drift_ppm in ((1, 0), (2, 0), (2, 1), (2, 0)):
        world, clock = clocks(drift_ppm=drift_ppm)
        for _ in range(reads):
            clock.now_ns()
            world.advance(SECOND)
        hashes.append((clock.reads, clock.trace_hash))
    assert [reads for reads, _ in hashes] == [1, 2, 2, 2]
    assert len(set(hashes)) == 3
    assert hashes[1] == hashes[3]
