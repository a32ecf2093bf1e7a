"""Commands to agents keep their order and none is lost, however small an agent's queue is."""

from __future__ import annotations

from typing import Any, cast

import pytest

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.conductor.agent_gates import TrackerGate


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
    gate = TrackerGate(cast(Any, agent))
    for number in range(3):
        gate.add_publication(cast(Any, number))
        gate.close_publication(cast(Any, number), abandoned=False)
    assert not gate.is_open
    seen: list[tuple[str, Any]] = []
    while agent.queue or gate.flush():
        seen += agent.queue
        agent.queue.clear()
    assert seen == [(kind, number) for number in range(3) for kind in ("add", "close")]


def test_a_new_command_never_passes_a_waiting_one() -> None:
    agent = SmallAgent()
    gate = TrackerGate(cast(Any, agent))
    for number in range(3):
        gate.add_publication(cast(Any, number))
    agent.queue.clear()
    gate.close_publication(cast(Any, 0), abandoned=False)
    assert agent.queue == []
    assert gate.flush() == 2
    assert agent.queue == [("add", 2), ("close", 0)]


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_driver_counts_the_commands_that_an_agent_has_no_room_for(client: Any, role: str) -> None:
    registrar = client.driver.registrar
    client.take(CommandType.ON_PUBLICATION_READY, client.add_publication("aeron:udp?endpoint=127.0.0.1:9", 10))
    client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 10))
    (sending,), (receiving,) = registrar.endpoints._senders, registrar.endpoints._receivers
    gate = getattr(registrar.core, role)

    def nothing() -> None:
        if role == "sender":
            gate.remove_destination(sending.native, 12345)
        else:
            gate.remove_cool_down(receiving.native, 1, 2)

    while gate._agent.free_commands:
        nothing()
    for _ in range(2):
        nothing()
    expected = {"sender": (2, 0), "receiver": (0, 2)}[role]
    assert (client.system(SystemCounter.SENDER_PROXY_FAILS), client.system(SystemCounter.RECEIVER_PROXY_FAILS)) == expected
    client.work()
    assert gate.is_open
