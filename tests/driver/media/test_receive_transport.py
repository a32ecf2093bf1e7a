"""A multi-destination endpoint: one image over several sockets."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.receive_transport import ReceiveTransport
from aerowire.driver.queues.events import EventType
from aerowire.protocol.lifecycle import ImageState
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost
from tests.support.wire_source import FRAME, SESSION, STREAM, WireSource

MS = 1_000_000
SECOND = 1_000_000_000
FIRST, SECOND_PLACE = ("10.0.0.2", 40001), ("10.0.0.2", 40002)


TwoPaths = tuple[AgentHost, ReceiveEndpoint, list[ReceiveTransport], list[WireSource]]


def two_paths(world: SimulatedWorld) -> TwoPaths:
    """Return a node, its endpoint with two destinations, the transports, and a source towards each."""
    node = world.add(AgentHost(world.clock))
    endpoint = node.receive_endpoint(None)
    transports = [node.add_transport(endpoint, world.network.open_port(place), index) for index, place in enumerate((FIRST, SECOND_PLACE))]
    node.subscribe(endpoint, STREAM)
    world.settle()
    return node, endpoint, transports, [WireSource(world.network, FIRST), WireSource(world.network, SECOND_PLACE)]


def join(world: SimulatedWorld, first: WireSource, second: WireSource) -> None:
    first.setup()
    world.run(5 * MS)
    second.setup()
    world.run(250 * MS)


def test_what_one_path_lost_the_other_brings_and_nothing_comes_twice(world: SimulatedWorld) -> None:
    node, _, _, (first, second) = two_paths(world)
    first.setup()
    second.setup()
    world.run(5 * MS)
    for index in range(100):
        if index % 3 != 0:
            first.data(index * FRAME, index.to_bytes(32, "little"))
        if index % 3 != 1:
            second.data(index * FRAME, index.to_bytes(32, "little"))
    world.run(5 * MS)
    node.subscribers[0].poll()
    assert node.subscribers[0].fragments == [index.to_bytes(32, "little") for index in range(100)]
    world.run(250 * MS)  # told with status messages
    assert len(node.images) == 1
    assert node.images[0].log.transport_count == 2


def test_answers_go_to_every_path_heard_in_the_last_five_seconds(world: SimulatedWorld) -> None:
    _, _, _, (first, second) = two_paths(world)
    first.setup()
    world.run(5 * MS)
    assert [frame.receiver_window for frame in first.answers(FrameType.SM)] == [32768]
    assert second.answers(FrameType.SM) == []  # nobody is known there
    second.setup()
    world.run(250 * MS)
    assert len(first.answers(FrameType.SM)) == len(second.answers(FrameType.SM)) == 1
    first.data(FRAME)
    world.run(5 * MS)
    assert {(frame.term_offset, frame.length) for frame in first.answers(FrameType.NAK)} == {(0, FRAME)}
    assert {(frame.term_offset, frame.length) for frame in second.answers(FrameType.NAK)} == {(0, FRAME)}
    first.data(0)
    for _ in range(51):
        first.heartbeat(2 * FRAME)
        world.run(100 * MS)
    first.answers(FrameType.SM)
    second.answers(FrameType.SM)
    world.run(400 * MS)  # two intervals of status messages
    assert len(first.answers(FrameType.SM)) == 2
    assert second.answers(FrameType.SM) == []  # silent for more than 5 s


def test_a_removed_destination_is_read_and_answered_no_more_and_its_place_used_again(world: SimulatedWorld) -> None:
    node, endpoint, transports, (first, second) = two_paths(world)
    join(world, first, second)
    assert node.images[0].log.transport_count == 2
    node.remove_transport(endpoint, transports[0])
    world.settle()
    gone = node.events_of(EventType.RECEIVE_DESTINATION_REMOVED)
    assert [event.subject for event in gone] == [transports[0]]
    assert node.images[0].log.transport_count == 1
    first.answers(FrameType.SM)
    first.data(0)
    second.data(FRAME)
    world.run(300 * MS)
    assert node.images[0].hwm_position == 2 * FRAME
    assert node.images[0].rebuild_position == 0
    assert first.answers(FrameType.SM) == []
    second.data(0)
    world.run(5 * MS)
    assert node.images[0].rebuild_position == 2 * FRAME

    third_place = ("10.0.0.2", 40003)
    node.add_transport(endpoint, world.network.open_port(third_place), 0)
    third = WireSource(world.network, third_place)
    third.data(2 * FRAME)
    world.run(250 * MS)
    assert node.images[0].rebuild_position == 3 * FRAME
    assert third.answers(FrameType.SM)
    assert node.events.held_count == 2  # the endpoint and the image


def test_a_stream_has_ended_when_it_has_on_every_path_and_there_where_the_last_one_says(world: SimulatedWorld) -> None:
    node, _, _, (first, second) = two_paths(world)
    join(world, first, second)
    first.data(0)
    first.heartbeat(FRAME, eos=True)
    world.run(5 * MS)
    node.subscribers[0].poll()
    world.run(50 * MS)
    assert node.images[0].state == ImageState.ACTIVE
    second.data(FRAME)
    second.heartbeat(2 * FRAME, eos=True)
    world.run(50 * MS)
    assert node.images[0].state == ImageState.DRAINING
    assert node.images[0].log.metadata_fields()["end_of_stream_position"] == 2 * FRAME
    assert {frame.flags for frame in second.answers(FrameType.SM)} == {0, 0x40}


def test_a_path_that_is_no_more_does_not_hold_up_the_end(world: SimulatedWorld) -> None:
    node, endpoint, transports, (first, second) = two_paths(world)
    join(world, first, second)
    node.remove_transport(endpoint, transports[1])
    first.heartbeat(0, eos=True)
    world.run(50 * MS)
    assert node.images[0].state == ImageState.DRAINING


def test_data_before_a_set_up_asks_on_the_path_that_it_came_by(world: SimulatedWorld) -> None:
    _, _, _, (first, second) = two_paths(world)
    second.data(0)
    world.run(5 * MS)
    assert [(frame.flags, frame.session_id, frame.stream_id) for frame in second.answers(FrameType.SM)] == [(0x80, SESSION, STREAM)]
    assert first.answers(FrameType.SM) == []


def test_a_destination_with_a_control_address_is_asked_each_second_until_it_is_removed(world: SimulatedWorld) -> None:
    node = world.add(AgentHost(world.clock))
    endpoint = node.receive_endpoint(None)
    node.subscribe(endpoint, STREAM)
    source = WireSource(world.network, FIRST, host="10.0.0.9", port=5000)
    transport = node.add_transport(endpoint, world.network.open_port(FIRST), 3, ("10.0.0.9", 5000))
    world.run(2_500 * MS)
    assert [(frame.flags, frame.session_id, frame.stream_id) for frame in source.answers(FrameType.SM)] == [(0x80, 0, 0)] * 3
    node.remove_transport(endpoint, transport)
    world.run(2_500 * MS)
    assert source.answers(FrameType.SM) == []


def test_an_endpoint_leaves_with_all_its_destinations(world: SimulatedWorld) -> None:
    node, endpoint, _, (first, _) = two_paths(world)
    node.unsubscribe(endpoint, STREAM)
    node.remove_endpoint(endpoint)
    world.settle()
    assert node.kinds() == [EventType.RECEIVE_ENDPOINT_REMOVED]
    first.setup()
    world.run(5 * MS)
    assert node.get(SystemCounter.BYTES_RECEIVED) == 0
    endpoint.close()
    assert node.events.held_count == 0
