"""Multicast groups between the two implementations: IPv4 and IPv6, two receivers of one group, and every strategy of flow control."""

from __future__ import annotations

import pytest

from tests.conftest import SEED
from tests.interop.harness import Side
from tests.interop.scenarios import (
    LIMIT_S,
    LOSS_RATE,
    End,
    Scenario,
    Stream,
    counters,
    describe,
    lossy_network,
    order,
    other,
    total,
    wait_until,
)
from tests.interop.transport.networks import ip6_network
from tests.support.processes import Process, free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

SIDES: list[Side] = ["official", "aerowire"]
GROUP = "239.255.71.31"
# Node-local: what is sent to it never leaves the machine, whatever the interface.
GROUP_6 = "ff01::47:1f"
TAG = 4711

# Each of some thousand gaps waits for its turn to be asked for, and again for the repair that got lost.
QUICK = {
    "aeron.flow.control.receiver.timeout": "2s",
    "aeron.nak.multicast.max.backoff": "1ms",
    "aeron.nak.multicast.group.size": "2",
    "aeron.retransmit.unicast.linger": "1ms",
}
# Nobody is taken for gone who has not been given the processor for some seconds.
PATIENT = {
    "aeron.client.liveness.timeout": "60s",
    "aeron.flow.control.receiver.timeout": "60s",
    "aeron.image.liveness.timeout": "60s",
    "aeron.publication.connection.timeout": "60s",
    "aeron.publication.unblock.timeout": "90s",  # longer than a client's, or drivers do not start
}


def group_channel(*parts: str) -> str:
    return "|".join([f"aeron:udp?endpoint={GROUP}:{free_port()}", "interface=localhost", *parts])


class Group:
    """A sender and two receivers of one group, each with a driver of its own: one receiver of either implementation."""

    def __init__(self, scenario: Scenario, publishing: Side, properties: dict[str, str] | None = None, *, loss: str | None = None) -> None:
        self.scenario = scenario
        sides = (publishing, publishing, other(publishing))
        self.sender, self.near, self.far = (
            End(side, scenario.driver(side, self._options(side, index, loss) | (properties or {}))) for index, side in enumerate(sides)
        )

    def _options(self, side: Side, index: int, loss: str | None) -> dict[str, str]:
        return {**QUICK, **(lossy_network(side, rate=loss, seed=SEED + 10 * index) if loss else {})}

    def subscribe_and_stall(self, stream: Stream, channel: str) -> Process:
        """Let the near receiver listen and take nothing: it has a part in the group, and no hash to compare."""
        given = {"channel": channel, "stream": stream.stream, "messages": stream.messages, "timeout": int(LIMIT_S)}
        stalled = self.scenario.bench.peer(self.near.side, "subscriber", self.near.driver, **given)
        assert stalled.result(LIMIT_S)["ready"]
        order(stalled, "pause")
        self.scenario.row.subscribing.append(describe(self.near))
        return stalled


