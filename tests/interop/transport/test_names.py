"""Drivers of both kinds find each other by name, and streams go to `endpoint=NAME:port`."""

from __future__ import annotations

import time

import pytest

from tests.interop.harness import Driver, Side
from tests.interop.scenarios import LIMIT_S, End, Scenario, counters, other
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

NAMES = {"aerowire": "driver-of-ours", "official": "driver-of-theirs"}
QUICK = {
    "aeron.driver.resolver.self.resolution.interval": "100ms",
    "aeron.driver.resolver.neighbor.resolution.interval": "200ms",
    "aeron.driver.resolver.neighbor.timeout": "2s",
    "aeron.driver.reresolution.check.interval": "200ms",
}


def named_driver(scenario: Scenario, side: Side, name: str, port: int, *bootstrap: int, host: str = "127.0.0.1") -> Driver:
    properties = {
        **QUICK,
        "aeron.driver.resolver.name": name,
        "aeron.driver.resolver.interface": f"{host}:{port}",
        "aeron.driver.resolver.bootstrap.neighbor": ",".join(f"127.0.0.1:{number}" for number in bootstrap),
    }
    return scenario.driver(side, {key: value for key, value in properties.items() if value})


def wait_for_names(driver: Driver, count: int) -> None:
    """Wait until a driver holds that many names of others."""
    deadline = time.monotonic() + LIMIT_S
    while sum(counters(driver, "Resolver cache entries").values()) < count:
        assert time.monotonic() < deadline, counters(driver, "Resolver")
        time.sleep(0.02)


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_a_stream_goes_to_a_driver_by_its_name(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Endpoint by a driver's name")
    subscribing = other(publishing)
    ports = free_port(), free_port()
    receiver = named_driver(scenario, subscribing, NAMES[subscribing], ports[0])
    sender = named_driver(scenario, publishing, NAMES[publishing], ports[1], ports[0])
    for driver in (sender, receiver):
        wait_for_names(driver, 1)
    channel = f"aeron:udp?endpoint={NAMES[subscribing]}:{free_port()}"
    stream = scenario.stream()
    stream.subscribe(End(subscribing, receiver), channel)
    stream.publish(End(publishing, sender), channel)
    stream.compare()
    scenario.prove(sender, "Resolver neighbors")
    scenario.prove(receiver, "Resolver neighbors")
    scenario.prove(sender, "Bootstrap neighbor")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("between", ["official", "aerowire"])
def test_a_name_goes_through_a_driver_between(scenario: Scenario, between: Side) -> None:
    """Neither end is told of the other: what the publisher's driver knows, it has from the driver between."""
    scenario.feature(f"Endpoint by a name heard from an {between} driver")
    publishing = other(between)
    ports = free_port(), free_port(), free_port()
    middle = named_driver(scenario, between, "between", ports[0])
    receiver = named_driver(scenario, between, "far", ports[1], ports[0])
    sender = named_driver(scenario, publishing, "near", ports[2], ports[0])
    for driver in (sender, receiver, middle):
        wait_for_names(driver, 2)
    stream = scenario.stream()
    channel = f"aeron:udp?endpoint=far:{free_port()}"
    stream.subscribe(End(between, receiver), channel)
    stream.publish(End(publishing, sender), channel)
    stream.compare()
    scenario.prove(sender, "Resolver cache entries", at_least=2)
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_a_stream_follows_a_name_to_another_address(scenario: Scenario, publishing: Side) -> None:
    """The driver that has the name is gone before anybody listens there; another one has it when somebody does."""
    scenario.feature("Endpoint by a name that moves")
    subscribing = other(publishing)
    sender_port = free_port()
    sender = named_driver(scenario, publishing, "sender", sender_port)
    first = named_driver(scenario, subscribing, "mover", free_port(), sender_port, host="127.0.0.2")
    wait_for_names(sender, 1)
    channel = f"aeron:udp?endpoint=mover:{free_port()}"
    stream = scenario.stream()
    stream.publish(End(publishing, sender), channel)
    first.process.stop()
    second = named_driver(scenario, subscribing, "mover", free_port(), sender_port, host="127.0.0.3")
    stream.subscribe(End(subscribing, second), channel)
    stream.compare()
    (bound,) = counters(second, "rcv-local-sockaddr")
    assert " 127.0.0.3:" in bound
    scenario.prove(sender, "Resolution changes")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
def test_destinations_follow_a_name_to_another_address(scenario: Scenario, publishing: Side) -> None:
    """As before, but the name is that of an MDC destination."""
    scenario.feature("MDC destination by a name that moves")
    subscribing = other(publishing)
    sender_port, data_port = free_port(), free_port()
    sender = named_driver(scenario, publishing, "sender", sender_port)
    first = named_driver(scenario, subscribing, "mover", free_port(), sender_port, host="127.0.0.2")
    wait_for_names(sender, 1)
    stream = scenario.stream()
    destination = f"aeron:udp?endpoint=mover:{data_port}"
    stream.publish(End(publishing, sender), "aeron:udp?control-mode=manual", destinations=destination)
    first.process.stop()
    second = named_driver(scenario, subscribing, "mover", free_port(), sender_port, host="127.0.0.3")
    stream.subscribe(End(subscribing, second), f"aeron:udp?endpoint=127.0.0.3:{data_port}")
    stream.compare()
    scenario.prove(sender, "Resolution changes")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", ["official", "aerowire"])
@pytest.mark.parametrize("place", ["channel", "destination"])
def test_a_subscription_follows_the_name_of_its_control_address(scenario: Scenario, publishing: Side, place: str) -> None:
    """Who asks a name for streams hears nothing there, looks it up again, and asks where it is now."""
    scenario.feature("Control address by a name that moves" + (", of a subscription's destination" if place == "destination" else ""))
    subscribing = other(publishing)
    receiver_port, control_port = free_port(), free_port()
    receiver = named_driver(scenario, subscribing, "receiver", receiver_port)
    first = named_driver(scenario, publishing, "mover", free_port(), receiver_port, host="127.0.0.2")
    wait_for_names(receiver, 1)
    stream = scenario.stream()
    asking = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control=mover:{control_port}|control-mode=dynamic"
    if place == "channel":
        stream.subscribe(End(subscribing, receiver), asking)
    else:
        stream.subscribe(End(subscribing, receiver), "aeron:udp?control-mode=manual", destinations=asking)
    first.process.stop()
    second = named_driver(scenario, publishing, "mover", free_port(), receiver_port, host="127.0.0.3")
    stream.publish(End(publishing, second), f"aeron:udp?control=127.0.0.3:{control_port}|control-mode=dynamic")
    stream.compare()
    scenario.prove(receiver, "Resolution changes")
    scenario.prove(second, "mdc-num-dest")
    stream.finish()
    scenario.finish()
