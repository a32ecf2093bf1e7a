"""Multi-destination subscriptions, ours and official: one stream over two paths, which fill each other's loss or are taken away."""

from __future__ import annotations

import time

import pytest

from tests.interop.harness import Driver, Side
from tests.interop.scenarios import LIMIT_S, LOSS_SUPPLIERS, STREAM, End, Scenario, counters, order, other
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LOSS_RATE = 0.1
MTU = 1408
MANUAL = "aeron:udp?control-mode=manual"


def paths() -> list[str]:
    return [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]


def losing_arrivals(side: Side) -> dict[str, str]:
    """Return the properties of a driver that loses data on each of its sockets."""
    return {
        **(LOSS_SUPPLIERS if side == "official" else {}),
        "aeron.debug.receive.data.loss.rate": str(LOSS_RATE),
        "aeron.debug.receive.data.loss.seed": "20260103",
    }


def bound(driver: Driver) -> int:
    """Return how many sockets a driver receives on."""
    return len(counters(driver, "rcv-local-sockaddr"))


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_each_path_fills_what_the_other_lost(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("multi-destination subscription, two paths with loss")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing, losing_arrivals(subscribing))
    destinations = paths()
    stream = scenario.stream()
    stream.subscribe(End(subscribing, receiver), MANUAL, destinations=" ".join(destinations))
    assert bound(receiver) == 2
    stream.publish(End(publishing, sender), MANUAL, destinations=" ".join(destinations))
    sent = stream.compare()
    scenario.observed("two sockets receive")
    assert scenario.prove(receiver, "Bytes received") > 1.5 * sent["position"]
    # Each path lost a tenth of the frames; less than half of them had to be sent again.
    assert scenario.prove(sender, "Retransmits sent") * MTU < LOSS_RATE / 2 * sent["position"]
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_a_stream_goes_on_when_one_of_its_paths_is_removed(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("multi-destination subscription, path removed and added again")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing)
    destinations = paths()
    stream = scenario.stream(stream=STREAM + 1)
    subscriber = stream.subscribe(End(subscribing, receiver), MANUAL, destinations=" ".join(destinations))
    stream.publish(End(publishing, sender), MANUAL, destinations=" ".join(destinations), **{"per-second": 4000})
    for removed in destinations:
        position = received(receiver)
        order(subscriber, f"remove-destination {removed}")
        wait_for(lambda: bound(receiver) == 1)
        wait_for(lambda position=position: received(receiver) > position + 2 * stream.term_length)
        order(subscriber, f"add-destination {removed}")
        assert bound(receiver) == 2
    stream.compare()
    scenario.observed("the stream went on while one socket was closed")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_two_destinations_are_learnt_by_their_sender_through_its_control_address(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("multi-destination subscription, two destinations with a control address each")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing)
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    stream = scenario.stream(stream=STREAM + 2)
    stream.subscribe(End(subscribing, receiver), MANUAL, destinations=" ".join(f"{path}|{control}" for path in paths()))
    stream.publish(End(publishing, sender), f"aeron:udp?{control}")
    sent = stream.compare()
    assert scenario.prove(sender, "mdc-num-dest", at_least=2)
    assert scenario.prove(receiver, "Bytes received") > 1.5 * sent["position"]
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("local", ["ipc", "spy"])
@pytest.mark.parametrize("driving", ["official", "aerowire"])
def test_a_stream_of_the_same_driver_can_be_a_destination(scenario: Scenario, driving: Side, local: str) -> None:
    scenario.feature("multi-destination subscription, " + ("IPC" if local == "ipc" else "a spy") + " beside a socket")
    driver = scenario.driver(driving)
    beside, udp = paths()
    stream = scenario.stream(stream=STREAM + 3)
    destination = "aeron:ipc" if local == "ipc" else f"aeron-spy:{udp}"
    stream.subscribe(End(other(driving), driver), MANUAL, destinations=f"{beside} {destination}")
    stream.publish(End(driving, driver), "aeron:ipc" if local == "ipc" else f"{udp}|ssc=true")
    stream.compare()
    assert bound(driver) == 1
    assert not counters(driver, "rcv-pos")
    scenario.prove(driver, "sub-pos")
    stream.finish()
    scenario.finish()


def received(driver: Driver) -> int:
    return max(counters(driver, "rcv-pos").values(), default=0)


def wait_for(is_so: object) -> None:
    assert callable(is_so)
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
