"""Clients and drivers, ours and the official ones, in every pairing: what one end sent is what the other end got.

A run is two legs on one pair of drivers: 64 KiB terms, where messages reach their limit of an eighth of a term
(8,192 bytes) and each term holds about fifteen of them; and, at a tenth of the size, 128 KiB terms with messages of
up to 10,000 bytes, which 64 KiB terms cannot carry.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.interop.harness import Bench, Driver, Side, counters_by_label
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(700)]

LOSS_RATE = "0.05"
LIMIT_S = 300.0

LOSS: dict[Side, dict[str, str]] = {
    "aerowire": {},
    "official": {
        "aeron.SendChannelEndpoint.supplier": "io.aeron.driver.ext.DebugSendChannelEndpointSupplier",
        "aeron.ReceiveChannelEndpoint.supplier": "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier",
    },
}
# The options name the endpoint, not the direction: a send endpoint sends data, a receive endpoint sends control. So each driver drops
# what it sends, and every frame is at risk once: data on its way out, NAK and status on their way back.
LOSS_OPTIONS = {
    "aeron.debug.send.data.loss.rate": LOSS_RATE,
    "aeron.debug.receive.control.loss.rate": LOSS_RATE,
    "aeron.debug.send.data.loss.seed": "20260101",
    "aeron.debug.receive.control.loss.seed": "20260102",
}


@dataclass(frozen=True)
class Leg:
    """One stream of a run; `share` divides the run's number of messages."""

    stream: int
    term_length: int
    length_max: int
    share: int


LEGS = (Leg(1001, 65_536, 8_192, 1), Leg(1002, 131_072, 10_000, 10))


@dataclass(frozen=True)
class End:
    """A client and the driver it is connected to."""

    side: Side
    driver: Driver


def send_and_compare(bench: Bench, leg: Leg, *, messages: int, channel: str, publishing: End, subscribing: End) -> None:
    """Send one leg's messages and assert that both ends computed the same hash over as many."""
    common = {"stream": leg.stream, "messages": messages, "timeout": int(LIMIT_S)}
    subscriber = bench.peer(subscribing.side, "subscriber", subscribing.driver, channel=channel, **common)
    assert subscriber.result(LIMIT_S)["ready"]
    publisher = bench.peer(
        publishing.side,
        "publisher",
        publishing.driver,
        channel=f"{channel}{'|' if '?' in channel else '?'}term-length={leg.term_length}",
        seed=leg.stream * 7919,
        length_max=leg.length_max,
        **common,
    )
    sent = publisher.result(LIMIT_S)
    got = subscriber.result(LIMIT_S)
    print(f"stream {leg.stream}: {sent}, got {got}")
    assert sent["term_length"] == leg.term_length
    assert sent["messages"] == got["messages"] == messages
    assert sent["bytes"] == got["bytes"]
    assert sent["sha256"] == got["sha256"]
    assert sent["position"] > sent["bytes"]
    assert publisher.finish() == 0, publisher.said()
    assert subscriber.finish() == 0, subscriber.said()


def run_legs(bench: Bench, messages: int, channel: str, publishing: End, subscribing: End) -> None:
    for leg in LEGS:
        send_and_compare(bench, leg, messages=messages // leg.share, channel=channel, publishing=publishing, subscribing=subscribing)


def counter(bench: Bench, driver: Driver, name: str) -> int:
    """Return the system counter whose label starts with `name`, as the official AeronStat prints it."""
    printed = counters_by_label(bench.java.run_tool("io.aeron.samples.AeronStat", driver.directory, "watch=false"))
    values = [value for label, value in printed.items() if label.startswith(name)]
    assert len(values) == 1, f"{name}: {sorted(printed)}"
    return values[0]


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
@pytest.mark.parametrize("media", ["ipc", "udp"])
@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_foreign_client_and_own_client_share_a_driver(bench: Bench, messages: int, driving: Side, media: str, publishing: Side) -> None:
    driver = bench.driver(driving)
    subscribing: Side = "aerowire" if publishing == "official" else "official"
    channel = "aeron:ipc" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    run_legs(bench, messages, channel, End(publishing, driver), End(subscribing, driver))


@pytest.mark.parametrize("network", ["clean", "lossy"])
@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_drivers_meet_over_udp(bench: Bench, messages: int, publishing: Side, network: str) -> None:
    subscribing: Side = "aerowire" if publishing == "official" else "official"
    lossy = network == "lossy"
    sender = End(publishing, bench.driver(publishing, {**LOSS[publishing], **LOSS_OPTIONS} if lossy else None))
    receiver = End(subscribing, bench.driver(subscribing, {**LOSS[subscribing], **LOSS_OPTIONS} if lossy else None))
    run_legs(bench, messages, f"aeron:udp?endpoint=127.0.0.1:{free_port()}", sender, receiver)

    assert counter(bench, sender.driver, "Status Messages received") > 0
    assert counter(bench, receiver.driver, "Status Messages sent") > 0
    if lossy:
        assert counter(bench, receiver.driver, "NAKs sent") > 0
        assert counter(bench, sender.driver, "NAKs received") > 0
        assert counter(bench, sender.driver, "Retransmits sent") > 0
        losses = bench.java.run_tool("io.aeron.samples.LossStat", receiver.driver.directory)
        assert "127.0.0.1" in losses, losses
