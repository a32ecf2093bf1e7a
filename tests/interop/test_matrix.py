"""Clients and drivers, ours and the official ones, in every pairing: what one end sent is what the other end got.

A run is two legs on one pair of drivers: 64 KiB terms, where messages reach their limit of an eighth of a term
(8,192 bytes) and each term holds about fifteen of them; and, at a tenth of the size, 128 KiB terms with messages of
up to 10,000 bytes, which 64 KiB terms cannot carry.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.interop.harness import Side
from tests.interop.scenarios import End, Scenario, lossy_network, other
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(700)]

# Many times the messages of any other scenario: the plainest streams carry the most. A loss costs a round trip for each.
SCALE, LOSSY_SCALE = 10, 2


@dataclass(frozen=True)
class Leg:
    """One stream of a run; `share` divides the run's number of messages."""

    stream: int
    term_length: int
    length_max: int
    share: int


LEGS = (Leg(1001, 65_536, 8_192, 1), Leg(1002, 131_072, 10_000, 10))


def run_legs(scenario: Scenario, channel: str, publishing: End, subscribing: End, *, scale: int = SCALE) -> None:
    """Send each leg's messages, and assert that what arrived is what was sent."""
    for leg in LEGS:
        stream = scenario.stream(
            stream=leg.stream, term_length=leg.term_length, length_max=leg.length_max, messages=scenario.messages * scale // leg.share
        )
        stream.subscribe(subscribing, channel)
        stream.publish(publishing, channel)
        sent = stream.compare()
        assert sent["position"] > sent["bytes"]
        stream.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
@pytest.mark.parametrize("media", ["ipc", "udp"])
@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_foreign_client_and_own_client_share_a_driver(scenario: Scenario, driving: Side, media: str, publishing: Side) -> None:
    scenario.feature("IPC" if media == "ipc" else "UDP unicast, one driver")
    driver = scenario.driver(driving)
    channel = "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    run_legs(scenario, channel, End(publishing, driver), End(other(publishing), driver))
    scenario.finish()


@pytest.mark.parametrize("network", ["clean", pytest.param("lossy", marks=pytest.mark.lossy)])
@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_drivers_meet_over_udp(scenario: Scenario, publishing: Side, network: str) -> None:
    lossy = network == "lossy"
    scenario.feature("UDP unicast, 5 % loss each way" if lossy else "UDP unicast")
    subscribing = other(publishing)
    sender = End(publishing, scenario.driver(publishing, lossy_network(publishing) if lossy else None))
    receiver = End(subscribing, scenario.driver(subscribing, lossy_network(subscribing) if lossy else None))
    run_legs(scenario, f"aeron:udp?endpoint=127.0.0.1:{free_port()}", sender, receiver, scale=LOSSY_SCALE if lossy else SCALE)

    scenario.prove(sender.driver, "Status Messages received")
    scenario.prove(receiver.driver, "Status Messages sent")
    if lossy:
        scenario.prove(receiver.driver, "NAKs sent")
        scenario.prove(sender.driver, "NAKs received")
        scenario.prove(sender.driver, "Retransmits sent")
        losses = scenario.bench.java.run_tool("io.aeron.samples.LossStat", receiver.driver.directory)
        assert "127.0.0.1" in losses, losses
        scenario.observed("LossStat")
    scenario.finish()
