"""Each operation of an agent has its command; a driver counts the commands that wait."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.conductor import agent_proxies

AGENTS = Path(str(agent_proxies.__file__)).parent.with_name("agents")


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
