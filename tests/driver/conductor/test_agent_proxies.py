"""Commands to agents keep their order and none is lost, however small an agent's queue is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.conductor.agent_proxies import ConductorAgentProxy


class SmallAgent:
    """An agent whose queue holds two commands."""

    def __init__(self) -> None:
        self.queue: list[tuple[str, Any]] = []

    @property
    def free_commands(self) -> int:
        return 2 - len(self.queue)

    def forget_taken(self) -> None:
        pass

    def add_publication(self, publication: Any) -> None:
        assert self.free_commands > 0
        self.queue.append(("add", publication))

    def close_publication(self, publication: Any, *, abandoned: bool) -> None:
        del abandoned
        assert self.free_commands > 0
        self.queue.append(("close", publication))


def test_what_does_not_fit_waits_in_order() -> None:
    agent = SmallAgent()
    proxy = ConductorAgentProxy(cast(Any, agent))
    for number in range(3):
        proxy.add_publication(cast(Any, number))
        proxy.close_publication(cast(Any, number), abandoned=False)
    assert not proxy.is_open
    seen: list[tuple[str, Any]] = []
    while agent.queue or proxy.flush():
        seen += agent.queue
        agent.queue.clear()
    assert seen == [(kind, number) for number in range(3) for kind in ("add", "close")]


def test_a_new_command_never_passes_a_waiting_one() -> None:
    agent = SmallAgent()
    proxy = ConductorAgentProxy(cast(Any, agent))
    for number in range(3):
        proxy.add_publication(cast(Any, number))
    agent.queue.clear()
    proxy.close_publication(cast(Any, 0), abandoned=False)
    assert agent.queue == []
    assert proxy.flush() == 2
    assert agent.queue == [("add", 2), ("close", 0)]


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
