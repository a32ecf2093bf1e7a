"""Commands to an agent keep their order and none is lost, however small the agent's queue is."""

from __future__ import annotations

from typing import Any, cast

from aerowire.agents.agent_proxy import AgentProxy
from aerowire.agents.command_queue import AgentCommand


class SmallAgent:
    """An agent whose queue holds two commands."""

    def __init__(self) -> None:
        self.queue: list[AgentCommand] = []

    @property
    def free_commands(self) -> int:
        return 2 - len(self.queue)

    def forget_taken(self) -> None:
        pass

    def put(self, command: AgentCommand) -> None:
        assert self.free_commands > 0
        self.queue.append(command)


class Counter:
    """A counter of commands that had to wait."""

    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        self.value += 1


class Labelled(AgentProxy):
    """A proxy whose commands are told apart by the order in which they were made."""

    def __init__(self, agent: SmallAgent, counter: Counter | None = None) -> None:
        super().__init__(cast(Any, agent), counter)
        self.made: list[AgentCommand] = []

    def ask(self) -> None:
        self.made.append(AgentCommand(len(self.made)))
        self.put(self.made[-1])


def test_what_does_not_fit_waits_in_order() -> None:
    agent = SmallAgent()
    proxy = Labelled(agent)
    for _ in range(6):
        proxy.ask()
    assert not proxy.is_open
    seen: list[AgentCommand] = []
    while agent.queue or proxy.flush():
        seen += agent.queue
        agent.queue.clear()
    assert seen == proxy.made


def test_a_new_command_never_passes_a_waiting_one() -> None:
    agent, counter = SmallAgent(), Counter()
    proxy = Labelled(agent, counter)
    for _ in range(3):
        proxy.ask()
    assert counter.value == 1
    agent.queue.clear()
    proxy.ask()
    assert agent.queue == []
    assert counter.value == 2
    assert proxy.flush() == 2
    assert agent.queue == proxy.made[2:]


def test_each_command_that_reaches_the_agent_wakes_its_thread() -> None:
    agent, found = SmallAgent(), []
    proxy = AgentProxy(cast(Any, agent), wake=lambda: found.append(len(agent.queue)))
    for number in range(3):
        proxy.put(AgentCommand(number))
    assert found == [1, 2]
    agent.queue.clear()
    assert proxy.flush() == 1
    assert found == [1, 2, 1]
