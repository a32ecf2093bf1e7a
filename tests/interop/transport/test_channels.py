"""What a UDP channel's parameters may ask for, beyond an address: families, sizes, ports, tags, many streams."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from aerowire.logbuffer.log import LogBuffers
from tests.interop.harness import Driver, Side
from tests.interop.scenarios import End, Scenario, counters, other, total, wait_until
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SOCKETS = {"aeron.socket.so_sndbuf": "2m", "aeron.socket.so_rcvbuf": "2m", "aeron.rcv.initial.window.length": "256k"}
BOTH = pytest.mark.parametrize("publishing", ["official", "aerowire"])


def two_ends(
    scenario: Scenario, publishing: Side, properties: Mapping[str, str] | None = None, receiving: Mapping[str, str] | None = None
) -> tuple[End, End]:
    """Return the publishing and the subscribing end; `receiving` is for the subscriber's driver only."""
    subscribing = other(publishing)
    receiver = scenario.driver(subscribing, {**(properties or {}), **(receiving or {})})
    return End(publishing, scenario.driver(publishing, properties)), End(subscribing, receiver)


def bound_address(driver: Driver) -> str:
    """Return where a driver's only receiving endpoint is bound, as its counter tells."""
    (label,) = counters(driver, "rcv-local-sockaddr")
    return label.rpartition(" ")[2]


def run(scenario: Scenario, publishing: End, subscribing: End, channel: str, **sizes: int) -> None:
    stream = scenario.stream(**sizes)
    stream.subscribe(subscribing, channel)
    stream.publish(publishing, channel)
    stream.compare()
    stream.finish()


@BOTH
@pytest.mark.parametrize(("host", "feature"), [("[::1]", "UDP unicast, IPv6"), ("[::1%lo]", "UDP unicast, IPv6 with a scope")])
def test_ipv6_unicast(scenario: Scenario, publishing: Side, host: str, feature: str) -> None:
    scenario.feature(feature)
    sender, receiver = two_ends(scenario, publishing)
    channel = f"aeron:udp?endpoint={host}:{free_port()}"
    stream = scenario.stream()
    stream.subscribe(receiver, channel)
    stream.publish(sender, channel)
    stream.compare()
    assert re.fullmatch(r"\[.*:1\]:\d+", bound_address(receiver.driver)), bound_address(receiver.driver)
    scenario.prove(receiver.driver, "Status Messages sent")
    scenario.observed("rcv-local-sockaddr of IPv6")
    stream.finish()
    scenario.finish()


