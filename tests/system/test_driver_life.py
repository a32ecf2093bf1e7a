"""Whether a driver lives, where the wall clock was set: literal times, a lock file of this process, no driver."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from aerowire.base.directory import LOCK_FILE_NAME
from aerowire.system.clock import ManualClock
from aerowire.system.driver_life import DriverLife

TIMEOUT_NS = 10_000_000_000
BEAT_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
NO_PROCESS = 2**31 - 1


@dataclass
class Beating:
    """What a driver's file says."""

    heartbeat_ms: int
    pid: int


class Stage:
    """A driver's file, the clocks, and events that happen during a wait."""

    def __init__(self, directory: Path) -> None:
        self.clock = ManualClock(now_ns=5_000_000_000, epoch_ms=BEAT_MS)
        self.file = Beating(BEAT_MS, os.getpid())
        self.waits: list[int] = []
        self.at_wait: Callable[[], object] = lambda: None
        self.life = DriverLife(directory, self.clock, TIMEOUT_NS, self._sleep)

    def set_wall_clock(self, by_ms: int) -> None:
        self.clock.set(now_ns=self.clock.now_ns(), epoch_ms=self.clock.now_ms() + by_ms)

    def beat(self) -> None:
        self.file.heartbeat_ms = self.clock.now_ms()

    def _sleep(self, duration_ns: int) -> None:
        self.waits.append(duration_ns)
        self.clock.advance(duration_ns)
        self.at_wait()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@contextmanager
def held(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory / LOCK_FILE_NAME, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("age_ms", "is_alive"), [(0, True), (10_000, True), (10_001, False), (-1, False)])
def test_a_heartbeat_counts_while_it_is_no_older_than_the_timeout_and_not_of_the_future(stage: Stage, age_ms: int, is_alive: bool) -> None:
    stage.set_wall_clock(age_ms)
    assert stage.life.is_alive(stage.file) is is_alive
    assert stage.waits == []


@pytest.mark.parametrize("heartbeat_ms", [0, -1])
def test_a_driver_that_has_not_begun_or_has_ended_does_not_live(stage: Stage, heartbeat_ms: int) -> None:
    stage.file.heartbeat_ms = heartbeat_ms
    assert not stage.life.await_life(stage.file)
    assert stage.waits == []


def test_a_driver_whose_lock_file_is_let_go_is_dead_whatever_its_heartbeat_says(stage: Stage, tmp_path: Path) -> None:
    with held(tmp_path):
        assert stage.life.await_life(stage.file)
    assert not stage.life.await_life(stage.file)
    stage.set_wall_clock(-HOUR_MS)
    assert not stage.life.await_life(stage.file)
    assert stage.waits == []


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS])
def test_a_living_driver_is_found_by_its_next_heartbeat_after_the_wall_clock_was_set(stage: Stage, step_ms: int) -> None:
    stage.set_wall_clock(step_ms)
    stage.at_wait = lambda: stage.beat() if len(stage.waits) == 100 else None
    assert stage.life.await_life(stage.file)
    assert len(stage.waits) == 100


@pytest.mark.parametrize("is_locked", [False, True])
@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS])
def test_a_driver_without_another_heartbeat_is_silent_after_1200_ms_and_then_at_once(
    stage: Stage, tmp_path: Path, step_ms: int, is_locked: bool
) -> None:
    stage.set_wall_clock(step_ms)
    if is_locked:
        with held(tmp_path):
            assert not stage.life.await_life(stage.file)
    else:
        assert not stage.life.await_life(stage.file)
    assert stage.clock.now_ns() == pytest.approx(5_000_000_000 + 1_210_000_000, abs=1000)
    waits = len(stage.waits)
    stage.set_wall_clock(-step_ms)  # back to where its heartbeat looks young
    assert not stage.life.await_life(stage.file)
    assert len(stage.waits) == waits


def test_a_driver_that_is_silent_lives_again_with_its_next_heartbeat(stage: Stage) -> None:
    stage.set_wall_clock(-HOUR_MS)
    assert not stage.life.is_alive(stage.file)
    stage.clock.advance(1_000_000_000)
    assert not stage.life.is_alive(stage.file)
    stage.beat()
    assert stage.life.is_alive(stage.file)
    assert stage.life.is_alive(stage.file)


def test_nothing_is_waited_for_where_there_is_no_such_process(stage: Stage) -> None:
    stage.file.pid = NO_PROCESS
    stage.set_wall_clock(HOUR_MS)
    assert not stage.life.await_life(stage.file)
    assert stage.waits == []


def test_a_driver_that_ends_meanwhile_does_not_live(stage: Stage) -> None:
    def end() -> None:
        stage.file.heartbeat_ms = -1

    stage.set_wall_clock(HOUR_MS)
    stage.at_wait = end
    assert not stage.life.await_life(stage.file)
    assert len(stage.waits) == 1
