"""Several destinations of one publication: told by the client, or learnt from status messages; one receiver of each implementation."""

from __future__ import annotations

import pytest

from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, End, Scenario, counters, lossy_network, order, other, wait_until
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

BOTH = pytest.mark.parametrize("publishing", ["official", "aerowire"])
# The slowest of two receivers sets the pace, and nothing is sent before both are there.
BOTH_RECEIVERS = "fc=min,g:/2,t:10s"
PER_SECOND = 2_000


def udp(port: int) -> str:
    return f"aeron:udp?endpoint=127.0.0.1:{port}"


def destination_count(end: End) -> int:
    (count,) = counters(end.driver, "mdc-num-dest").values()
    return count


@BOTH
def test_two_destinations_told_by_the_client(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("MDC manual, two receivers")
    sender = End(publishing, scenario.driver(publishing))
    stream = scenario.stream()
    ports = free_port(), free_port()
    for side, port in zip((publishing, other(publishing)), ports, strict=True):
        stream.subscribe(End(side, scenario.driver(side)), udp(port))
    stream.publish(sender, f"aeron:udp?control-mode=manual|{BOTH_RECEIVERS}", destinations=" ".join(map(udp, ports)))
    stream.compare()
    scenario.prove(sender.driver, "mdc-num-dest", at_least=2)
    scenario.prove(sender.driver, "fc-receivers", at_least=2)
    stream.finish()
    scenario.finish()


@BOTH
@pytest.mark.parametrize("network", ["clean", "lossy"])
def test_two_destinations_learnt_from_status_messages(scenario: Scenario, publishing: Side, network: str) -> None:
    lossy = network == "lossy"
    scenario.feature("MDC dynamic, two receivers" + (", 5 % loss each way" if lossy else ""))
    sender = End(publishing, scenario.driver(publishing, lossy_network(publishing) if lossy else None))
    stream = scenario.stream()
    control = free_port()
    receivers = [scenario.driver(side, lossy_network(side) if lossy else None) for side in (publishing, other(publishing))]
    for driver in receivers:
        stream.subscribe(End(driver.side, driver), f"aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:{control}")
    stream.publish(sender, f"aeron:udp?control=127.0.0.1:{control}|control-mode=dynamic|{BOTH_RECEIVERS}")
    stream.compare()
    scenario.prove(sender.driver, "mdc-num-dest", at_least=2)
    if lossy:
        scenario.prove(sender.driver, "Retransmits sent")
        for driver in receivers:
            scenario.prove(driver, "NAKs sent")
    stream.finish()
    scenario.finish()


@BOTH
@pytest.mark.parametrize("removal", ["remove-destination", "remove-destination-id"])
def test_destinations_come_and_go_while_a_stream_runs(scenario: Scenario, publishing: Side, removal: str) -> None:
    scenario.feature("MDC manual, destination added and removed by " + ("URI" if removal == "remove-destination" else "id"))
    sender, constant = End(publishing, scenario.driver(publishing)), End(publishing, scenario.driver(publishing))
    passing = scenario.driver(other(publishing))
    # Slow enough for a receiver that joins on a busy machine: what it missed can be sent again for half a second.
    stream = scenario.stream(term_length=1 << 20, length_max=1_000)
    ports = free_port(), free_port()
    stream.subscribe(constant, udp(ports[0]))
    # It stops reading after some messages: with it the stream stands still, until its destination has gone for some seconds.
    guest = scenario.bench.peer(
        other(publishing), "subscriber", passing, channel=udp(ports[1]), stream=stream.stream, messages=500, timeout=int(LIMIT_S)
    )
    assert guest.result(LIMIT_S)["ready"]
    channel = "aeron:udp?control-mode=manual|fc=min,t:4s"
    publisher = stream.publish(sender, channel, destinations=udp(ports[0]), per_second=PER_SECOND)
    order(publisher, f"add-destination {udp(ports[1])}")
    guest.outcome("subscriber", LIMIT_S)
    scenario.prove(sender.driver, "mdc-num-dest", at_least=2)
    order(publisher, f"{removal} {udp(ports[1])}")
    wait_until(lambda: destination_count(sender) == 1, "the destination has gone")
    stream.compare()
    scenario.observed("a stream that its removed receiver no longer holds up")
    stream.finish()
    assert guest.finish() == 0, guest.said()
    scenario.finish()


@BOTH
def test_a_receiver_of_several_rejects_the_stream(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("MDC manual, image rejected by one of two receivers")
    sender = End(publishing, scenario.driver(publishing))
    stream = scenario.stream()
    ports = free_port(), free_port()
    ends = [End(side, scenario.driver(side)) for side in (publishing, other(publishing))]
    peers = [stream.subscribe(end, udp(port)) for end, port in zip(ends, ports, strict=True)]
    publisher = stream.publish(sender, f"aeron:udp?control-mode=manual|{BOTH_RECEIVERS}", destinations=" ".join(map(udp, ports)))
    stream.compare()
    order(peers[1], "reject not wanted")
    told = publisher.event("error frame", LIMIT_S)
    assert told == {"event": "error frame", "code": 13, "text": "not wanted", "destination": True}
    scenario.prove(sender.driver, "Error Frames received")
    scenario.prove(ends[1].driver, "Error Frames sent")
    scenario.observed("publication error frame")
    stream.finish()
    scenario.finish()
