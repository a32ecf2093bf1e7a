"""How long a receiver waits before it asks for what it lost: the delay of its channel, that of a peer, and that of a group's member."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.logbuffer.log import LogBuffers
from tests.interop.harness import Side
from tests.interop.scenarios import STREAM, End, Scenario, losing_arrivals, other, total
from tests.interop.transport.test_multicast import group_channel
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.lossy, pytest.mark.timeout(400)]

BOTH = pytest.mark.parametrize("publishing", ["official", "aerowire"])
LOSS = 0.005
LONG_S = 0.05
# Nothing but the delay stands between a loss and its repair, nor between a repair that got lost and the next one.
QUICK = {"aeron.retransmit.unicast.linger": "1ms", "aeron.nak.unicast.retry.delay.ratio": "1"}
# A peer waits for long, a member of a group does not.
PEERS_WAIT = {"aeron.nak.unicast.delay": "50ms", "aeron.nak.multicast.max.backoff": "1ms", "aeron.nak.multicast.group.size": "2"}


def channel() -> str:
    """Return a channel of its own: those who share one share its delay."""
    return f"aeron:udp?endpoint=127.0.0.1:{free_port()}"


class Pair:
    """A sender and a receiver that loses what arrives; streams that differ in the receiver's channel are sent one after the other."""

    def __init__(self, scenario: Scenario, publishing: Side, waits: dict[str, str]) -> None:
        self._scenario = scenario
        self._streams = 0
        self._images: set[Path] = set()
        side = other(publishing)
        self.sender = End(publishing, scenario.driver(publishing, QUICK))
        self.receiver = End(side, scenario.driver(side, {**QUICK, **waits, **losing_arrivals(side, LOSS)}))

    def send(self, channel: str, receiving: str = "", sending: str = "") -> tuple[float, int, int]:
        """Send a stream; return the seconds it took, how often something was sent again, and whether its image is that of a group."""
        before = total(self.sender.driver, "Retransmits sent")
        stream = self._scenario.stream(stream=STREAM + self._streams)
        self._streams += 1
        stream.subscribe(self.receiver, channel + receiving)
        stream.publish(self.sender, channel + sending)
        seconds = stream.compare()["seconds"]
        # The image of the last stream may not be gone yet.
        (path,) = images = set((self.receiver.driver.directory / "images").iterdir()) - self._images
        self._images |= images
        with LogBuffers.map(path, writable=False) as image:
            group = image.metadata_fields()["group"]
        repairs = total(self.sender.driver, "Retransmits sent") - before
        stream.finish()
        return seconds, repairs, group


def assert_waits(slow: tuple[float, int, int], quick: tuple[float, int, int]) -> None:
    """Assert that each repair of one stream waited for its turn, and that those of the other one did not."""
    (slow_s, slow_repairs, _), (quick_s, quick_repairs, _) = slow, quick
    assert min(slow_repairs, quick_repairs) > 50, (slow, quick)
    # One gap is asked for at a time; the last ones may be filled when all has been offered.
    assert slow_s > LONG_S * 0.9 * (slow_repairs - 10), (slow, quick)
    assert quick_s / quick_repairs < slow_s / slow_repairs / 2, (slow, quick)


def prove_loss(scenario: Scenario, pair: Pair) -> None:
    scenario.prove(pair.receiver.driver, "NAKs sent")
    scenario.prove(pair.sender.driver, "NAKs received")
    scenario.prove(pair.sender.driver, "Retransmits sent")


@BOTH
def test_a_channel_chooses_its_delay(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("nak-delay, 0.5 % loss")
    pair = Pair(scenario, publishing, {})
    assert_waits(slow=pair.send(channel(), "|nak-delay=50ms"), quick=pair.send(channel(), "|nak-delay=100us"))
    prove_loss(scenario, pair)
    scenario.observed("time to a repair, with a long delay and a short one")
    scenario.finish()


@BOTH
def test_a_peer_that_takes_itself_for_a_group_has_the_delay_of_one(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("group=true of a unicast subscription, 0.5 % loss")
    pair = Pair(scenario, publishing, PEERS_WAIT)
    slow, quick = pair.send(channel()), pair.send(channel(), "|group=true")
    assert_waits(slow, quick)
    assert (slow[2], quick[2]) == (0, 1)
    prove_loss(scenario, pair)
    scenario.observed("delay of a group; the image's log says that it is one")
    scenario.finish()


@BOTH
def test_a_member_that_takes_its_group_for_a_peer_has_the_delay_of_one(scenario: Scenario, publishing: Side) -> None:
    scenario.feature("group=false of a multicast subscription, 0.5 % loss")
    pair = Pair(scenario, publishing, PEERS_WAIT)
    slow, quick = pair.send(group_channel(), "|group=false"), pair.send(group_channel())
    assert_waits(slow, quick)
    assert (slow[2], quick[2]) == (0, 1)
    prove_loss(scenario, pair)
    scenario.observed("delay of a peer; the image's log says that it is one")
    scenario.finish()
