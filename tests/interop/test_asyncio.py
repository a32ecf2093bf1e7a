"""The asyncio client and an official one: on the official driver, and each on its own side's driver."""

from __future__ import annotations

import pytest

from tests.interop.harness import Side
from tests.interop.scenarios import End, Scenario, lossy_network, other
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def exchange(scenario: Scenario, channel: str, publishing: End, subscribing: End) -> None:
    """Send a stream from one client to the other, ours in an event loop, and see that ours had to wait."""
    stream = scenario.stream()
    stream.subscribe(subscribing, channel, **_in_loop(subscribing))
    stream.publish(publishing, channel, **_in_loop(publishing))
    sent = stream.compare()
    if publishing.side == "aerowire":
        assert sent["back_pressured"] > 0
        scenario.observed("`send` waited for room")
    else:
        assert next(iter(stream.outcomes.values()))["waits"] > 0
        scenario.observed("`receive` waited for messages")
    stream.finish()


def _in_loop(end: End) -> dict[str, str]:
    return {"client": "asyncio"} if end.side == "aerowire" else {}


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_clients_share_the_official_driver(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("asyncio client, IPC on the official driver")
    driver = scenario.driver("official")
    exchange(scenario, "aeron:ipc", End(publishing, driver), End(other(publishing), driver))
    scenario.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_clients_meet_over_udp(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("asyncio client, UDP unicast")
    sender = End(publishing, scenario.driver(publishing))
    receiver = End(other(publishing), scenario.driver(other(publishing)))
    exchange(scenario, f"aeron:udp?endpoint=127.0.0.1:{free_port()}", sender, receiver)
    scenario.prove(sender.driver, "Status Messages received")
    scenario.prove(receiver.driver, "Status Messages sent")
    scenario.finish()


@pytest.mark.lossy
@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_clients_meet_over_a_lossy_network(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("asyncio client, UDP unicast, 5 % loss each way")
    sender = End(publishing, scenario.driver(publishing, lossy_network(publishing)))
    receiver = End(other(publishing), scenario.driver(other(publishing), lossy_network(other(publishing))))
    exchange(scenario, f"aeron:udp?endpoint=127.0.0.1:{free_port()}", sender, receiver)
    scenario.prove(receiver.driver, "NAKs sent")
    scenario.prove(sender.driver, "Retransmits sent")
    scenario.finish()
