"""The client's watch over the driver's heartbeat, with literal times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from aerowire.base.runner import AgentInvoker
from aerowire.client import keepalive
from aerowire.client.keepalive import KeepaliveAgent
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

    def look(self, at_ms: int) -> int:
        self.invoker.invoke_at((1 + at_ms) * 1_000_000, START_MS + at_ms)
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
