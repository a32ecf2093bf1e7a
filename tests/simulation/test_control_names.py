"""Control addresses given by names that move: who asks for streams there finds their sender again, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.commands import AddRcvDestinationEncoder, CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.world import SimulatedHost, SimulatedWorld
from tests.support.simulated_client import SimulatedClient

MS = 1_000_000
SECOND = 1_000_000_000
LENGTHS = {"counters_buffer_length": "1m", "term_buffer_length": "64k"}
RECEIVER, FIRST, SECOND_HOME = "10.0.0.1", "10.0.0.2", "10.0.0.3"
ASKED = "control=source:40457|control-mode=dynamic"
# A control address that is silent for so long is looked up again. Aeron: ReceiveChannelEndpoint.
SILENT_NS = 5 * SECOND


class Home:
    """A host and a client of its driver that stays alive, whatever is waited for."""

    def __init__(self, world: SimulatedWorld, address: str) -> None:
        self.address = address
        self.host: SimulatedHost = world.add_host(address, image_liveness_timeout_ns="1s", **LENGTHS)
        self.client = SimulatedClient(self.host)
        self._clock = world.clock
        self._kept_ns = 0
        world.add_actor(self._work)

    def publish(self) -> None:
        """Offer a stream to whoever asks for it at this host."""
        self.client.publish(f"aeron:udp?control={self.address}:40457|control-mode=dynamic")

    def add_destination(self, registration_id: int, channel: str) -> None:
        correlation_id = self.client.ring.next_correlation_id()
        body = AddRcvDestinationEncoder.encode(
            client_id=self.client.client_id, correlation_id=correlation_id, registration_id=registration_id, channel=channel
        )
        self.client.ring.write(CommandType.ADD_RCV_DESTINATION, body)

    def append(self, message: bytes) -> int:
        """Return the position behind the message, or why it was not taken."""
        return -1 if self.client.appender is None else self.client.appender.append(message)

    def received(self) -> int:
        """Return how far the stream of the latest image has arrived."""
        positions = [info.value for info in self.client.counters.for_each() if info.label.startswith("rcv-pos")]
        return positions[-1] if positions else -1

    def counter(self, which: SystemCounter) -> int:
        return self.host.cnc.counters_reader().value(which)

    def _work(self) -> int:
        if self._clock.now_ns() - self._kept_ns > SECOND:
            self._kept_ns = self._clock.now_ns()
            self.client.keep_alive()
        return self.client.poll_responses()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SimulatedWorld]:
    world = SimulatedWorld(tmp_path, seed=1)
    world.names["source"] = FIRST
    yield world
    world.close()


def subscribe(home: Home, kind: str) -> None:
    """Ask for the stream at the name, as a channel or as a destination of one."""
    asking = f"aeron:udp?endpoint={RECEIVER}:40456|{ASKED}"
    if kind == "channel":
        home.client.subscribe(asking)
    else:
        home.add_destination(home.client.subscribe("aeron:udp?control-mode=manual"), asking)


@pytest.mark.parametrize("kind", ["channel", "destination"])
def test_a_sender_that_was_never_there_is_found_where_its_name_went(world: SimulatedWorld, kind: str) -> None:
    receiver, source = Home(world, RECEIVER), Home(world, SECOND_HOME)
    subscribe(receiver, kind)
    source.publish()
    world.run(SECOND)
    world.names["source"] = SECOND_HOME
    assert not world.run(SILENT_NS - 2 * SECOND, until=lambda: receiver.client.image is not None)
    assert world.run(4 * SECOND, until=lambda: receiver.client.image is not None)
    assert receiver.counter(SystemCounter.RESOLUTION_CHANGES) == 1
    assert receiver.client.errors == source.client.errors == []


@pytest.mark.parametrize("kind", ["channel", "destination"])
def test_a_sender_that_fell_silent_is_found_where_its_name_went(world: SimulatedWorld, kind: str) -> None:
    receiver, first = Home(world, RECEIVER), Home(world, FIRST)
    subscribe(receiver, kind)
    first.publish()
    assert world.run(2 * SECOND, until=lambda: receiver.client.image is not None)
    image = receiver.client.image_id
    world.actors.remove(first._work)
    first.host.kill()
    second = Home(world, SECOND_HOME)
    second.publish()
    world.names["source"] = SECOND_HOME
    assert world.run(SILENT_NS + 3 * SECOND, until=lambda: receiver.client.image is not None and receiver.client.image_id != image)
    assert receiver.counter(SystemCounter.RESOLUTION_CHANGES) == 1
    # What is said to the second one arrives, and so does what it sends.
    assert world.run(SECOND, until=lambda: second.append(b"from the second") > 0)
    assert world.run(SECOND, until=lambda: receiver.received() == 64)


def test_a_sender_that_is_heard_is_not_looked_up(world: SimulatedWorld) -> None:
    receiver, first = Home(world, RECEIVER), Home(world, FIRST)
    subscribe(receiver, "channel")
    first.publish()
    assert world.run(2 * SECOND, until=lambda: receiver.client.image is not None)
    world.names["source"] = SECOND_HOME
    world.run(3 * SILENT_NS)
    assert receiver.counter(SystemCounter.RESOLUTION_CHANGES) == 0
    assert receiver.client.image is not None


def test_a_name_that_stays_and_one_that_is_gone_change_nothing(world: SimulatedWorld) -> None:
    receiver = Home(world, RECEIVER)
    subscribe(receiver, "channel")
    world.run(2 * SILENT_NS)
    assert receiver.counter(SystemCounter.RESOLUTION_CHANGES) == receiver.counter(SystemCounter.ERRORS) == 0
    del world.names["source"]
    world.run(2 * SILENT_NS)
    assert receiver.counter(SystemCounter.RESOLUTION_CHANGES) == 0
    assert receiver.counter(SystemCounter.ERRORS) >= 1
    # Known again, and there: the address stood, and is asked again.
    world.names["source"] = FIRST
    first = Home(world, FIRST)
    first.publish()
    assert world.run(3 * SILENT_NS, until=lambda: receiver.client.image is not None)
    assert receiver.counter(SystemCounter.RESOLUTION_CHANGES) == 0
