"""Agents that sleep between the turns of their process, with literal times."""

from __future__ import annotations

from aerowire.simulation.sleeping_agent import SleepingAgent
from aerowire.system.clock import ManualClock


class Agent:
    """Has news or not, some work left, and a deadline; counts its cycles."""

    def __init__(self) -> None:
        self.clock = ManualClock(now_ns=1_000)
        self.cycles = 0
        self.left = 0
        self.due_ns = 5_000
        self.is_told = False
        self.sleeping = SleepingAgent(self.cycle, lambda: self.due_ns, lambda: self.is_told, self.clock)

    def cycle(self) -> int:
        self.cycles += 1
        self.is_told = False
        self.left -= self.left > 0
        return int(self.left > 0)


def test_a_cycle_comes_at_first_and_at_the_deadline() -> None:
    agent = Agent()
    assert (agent.sleeping.work(), agent.cycles, agent.sleeping.next_deadline_ns()) == (0, 1, 5_000)
    agent.clock.advance(3_999)
    assert (agent.sleeping.work(), agent.cycles) == (0, 1)
    agent.clock.advance(1)
    agent.due_ns = 9_000
    assert (agent.sleeping.work(), agent.cycles, agent.sleeping.next_deadline_ns()) == (0, 2, 9_000)


def test_news_end_a_sleep() -> None:
    agent = Agent()
    agent.sleeping.work()
    agent.is_told = True
    agent.sleeping.work()
    agent.sleeping.work()
    assert agent.cycles == 2


def test_a_cycle_with_work_is_followed_by_another() -> None:
    agent = Agent()
    agent.left = 3
    assert [agent.sleeping.work() for _ in range(4)] == [1, 1, 0, 0]
    assert agent.cycles == 3


def test_a_sleep_lasts_a_second_at_most() -> None:
    agent = Agent()
    agent.due_ns = (1 << 63) - 1
    agent.sleeping.work()
    assert agent.sleeping.next_deadline_ns() == 1_000_001_000