@pytest.mark.parametrize("publishing", SIDES)
def test_a_group_over_ip4(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, IPv4")
    sender, receiver = End(publishing, scenario.driver(publishing)), End(other(publishing), scenario.driver(other(publishing)))
    channel = group_channel("ttl=3")
    stream = scenario.stream()
    # The receiver's own time to live is the system's, so that it must wonder whether its answers travel as far as the data.
    stream.subscribe(receiver, channel.replace("|ttl=3", ""))
    stream.publish(sender, channel)
    stream.compare()
    scenario.prove(receiver.driver, "Possible TTL Asymmetry")
    scenario.prove(receiver.driver, "Status Messages sent")
    scenario.prove(sender.driver, "Status Messages received")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", SIDES)
def test_a_group_over_ip6(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, IPv6")
    network = ip6_network(scenario.bench.workshop)
    sender, receiver = (End(side, scenario.driver(side, prefix=network.prefix)) for side in (publishing, other(publishing)))
    channel = f"aeron:udp?endpoint=[{GROUP_6}]:{free_port()}|interface={{{network.interface}}}"
    stream = scenario.stream()
    stream.subscribe(receiver, channel)
    stream.publish(sender, channel)
    stream.compare()
    scenario.prove(receiver.driver, "Status Messages sent")
    scenario.prove(sender.driver, "Status Messages received")
    stream.finish()
    scenario.finish()


@pytest.mark.lossy
@pytest.mark.parametrize("publishing", SIDES)
def test_min_waits_for_both_receivers_of_a_lossy_group(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, two receivers, fc=min, 5 % loss each way")
    group = Group(scenario, publishing, loss=LOSS_RATE)
    channel = group_channel()
    stream = scenario.stream()
    stream.subscribe(group.near, channel)
    stream.subscribe(group.far, channel)
    stream.publish(group.sender, f"{channel}|fc=min,g:/2,t:2s")
    stream.compare()
    assert scenario.prove(group.sender.driver, "fc-receivers") == 2
    for receiver in (group.near, group.far):
        scenario.prove(receiver.driver, "NAKs sent")
    scenario.prove(group.sender.driver, "NAKs received")
    scenario.prove(group.sender.driver, "Retransmits sent")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", SIDES)
def test_max_follows_the_fastest_receiver(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, two receivers, fc=max")
    group = Group(scenario, publishing)
    channel = group_channel()
    stream = scenario.stream()
    group.subscribe_and_stall(stream, channel)
    stream.subscribe(group.far, channel)
    stream.publish(group.sender, f"{channel}|fc=max")
    stream.compare()
    scenario.prove(group.near.driver, "Flow control over runs")
    assert not counters(group.sender.driver, "fc-receivers"), "the strategy does not tell receivers apart"
    scenario.observed("the stalled receiver is left behind")
    stream.finish()
    scenario.finish()


@pytest.mark.lossy
@pytest.mark.parametrize("publishing", SIDES)
def test_tagged_waits_for_the_receiver_with_the_tag(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, two receivers, fc=tagged, 5 % loss each way")
    group = Group(scenario, publishing, loss=LOSS_RATE)
    channel = group_channel()
    stream = scenario.stream()
    group.subscribe_and_stall(stream, channel)
    stream.subscribe(group.far, f"{channel}|gtag={TAG}")
    stream.publish(group.sender, f"{channel}|fc=tagged,g:{TAG}/1,t:2s")
    stream.compare()
    assert scenario.prove(group.sender.driver, "fc-receivers") == 1
    scenario.prove(group.far.driver, "NAKs sent")
    scenario.prove(group.sender.driver, "Retransmits sent")
    scenario.prove(group.near.driver, "Flow control over runs")
    stream.finish()
    scenario.finish()


@pytest.mark.lossy
@pytest.mark.parametrize("publishing", SIDES)
def test_a_pool_of_one_retransmission_overflows_and_all_is_repaired(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, two receivers, max-resend=1, 2 % loss each way")
    group = Group(scenario, publishing, {"aeron.retransmit.unicast.linger": "5ms"}, loss="0.02")
    channel = group_channel()
    stream = scenario.stream()
    stream.subscribe(group.near, channel)
    stream.subscribe(group.far, channel)
    stream.publish(group.sender, f"{channel}|fc=min,g:/2|max-resend=1")
    stream.compare()
    scenario.prove(group.sender.driver, "Retransmit Pool Overflow count")
    scenario.prove(group.sender.driver, "Retransmits sent")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", SIDES)
def test_a_group_is_a_destination_of_a_subscription(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multi-destination subscription with a multicast destination")
    sender, receiver = (End(side, scenario.driver(side, PATIENT)) for side in (publishing, other(publishing)))
    channel = group_channel()
    stream = scenario.stream()
    stream.subscribe(receiver, "aeron:udp?control-mode=manual", destinations=channel)
    stream.publish(sender, f"{channel}|fc=min")
    stream.compare()
    wait_until(lambda: total(sender.driver, "fc-receivers") == 1, "the receiver is the only one in the group")
    scenario.prove(sender.driver, "fc-receivers")
    scenario.prove(receiver.driver, "Status Messages sent")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", SIDES)
def test_min_is_held_by_a_receiver_until_that_leaves(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, two receivers, fc=min, one stalls and leaves")
    # The receiver's timeout is longer than the test: what lets the sender go on is the word of the one that leaves.
    group = Group(scenario, publishing, {"aeron.client.liveness.timeout": "4s"})
    channel = group_channel()
    stream = scenario.stream()
    stalled = group.subscribe_and_stall(stream, channel)
    stream.subscribe(group.far, channel)
    stream.publish(group.sender, f"{channel}|fc=min,g:/1,t:{2 * int(LIMIT_S)}s")
    wait_until(lambda: total(group.sender.driver, "fc-receivers") == 2, "both receivers are in the group")
    wait_until(lambda: total(group.sender.driver, "Sender flow control limits") > 0, "the sender waits")
    held = max(counters(group.sender.driver, "snd-pos").values())
    assert held < stream.term_length
    stalled.stop()
    stream.compare()
    assert scenario.prove(group.sender.driver, "fc-receivers") == 1
    scenario.prove(group.sender.driver, "Sender flow control limits")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("publishing", SIDES)
def test_options_choose_strategy_and_tags(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("Multicast, tagged flow control by drivers' options")
    strategy = {
        "aeron.multicast.flow.control.strategy": "io.aeron.driver.TaggedMulticastFlowControl",
        "aeron.flow.control.group.tag": str(TAG),
        "aeron.flow.control.group.min.size": "1",
        "aeron.socket.multicast.ttl": "1",
    }
    receiving = other(publishing)
    sender = End(publishing, scenario.driver(publishing, strategy))
    receiver = End(receiving, scenario.driver(receiving, {"aeron.receiver.group.tag": str(TAG), "aeron.socket.multicast.ttl": "1"}))
    channel = group_channel()
    stream = scenario.stream()
    stream.subscribe(receiver, channel)
    stream.publish(sender, channel)
    stream.compare()
    assert scenario.prove(sender.driver, "fc-receivers") == 1
    assert not any(counters(receiver.driver, "Possible TTL Asymmetry").values())
    stream.finish()
    scenario.finish()
