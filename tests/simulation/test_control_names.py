"""Control addresses given by names that move: who asks for streams there finds their sender again, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import STREAM, StreamClient

MS = 1_000_000
SECOND = 1_000_000_000
LENGTHS = {"counters_buffer_length": "1m", "term_buffer_length": "64k"}
RECEIVER, FIRST, SECOND_HOME = "10.0.0.1", "10.0.0.2", "10.0.0.3"
ASKED = "control=source:40457|control-mode=dynamic"
# A control address that is silent for so long is looked up again. Aeron: ReceiveChannelEndpoint.
SILENT_NS = 5 * SECOND


class Home(StreamClient):
    """A client on a host of its own, which leaves unread what arrives."""

    def __init__(self, world: SimulatedWorld, address: str) -> None:
        super().__init__(world.add_host(address, image_liveness_timeout_ns="1s", **LENGTHS), reads=False)

    def offer_stream(self) -> None:
        """Offer a stream to whoever asks for it at this host."""
        self.publish(f"aeron:udp?control={self.host.address}:40457|control-mode=dynamic")

    def arrived(self) -> int:
        """Return how far the stream of the latest image has arrived."""
        positions = [info.value for info in self.counters.for_each() if info.label.startswith("rcv-pos")]
        return positions[-1] if positions else -1


@pytest.fixture
def world() -> Iterator[SimulatedWorld]:
    world = SimulatedWorld(seed=1)
    world.names["source"] = FIRST
    yield world
    world.close()


def subscribe(home: Home, kind: str) -> None:
    """Ask for the stream at the name, as a channel or as a destination of one."""
    asking = f"aeron:udp?endpoint={RECEIVER}:40456|{ASKED}"
    if kind == "channel":
        home.subscribe(asking)
    else:
        home.subscription = home.client.complete(home.aeron.async_add_subscription("aeron:udp?control-mode=manual", STREAM))
        home.client.complete(home.subscription.async_add_destination(asking))


@pytest.mark.parametrize("kind", ["channel", "destination"])
def test_a_sender_that_was_never_there_is_found_where_its_name_went(world: SimulatedWorld, kind: str) -> None:
    receiver, source = Home(world, RECEIVER), Home(world, SECOND_HOME)
    subscribe(receiver, kind)
    source.offer_stream()
    world.run(SECOND)
    world.names["source"] = SECOND_HOME
    assert not world.run(SILENT_NS - 2 * SECOND, until=lambda: receiver.has_image)
    assert world.run(4 * SECOND, until=lambda: receiver.has_image)
    assert receiver.system(SystemCounter.RESOLUTION_CHANGES) == 1
    assert receiver.errors == source.errors == []


@pytest.mark.parametrize("kind", ["channel", "destination"])
def test_a_sender_that_fell_silent_is_found_where_its_name_went(world: SimulatedWorld, kind: str) -> None:
    receiver, first = Home(world, RECEIVER), Home(world, FIRST)
    subscribe(receiver, kind)
    first.offer_stream()
    assert world.run(2 * SECOND, until=lambda: receiver.has_image)
    assert receiver.image is not None
    image = receiver.image.correlation_id
    first.host.lose_power()
    second = Home(world, SECOND_HOME)
    second.offer_stream()
    world.names["source"] = SECOND_HOME
    assert world.run(SILENT_NS + 3 * SECOND, until=lambda: receiver.image is not None and receiver.image.correlation_id != image)
    assert receiver.system(SystemCounter.RESOLUTION_CHANGES) == 1
    # What is said to the second one arrives, and so does what it sends.
    assert world.run(SECOND, until=lambda: second.offer(b"from the second") > 0)
    assert world.run(SECOND, until=lambda: receiver.arrived() == 64)


def test_a_sender_that_is_heard_is_not_looked_up(world: SimulatedWorld) -> None:
    receiver, first = Home(world, RECEIVER), Home(world, FIRST)
    subscribe(receiver, "channel")
    first.offer_stream()
    assert world.run(2 * SECOND, until=lambda: receiver.has_image)
    world.names["source"] = SECOND_HOME
    world.run(3 * SILENT_NS)
    assert receiver.system(SystemCounter.RESOLUTION_CHANGES) == 0
    assert receiver.has_image


def test_a_name_that_stays_and_one_that_is_gone_change_nothing(world: SimulatedWorld) -> None:
    receiver = Home(world, RECEIVER)
    subscribe(receiver, "channel")
    world.run(2 * SILENT_NS)
    assert receiver.system(SystemCounter.RESOLUTION_CHANGES) == receiver.system(SystemCounter.ERRORS) == 0
    del world.names["source"]
    world.run(2 * SILENT_NS)
    assert receiver.system(SystemCounter.RESOLUTION_CHANGES) == 0
    assert receiver.system(SystemCounter.ERRORS) >= 1
    # Known again, and there: the address stood, and is asked again.
    world.names["source"] = FIRST
    first = Home(world, FIRST)
    first.offer_stream()
    assert world.run(3 * SILENT_NS, until=lambda: receiver.has_image)
    assert receiver.system(SystemCounter.RESOLUTION_CHANGES) == 0
