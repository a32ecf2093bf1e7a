"""Both sides of a response channel over a network in memory: who is told which session, how often, and where answers go."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import (
    FrameHeaderDecoder,
    FrameType,
    ResponseSetupDecoder,
    ResponseSetupEncoder,
    SetupDecoder,
    SetupEncoder,
    SetupFlags,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.logbuffer.append import Appender
from aerowire.simulation.network import SimulatedPort
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

MS = 1_000_000
SESSION, STREAM, INITIAL_TERM = 77, 1001, 2**31 - 2
CONTROL = ("10.0.0.1", 40000)
PLACES = [("10.0.0.2", 40002), ("10.0.0.3", 40003)]


def status_message(*, flags: int = 0) -> bytes:
    return StatusMessageEncoder.encode(
        flags=flags, session_id=SESSION, stream_id=STREAM, consumption_term_id=INITIAL_TERM, receiver_window=16384, receiver_id=5
    )


def kinds(port: SimulatedPort) -> list[int]:
    return [FrameHeaderDecoder(payload).type for payload, _, _ in port.receive_datagrams(64)]


class TestAnswering:
    def make(self, world: SimulatedWorld) -> tuple[AgentHost, list[SimulatedPort], NetworkPublication, Appender]:
        node = world.add(AgentHost(world.clock))
        receivers = [world.network.open_port(place) for place in PLACES]
        publication, appender = node.publish(node.send_endpoint(world.network.open_port(CONTROL)), response=True)
        world.run(300 * MS)
        return node, receivers, publication, appender

    def test_nothing_is_sent_before_somebody_asks(self, world: SimulatedWorld) -> None:
        _, receivers, publication, _ = self.make(world)
        assert world.network.sent == 0
        receivers[0].send_datagrams([(status_message(), CONTROL)])
        world.run(2 * MS)
        assert publication.is_connected
        assert kinds(receivers[0]) == []

    def test_everything_goes_to_whoever_asked_last(self, world: SimulatedWorld) -> None:
        _, receivers, _, appender = self.make(world)
        receivers[0].send_datagrams([(status_message(flags=SmFlags.SEND_SETUP), CONTROL)])
        world.run(110 * MS)
        assert kinds(receivers[0])[:1] == [FrameType.SETUP]
        receivers[0].send_datagrams([(status_message(), CONTROL)])
        world.run(2 * MS)
        appender.append(b"to the first")
        world.run(2 * MS)
        assert FrameType.DATA in kinds(receivers[0])
        receivers[1].send_datagrams([(status_message(flags=SmFlags.SEND_SETUP), CONTROL)])
        world.run(110 * MS)
        kinds(receivers[0])
        assert FrameType.SETUP in kinds(receivers[1])
        appender.append(b"to the second")
        world.run(2 * MS)
        assert (kinds(receivers[0]), FrameType.DATA in kinds(receivers[1])) == ([], True)

    def test_a_first_receiver_is_told_once(self, world: SimulatedWorld) -> None:
        node, receivers, publication, _ = self.make(world)
        for _ in range(3):
            receivers[0].send_datagrams([(status_message(), CONTROL)])
            world.run(2 * MS)
        told = [event.subject for event in node.events_of(EventType.RESPONSE_CONNECTED)]
        assert told == [publication]


class TestAsking:
    def test_a_set_up_asks_and_each_answer_is_told_on(self, world: SimulatedWorld) -> None:
        node = world.add(AgentHost(world.clock))
        far = world.network.open_port(PLACES[0])
        endpoint = node.send_endpoint(world.network.open_port(CONTROL, PLACES[0]))
        publication, _ = node.publish(endpoint, asks_for_response=True)
        world.run(2 * MS)
        ((setup, _, _),) = far.receive_datagrams(64)
        assert SetupDecoder(setup).flags == SetupFlags.SEND_RESPONSE
        answer = ResponseSetupEncoder.encode(session_id=SESSION, stream_id=STREAM, response_session_id=-9)
        stray = ResponseSetupEncoder.encode(session_id=SESSION + 1, stream_id=STREAM, response_session_id=-9)
        far.send_datagrams([(answer, CONTROL), (stray, CONTROL)])
        world.run(2 * MS)
        told = [(event.subject, event.response_session_id) for event in node.events_of(EventType.RESPONSE_SETUP)]
        assert told == [(publication, -9)]

    def test_a_publication_that_asks_for_nothing_hears_no_answer(self, world: SimulatedWorld) -> None:
        node = world.add(AgentHost(world.clock))
        far = world.network.open_port(PLACES[0])
        node.publish(node.send_endpoint(world.network.open_port(CONTROL, PLACES[0])))
        world.run(2 * MS)
        answer = ResponseSetupEncoder.encode(session_id=SESSION, stream_id=STREAM, response_session_id=-9)
        far.send_datagrams([(answer, CONTROL)])
        world.run(2 * MS)
        assert not node.events_of(EventType.RESPONSE_SETUP)


def test_an_image_tells_who_answers_it_at_once_and_with_each_status_message(world: SimulatedWorld) -> None:
    node = world.add(AgentHost(world.clock))
    port = world.network.open_port(PLACES[0])
    node.receive_at(port)
    publisher = world.network.open_port(CONTROL)
    setup = SetupEncoder.encode(
        flags=SetupFlags.SEND_RESPONSE,
        session_id=SESSION,
        stream_id=STREAM,
        initial_term_id=INITIAL_TERM,
        active_term_id=INITIAL_TERM,
        term_length=65536,
        mtu=1408,
        ttl=0,
    )
    publisher.send_datagrams([(setup, PLACES[0])])
    world.run(20 * MS)
    (image,) = node.images
    publisher.receive_datagrams(64)
    image.tell_response(-9)
    world.run(2 * MS)
    ((first, _, _), _) = publisher.receive_datagrams(64)
    told = ResponseSetupDecoder(first)
    assert (told.type, told.frame_length) == (FrameType.RSP_SETUP, 20)
    assert (told.session_id, told.stream_id, told.response_session_id) == (SESSION, STREAM, -9)
    world.run(190 * MS)
    assert kinds(publisher) == []
    world.run(15 * MS)
    assert kinds(publisher) == [FrameType.RSP_SETUP, FrameType.SM]
    image.tell_response(None)
    world.run(205 * MS)
    assert kinds(publisher) == [FrameType.SM]