@BOTH
def test_ipv4_reaches_all_addresses_of_ipv6(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("IPv4 publisher, subscription on [::]")
    sender, receiver = two_ends(scenario, publishing)
    port = free_port()
    stream = scenario.stream()
    stream.subscribe(receiver, f"aeron:udp?endpoint=[::]:{port}")
    stream.publish(sender, f"aeron:udp?endpoint=127.0.0.1:{port}")
    stream.compare()
    scenario.prove(receiver.driver, "Status Messages sent")
    scenario.prove(sender.driver, "Status Messages received")
    scenario.observed("rcv-local-sockaddr of IPv6: " + bound_address(receiver.driver).rpartition(":")[0])
    stream.finish()
    scenario.finish()


@BOTH
@pytest.mark.parametrize(("mtu", "feature"), [(8_192, "MTU of 8 KiB"), (65_504, "MTU of 65,504 bytes")])
def test_long_datagrams(scenario: Scenario, publishing: Side, mtu: int, feature: str) -> None:
    scenario.feature(feature)
    sender, receiver = two_ends(scenario, publishing, SOCKETS)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|mtu={mtu}"
    # A message must fit an eighth of a term, and so must a datagram.
    term_length = 65_536 if mtu == 8_192 else 1 << 20
    stream = scenario.stream(term_length=term_length, length_max=min(mtu + 4_000, term_length // 8))
    stream.subscribe(receiver, channel)
    stream.publish(sender, channel)
    stream.compare()
    (log,) = (receiver.driver.directory / "images").iterdir()
    with LogBuffers.map(log, writable=False) as image:
        assert image.metadata_fields()["mtu"] == mtu
    scenario.observed("MTU of the image's log")
    stream.finish()
    scenario.finish()


@BOTH
def test_terms_whose_blocks_are_all_there(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("sparse=false")
    sender, receiver = two_ends(scenario, publishing)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|sparse=false"
    stream = scenario.stream()
    stream.subscribe(receiver, channel)
    stream.publish(sender, channel)
    # A receiver sends its first status message when the log of its image is complete.
    wait_until(lambda: total(sender.driver, "Status Messages received") > 0, "a status message")
    for end in (sender, receiver):
        for log in end.driver.directory.rglob("*.logbuffer"):
            status = log.stat()
            assert status.st_blocks * 512 >= status.st_size, log
    stream.compare()
    scenario.observed("blocks of the log files")
    stream.finish()
    scenario.finish()


@BOTH
def test_messages_of_sixteen_mebibytes(scenario: Scenario, publishing: Side) -> None:
    """Terms of 128 MiB hold the longest messages there are; a second stream carries as many messages as any other scenario."""
    scenario.feature("Messages of up to 16 MiB, terms of 128 MiB")
    sender, receiver = two_ends(scenario, publishing, {**SOCKETS, "aeron.rcv.initial.window.length": "2m"})
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}|mtu=8k|rcv-wnd=2m"
    run(scenario, sender, receiver, channel, stream=1002)
    run(scenario, sender, receiver, channel, term_length=128 << 20, length_max=16 << 20, messages=24)
    scenario.finish()


@BOTH
def test_a_port_of_the_receivers_range(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Wildcard port from a range")
    low = free_port()
    sender, receiver = two_ends(scenario, publishing, receiving={"aeron.receiver.wildcard.port.range": f"{low} {low + 5}"})
    stream = scenario.stream()
    stream.subscribe(receiver, "aeron:udp?endpoint=127.0.0.1:0")
    bound = bound_address(receiver.driver)
    assert low <= int(bound.rpartition(":")[2]) <= low + 5
    stream.publish(sender, f"aeron:udp?endpoint={bound}")
    stream.compare()
    scenario.observed("rcv-local-sockaddr within the range")
    stream.finish()
    scenario.finish()


@BOTH
def test_a_control_port_of_the_senders_range(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Wildcard control port from a range")
    low = free_port()
    subscribing = other(publishing)
    sender = End(publishing, scenario.driver(publishing, {"aeron.sender.wildcard.port.range": f"{low} {low + 5}"}))
    receiver = End(subscribing, scenario.driver(subscribing))
    stream = scenario.stream()
    stream.publish(sender, "aeron:udp?control=127.0.0.1:0|control-mode=dynamic")
    (label,) = counters(sender.driver, "snd-local-sockaddr")
    control = label.rpartition(" ")[2]
    assert low <= int(control.rpartition(":")[2]) <= low + 5
    stream.subscribe(receiver, f"aeron:udp?endpoint=127.0.0.1:0|control={control}")
    stream.compare()
    scenario.prove(sender.driver, "mdc-num-dest")
    scenario.observed("snd-local-sockaddr within the range")
    stream.finish()
    scenario.finish()


@BOTH
def test_a_tag_names_a_channel(scenario: Scenario, publishing: Side) -> None:
    """The second stream is asked for by the tag alone; it goes through the first one's endpoints."""
    scenario.feature("Channel shared by tag")
    sender, receiver = two_ends(scenario, publishing)
    endpoint = f"127.0.0.1:{free_port()}"
    first, second = scenario.stream(), scenario.stream(stream=1002)
    first.subscribe(receiver, f"aeron:udp?endpoint={endpoint}|tags=7001")
    second.subscribe(receiver, "aeron:udp?tags=7001")
    first.publish(sender, f"aeron:udp?endpoint={endpoint}|tags=8001")
    second.publish(sender, "aeron:udp?tags=8001")
    first.compare()
    second.compare()
    assert len(counters(sender.driver, "snd-channel")) == len(counters(receiver.driver, "rcv-channel")) == 1
    scenario.observed("one snd-channel and one rcv-channel counter")
    first.finish()
    second.finish()
    scenario.finish()


@BOTH
def test_many_streams_of_one_endpoint(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Five streams of one endpoint")
    sender, receiver = two_ends(scenario, publishing)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    streams = [scenario.stream(stream=2000 + number, messages=max(scenario.messages // 5, 200)) for number in range(5)]
    for stream in streams:
        stream.subscribe(receiver, channel)
    for stream in streams:
        stream.publish(sender, channel)
    for stream in streams:
        stream.compare()
    assert len(counters(sender.driver, "snd-channel")) == len(counters(receiver.driver, "rcv-channel")) == 1
    assert len(counters(receiver.driver, "rcv-pos")) == len(streams)
    scenario.observed("one endpoint at either end")
    for stream in streams:
        stream.finish()
    scenario.finish()
