"""A watch of counters finds positions that step back or pass their limits, and ids that are given out again too early."""

from __future__ import annotations

import pytest

from aerowire.ipc.counters import CountersManager
from aerowire.simulation.counter_watch import PAST_LIMIT, REUSED, STEPS_BACK, CounterWatch

POSITION, LIMIT, JOINED, OTHER = 11, 12, 13, 14
CAPACITY = 16
REST_MS = 1_000


class Driver:
    """The counters of a driver, and a wall clock that tests set."""

    def __init__(self, rest_ms: int = REST_MS) -> None:
        self.now_ms = 5_000
        self.counters = CountersManager(
            bytearray(CAPACITY * 512), bytearray(CAPACITY * 128), free_to_reuse_timeout_ms=rest_ms, epoch_ms=lambda: self.now_ms
        )
        self.watch = CounterWatch(
            self.counters,
            positions=(POSITION, JOINED),
            joined=(JOINED,),
            bounds=((POSITION, LIMIT, 10), (LIMIT, JOINED, 100)),
            reuse_timeout_ms=REST_MS,
        )

    def add(self, type_id: int, stream: int, *, joined: int = 0) -> int:
        return self.counters.allocate("", type_id, registration_id=joined or stream, reference_id=stream if joined else 0)

    def look(self) -> tuple[str, int, int] | None:
        breach = self.watch.look(self.now_ms)
        return None if breach is None else (breach.rule, breach.counter_id, breach.saw)


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_a_position_must_not_step_back(driver: Driver) -> None:
    position, other = driver.add(POSITION, 1), driver.add(OTHER, 1)
    for value in (0, 64, 64, 128):
        driver.counters.set_value(position, value)
        driver.counters.set_value(other, -value)
        assert driver.look() is None
    driver.counters.set_value(position, 96)
    assert driver.look() == (STEPS_BACK, position, 96)


def test_a_value_keeps_to_the_limit_of_its_own_stream(driver: Driver) -> None:
    position, limit, foreign = driver.add(POSITION, 1), driver.add(LIMIT, 1), driver.add(LIMIT, 2)
    driver.counters.set_value(foreign, 5)
    driver.counters.set_value(position, 10)
    assert driver.look() is None
    driver.counters.set_value(position, 11)
    assert driver.look() == (PAST_LIMIT, position, 11)
    driver.counters.set_value(limit, 1)
    assert driver.look() is None


def test_the_slowest_subscriber_is_the_limit_once_it_is_counted(driver: Driver) -> None:
    limit, fast, slow = driver.add(LIMIT, 1), driver.add(JOINED, 1, joined=7), driver.add(JOINED, 1, joined=8)
    driver.counters.set_value(limit, 400)
    driver.counters.set_value(fast, 350)
    assert driver.look() is None  # the other one has not joined yet
    driver.counters.set_value(slow, 300)
    assert driver.look() is None
    driver.counters.set_value(limit, 401)
    assert driver.look() == (PAST_LIMIT, limit, 401)
    driver.counters.free(slow)
    assert driver.look() is None


def test_a_freed_counter_rests(driver: Driver) -> None:
    first = driver.add(OTHER, 1)
    assert driver.look() is None
    driver.counters.free(first)
    assert driver.look() is None
    driver.now_ms += REST_MS
    assert driver.add(OTHER, 2) == first
    assert driver.look() is None


@pytest.mark.parametrize("looks_between", [False, True])
def test_an_id_that_is_given_out_again_at_once_is_found(looks_between: bool) -> None:
    driver = Driver(rest_ms=0)
    first = driver.add(OTHER, 1)
    assert driver.look() is None
    driver.counters.free(first)
    if looks_between:
        assert driver.look() == (REUSED, first, driver.now_ms)
        return
    assert driver.add(OTHER, 2) == first
    assert driver.look() == (REUSED, first, driver.now_ms)


@pytest.mark.parametrize("jump_ms", [-600_000, 600_000])
def test_a_clock_that_is_set_excuses_what_it_decides(driver: Driver, jump_ms: int) -> None:
    first = driver.add(OTHER, 1)
    assert driver.look() is None
    driver.now_ms += jump_ms
    driver.counters.free(first)
    assert driver.look() is None
    driver.now_ms += REST_MS - 1
    assert driver.add(OTHER, 2) != first
    assert driver.look() is None


def test_there_are_no_more_bounds_than_fit() -> None:
    counters = Driver().counters
    CounterWatch(counters, bounds=((POSITION, LIMIT, 0),) * 32)
    with pytest.raises(ValueError, match="bounds: expected at most 32, actual 33"):
        CounterWatch(counters, bounds=((POSITION, LIMIT, 0),) * 33)
