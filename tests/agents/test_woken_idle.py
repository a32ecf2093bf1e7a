"""A thread that idles sleeps as its strategy says, unless it is woken. A sleep that nothing ends lasts a minute, which fails the test."""

from __future__ import annotations

import threading
from typing import Any

from aerowire.agents.agent_proxy import AgentProxy
from aerowire.agents.command_queue import AgentCommand
from aerowire.agents.woken_idle import WokenIdleStrategy
from aerowire.base.idle import BackoffIdleStrategy, SleepingMillisIdleStrategy
from aerowire.base.runner import AgentRunner
from aerowire.system.clock import SystemClock
from tests.support.waiting import no_longer_than, wait_until

MINUTE_MS = 60_000
SHORT_S = 30.0


def test_a_wake_up_that_comes_before_keeps_the_thread_from_one_sleep() -> None:
    idle = WokenIdleStrategy(SleepingMillisIdleStrategy(MINUTE_MS))
    for _ in range(3):
        idle.wake()
        with no_longer_than(SHORT_S, "it sleeps"):
            idle(0)


def test_a_wake_up_ends_a_sleep_that_goes_on() -> None:
    idle = WokenIdleStrategy(SleepingMillisIdleStrategy(MINUTE_MS))
    for _ in range(20):
        begun = threading.Event()

        def sleep(begun: threading.Event = begun) -> None:
            begun.set()
            idle(0)

        thread = threading.Thread(target=sleep, daemon=True)
        thread.start()
        begun.wait(SHORT_S)
        idle.wake()
        thread.join(SHORT_S)
        assert not thread.is_alive()


def test_it_sleeps_as_its_strategy_does_once_it_was_woken() -> None:
    idle = WokenIdleStrategy(SleepingMillisIdleStrategy(20))
    idle.wake()
    idle(0)
    sleep = threading.Thread(target=idle, args=(0,))
    sleep.start()
    sleep.join(0.005)
    assert sleep.is_alive()
    sleep.join(SHORT_S)


def test_it_starts_over_when_there_was_work() -> None:
    idle = WokenIdleStrategy(BackoffIdleStrategy(0, 0, 1_000, MINUTE_MS * 1_000_000))
    with no_longer_than(SHORT_S, "its parks have become longer"):
        for _ in range(1000):
            idle(0)
            idle(1)


def test_a_copy_is_of_the_same_strategy_and_has_a_bell_of_its_own() -> None:
    idle = WokenIdleStrategy(SleepingMillisIdleStrategy(20))
    copy = idle.copy()
    assert copy.alias == idle.alias == "sleep-ms"
    idle.wake()
    sleep = threading.Thread(target=copy, args=(0,))
    sleep.start()
    sleep.join(0.005)
    assert sleep.is_alive()
    sleep.join(SHORT_S)


def test_a_thread_that_only_a_wake_up_gives_work_sleeps_for_longer(tally: Any) -> None:
    idle, clock = WokenIdleStrategy(SleepingMillisIdleStrategy(1)), SystemClock()
    agent = tally.Tally(tally.TallyRing(), clock)
    proxy = AgentProxy(agent, wake=idle.wake)
    runner = AgentRunner([agent], clock, idle).start()
    pause = threading.Event()

    def is_still() -> bool:
        cycles = runner.invoker.cycle_count
        pause.wait(0.03)
        return runner.invoker.cycle_count == cycles

    wait_until(is_still, "the agent without items sleeps as long as the strategy says")
    item = tally.Item(1)
    cycles = runner.invoker.cycle_count
    proxy.put(AgentCommand(tally.ADD_ITEM, item, hold=True))
    wait_until(lambda: runner.invoker.cycle_count > cycles + 50, "an agent with items sleeps for long")
    proxy.put(AgentCommand(tally.REMOVE_ITEM, item))
    wait_until(is_still, "the agent does not sleep longer again")
    runner.stop()
    assert agent.broken == 0
