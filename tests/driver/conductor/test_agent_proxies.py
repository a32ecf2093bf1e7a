"""Commands to agents keep their order and none is lost, however small an agent's queue is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from aerowire.agents.command_queue import AgentCommand
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.conductor import agent_proxies
from aerowire.driver.conductor.agent_proxies import AgentProxy

AGENTS = Path(str(agent_proxies.__file__)).parent.with_name("agents")


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


class Labelled(AgentProxy):
    """A proxy whose commands are told apart by the order in which they were made."""

    def __init__(self, agent: SmallAgent) -> None:
        super().__init__(cast(Any, agent))
        self.made: list[AgentCommand] = []

    def ask(self) -> None:
        self.made.append(AgentCommand(len(self.made)))
        self._put(self.made[-1])


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
    agent = SmallAgent()
    proxy = Labelled(agent)
    for _ in range(3):
        proxy.ask()
    agent.queue.clear()
    proxy.ask()
    assert agent.queue == []
    assert proxy.flush() == 2
    assert agent.queue == proxy.made[2:]


def operations(agent: str) -> list[str]:
    """The names that an agent's .pxd declares."""
    text = (AGENTS / f"{agent}.pxd").read_text()
    return re.findall(r"^    ([A-Z_]+)$", text[text.index("cpdef enum:") :].partition("\n\n")[0], re.MULTILINE)


@pytest.mark.parametrize("agent", ["sender", "receiver", "conductor_agent"])
def test_each_operation_has_one_method_of_the_proxy_and_one_branch_of_the_agent(agent: str) -> None:
    declared = operations(agent)
    assert len(declared) > 5
    asked = re.findall(rf"\b{agent}\.([A-Z_]+)\b", Path(str(agent_proxies.__file__)).read_text())
    done = re.findall(r"command\.operation == ([A-Z_]+):", (AGENTS / f"{agent}.pyx").read_text())
    assert sorted(asked) == sorted(done) == sorted(declared)


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_driver_counts_the_commands_that_an_agent_has_no_room_for(client: Any, role: str) -> None:
    conductor = client.driver.conductor
    client.take(CommandType.ON_PUBLICATION_READY, client.add_publication("aeron:udp?endpoint=127.0.0.1:9", 10))
    client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 10))
    (sending,), (receiving,) = conductor.endpoints._senders, conductor.endpoints._receivers
    proxy = getattr(conductor.core, role)

    def nothing() -> None:
        if role == "sender":
            proxy.remove_destination(sending.native, 12345)
        else:
            proxy.remove_cool_down(receiving.native, 1, 2)

    while proxy._agent.free_commands:
        nothing()
    for _ in range(2):
        nothing()
    expected = {"sender": (2, 0), "receiver": (0, 2)}[role]
    assert (client.system(SystemCounter.SENDER_PROXY_FAILS), client.system(SystemCounter.RECEIVER_PROXY_FAILS)) == expected
    client.work()
    assert proxy.is_open
