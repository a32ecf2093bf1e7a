"""The client's watch over the driver's heartbeat, with literal times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerowire.base.runner import AgentInvoker
from aerowire.client.conductor import keepalive
from aerowire.client.conductor.keepalive import KeepaliveAgent
from aerowire.system.clock import SystemClock
from aerowire.system.wakeup import Wakeup

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

START_MS = 1_700_000_000_000


class Watch:
    """The agent alone, with a driver timeout of 1,000 ms and a driver that has just been heard."""

    def __init__(self, driver: FakeDriver) -> None:
        self.driver = driver
        self.agent = KeepaliveAgent(
            driver.ring,
            driver.counters,
            driver.cnc.to_clients_buffer,
            Wakeup(),
            client_id=1,
            driver_timeout_ms=1_000,
            interval_ns=500_000_000,
            service_timeout_ns=10_000_000_000,
        )
        self.invoker = AgentInvoker([self.agent], SystemClock())
        self.invoker.start()
        self.beat(0)

    def beat(self, at_ms: int) -> None:
        self.driver.ring.consumer_heartbeat_ms = START_MS + at_ms
        assert self.look(at_ms) == keepalive.OK

    def look(self, at_ms: int, *, set_ms: int = 0) -> int:
        """Look at a moment of the monotonic clock, which begins at 0; the wall clock was set by `set_ms` since the start."""
        self.invoker.invoke_at(at_ms * 1_000_000, START_MS + at_ms + set_ms)
        return self.agent.liveness


@pytest.fixture
def watch(driver: FakeDriver) -> Watch:
    return Watch(driver)


def test_a_driver_that_beats_as_slowly_as_the_timeout_lives(watch: Watch) -> None:
    for at_ms in (1_001, 2_003, 3_050, 4_150):
        assert watch.look(at_ms - 1) == keepalive.OK
        watch.beat(at_ms)


def test_a_driver_that_beats_often_is_missed_soon(watch: Watch) -> None:
    watch.beat(80)
    assert watch.look(80 + 1_010) == keepalive.OK
    assert watch.look(80 + 1_011) == keepalive.DRIVER_TIMEOUT
    assert watch.agent.heartbeat_age_ms == 1_011


def test_a_driver_heard_once_may_beat_each_second(watch: Watch) -> None:
    assert watch.look(1_125) == keepalive.OK
    assert watch.look(1_126) == keepalive.DRIVER_TIMEOUT


@pytest.mark.parametrize("next_ms", [9_000, -300])
def test_a_clock_that_jumps_lends_no_more_time_than_an_eighth_of_the_timeout(watch: Watch, next_ms: int) -> None:
    watch.driver.ring.consumer_heartbeat_ms = START_MS + next_ms
    assert watch.look(next_ms) == keepalive.OK
    assert watch.look(next_ms + 1_126) == keepalive.DRIVER_TIMEOUT


@pytest.mark.parametrize("set_ms", [1_200, 3_600_000, -1_200, -3_600_000])
def test_a_wall_clock_that_is_set_ends_no_client_of_a_driver_that_lives(watch: Watch, set_ms: int) -> None:
    watch.beat(500)
    assert watch.look(510, set_ms=set_ms) == keepalive.OK
    assert watch.look(1_490, set_ms=set_ms) == keepalive.OK
    for at_ms in (1_500, 2_500, 3_500):
        watch.driver.ring.consumer_heartbeat_ms = START_MS + at_ms + set_ms
        assert watch.look(at_ms, set_ms=set_ms) == keepalive.OK


@pytest.mark.parametrize("set_ms", [3_600_000, -3_600_000])
def test_a_driver_that_dies_is_missed_in_time_though_the_wall_clock_is_set(watch: Watch, set_ms: int) -> None:
    watch.beat(500)
    assert watch.look(1_500, set_ms=set_ms) == keepalive.OK
    assert watch.look(1_562, set_ms=set_ms) == keepalive.OK
    assert watch.look(1_563, set_ms=set_ms) == keepalive.DRIVER_TIMEOUT


def test_a_beat_from_before_the_clock_was_set_that_is_seen_after_it_is_new(watch: Watch) -> None:
    watch.driver.ring.consumer_heartbeat_ms = START_MS + 900
    assert watch.look(1_000, set_ms=3_600_000) == keepalive.OK
    assert watch.look(1_900, set_ms=3_600_000) == keepalive.OK


@pytest.mark.parametrize("heartbeat_ms", [-(2**63), 2**63 - 1, -2, 2**62])
def test_a_heartbeat_that_is_no_time_is_a_beat_or_none_and_never_an_end_without_one(watch: Watch, heartbeat_ms: int) -> None:
    watch.driver.ring.consumer_heartbeat_ms = heartbeat_ms
    watch.look(100)
    assert watch.look(100 + 1_126) == keepalive.DRIVER_TIMEOUT


def test_a_heartbeat_of_long_ago_is_old_though_its_age_does_not_fit_into_64_bits(watch: Watch) -> None:
    watch.driver.ring.consumer_heartbeat_ms = -(2**63)
    assert watch.look(100) == keepalive.DRIVER_TIMEOUT
