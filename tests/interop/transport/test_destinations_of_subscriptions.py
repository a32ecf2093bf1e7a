"""Multi-destination subscriptions, ours and official: one stream over two paths, which fill each other's loss or are taken away."""

from __future__ import annotations

import time

import pytest

from tests.interop.expected import content
from tests.interop.harness import Driver, Side
from tests.interop.scenarios import LIMIT_S, STREAM, End, Scenario, ask, counters, losing_arrivals, order, other
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LOSS_RATE = 0.1
MTU = 1408
MANUAL = "aeron:udp?control-mode=manual"


def paths() -> list[str]:
    return [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]


def bound(driver: Driver) -> int:
    """Return how many sockets a driver receives on."""
    return len(counters(driver, "rcv-local-sockaddr"))


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_each_path_fills_what_the_other_lost(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("multi-destination subscription, two paths with loss")
    subscribing = other(publishing)
    sender, receiver = scenario.driver(publishing), scenario.driver(subscribing, losing_arrivals(subscribing, LOSS_RATE))
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


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_a_stream_of_two_sources_ends_where_the_last_of_them_ends(scenario: Scenario, publishing: Side) -> None:
    """The second source goes on where the first one ended, with the same session: the end of one of them is not that of the image.

    The first one comes by the second path: an image waits for destinations before those that it has heard, not for those behind them.
    """
    scenario.feature("multi-destination subscription, two sources, end of stream")
    subscribing = other(publishing)
    first, second = (End(publishing, scenario.driver(publishing)) for _ in range(2))
    # Nothing dies of silence here: an image that goes has ended.
    receiver = scenario.driver(subscribing, {"aeron.image.liveness.timeout": "100s"})
    destinations = paths()
    streams = [scenario.stream(), scenario.stream()]
    whole = scenario.stream(messages=2 * scenario.messages)
    subscriber = whole.subscribe(End(subscribing, receiver), MANUAL, destinations=" ".join(destinations))
    begin = 0
    for source, stream, destination in zip((first, second), streams, reversed(destinations), strict=True):
        term, offset = divmod(begin, stream.term_length)
        place = f"session-id=77|init-term-id=5|term-id={5 + term}|term-offset={offset}"
        publisher = stream.publish(source, f"{destination}|{place}", exclusive="true")
        end = stream.compare()["position"]
        assert end - begin > stream.term_length
        order(publisher, "close")
        if source is first:
            wait_for(lambda: not counters(first.driver, "snd-pos"))
            told = ask(subscriber, "state")
            assert (told["images"], told["gone"]) == (1, 0)
        begin = end
    got = subscriber.outcome("subscriber", LIMIT_S)
    assert got == got | content(streams[0], times=2)
    scenario.row.messages += got["messages"]
    wait_for(lambda: ask(subscriber, "state")["images"] == 0)
    told = ask(subscriber, "state")
    assert (told["gone"], told["ended"], told["end"]) == (1, 1, end)
    scenario.observed("one image; it outlived its first source and ended where the second one did")
    for stream in streams:
        stream.finish()
    whole.finish()
    scenario.finish()


def received(driver: Driver) -> int:
    return max(counters(driver, "rcv-pos").values(), default=0)


def wait_for(is_so: object) -> None:
    assert callable(is_so)
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
