"""Who gets an image and who does not: sessions, control addresses, limits, rejoining, rejection."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.queues.events import EventType, NativeErrorCode
from aerowire.protocol.cubic_congestion_control import CubicCongestionControl
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost
from tests.support.wire_source import FRAME, INITIAL_TERM, SESSION, STREAM, TERM, WireSource

MS = 1_000_000
SECOND = 1_000_000_000
PLACE = ("10.0.0.2", 40001)
CONTROL = ("10.0.0.9", 5000)
LATENCY = 10_000  # of the simulated network


def listen(
    world: SimulatedWorld, *, session: int | None = None, endpoint_options: dict[str, Any] | None = None, **image_options: Any
) -> tuple[AgentHost, ReceiveEndpoint, WireSource]:
    """Return a node with one subscription, its endpoint, and a source towards it."""
    node = world.add(AgentHost(world.clock, **image_options))
    source = WireSource(world.network, PLACE, host=CONTROL[0], port=CONTROL[1])
    endpoint = node.receive_at(world.network.open_port(PLACE), **(endpoint_options or {}), session_id=session)
    world.settle()
    return node, endpoint, source


def asked(source: WireSource) -> list[tuple[int, int, int]]:
    return [(frame.flags, frame.session_id, frame.stream_id) for frame in source.answers(FrameType.SM)]


def test_a_control_address_is_asked_at_once_and_each_second(world: SimulatedWorld) -> None:
    _, _, source = listen(world, endpoint_options={"explicit_control": CONTROL})
    world.run(MS)
    assert asked(source) == [(0x80, 0, 0)]
    world.run(990 * MS)
    assert asked(source) == []
    world.run(2_000 * MS)
    assert asked(source) == [(0x80, 0, 0)] * 2


def test_a_control_address_is_asked_for_one_session_too(world: SimulatedWorld) -> None:
    _, _, source = listen(world, session=SESSION, endpoint_options={"explicit_control": CONTROL})
    world.run(MS)
    assert asked(source) == [(0x80, 0, 0), (0x80, SESSION, STREAM)]


def test_a_control_address_is_not_asked_for_nobody(world: SimulatedWorld) -> None:
    node, endpoint, source = listen(world, endpoint_options={"explicit_control": CONTROL})
    node.unsubscribe(endpoint, STREAM)
    world.run(MS)
    asked(source)
    world.run(3 * SECOND)
    assert asked(source) == []


def test_answers_go_to_the_control_address_whoever_sends(world: SimulatedWorld) -> None:
    node, _, source = listen(world, endpoint_options={"explicit_control": CONTROL})
    world.run(MS)
    asked(source)
    another = WireSource(world.network, PLACE, host="10.0.0.7", port=7000)
    another.setup()
    world.run(5 * MS)
    assert len(node.images) == 1
    assert asked(source) == [(0, SESSION, STREAM)]
    assert asked(another) == []


def test_a_stream_that_is_before_its_beginning_gets_no_image(world: SimulatedWorld) -> None:
    node, _, source = listen(world)
    for times in (1, 2):
        source.setup(term=INITIAL_TERM - 1)
        world.run(5 * MS)
        assert (node.images, node.get(SystemCounter.INVALID_PACKETS)) == ([], times)
    source.setup(term=INITIAL_TERM - 1, stream=STREAM + 1)  # nobody asks for it
    world.run(5 * MS)
    assert node.get(SystemCounter.INVALID_PACKETS) == 2
    source.setup(term=INITIAL_TERM + 2, offset=64)
    world.run(5 * MS)
    assert [node.counters.value(subscriber.position_id) for subscriber in node.subscribers] == [2 * TERM + 64]


@pytest.mark.parametrize(("initial", "term", "images"), [((1 << 31) - 1, -(1 << 31), 1), (-(1 << 31), (1 << 31) - 1, 0)])
def test_terms_are_counted_round_the_end_of_their_numbers(world: SimulatedWorld, initial: int, term: int, images: int) -> None:
    node, _, source = listen(world)
    source.setup(initial=initial, term=term)
    world.run(5 * MS)
    assert (len(node.images), node.get(SystemCounter.INVALID_PACKETS)) == (images, 1 - images)


def test_another_session_gets_neither_answer_nor_image(world: SimulatedWorld) -> None:
    node, _, source = listen(world, session=SESSION)
    source.data(0, session=SESSION + 1)
    source.setup(session=SESSION + 1)
    world.run(300 * MS)
    assert asked(source) == []
    assert node.images == []
    source.data(0)
    world.run(5 * MS)
    assert asked(source) == [(0x80, SESSION, STREAM)]
    source.setup()
    world.run(5 * MS)
    assert len(node.images) == 1


def test_data_without_a_set_up_asks_again_after_a_second(world: SimulatedWorld) -> None:
    _, _, source = listen(world)
    for _ in range(24):
        source.data(0)
        world.run(100 * MS)
    assert asked(source) == [(0x80, SESSION, STREAM)] * 3


def test_beyond_the_session_limit_there_are_no_images_and_the_others_live_on(world: SimulatedWorld) -> None:
    node, _, source = listen(world, endpoint_options={"stream_session_limit": 2})
    for session in (1, 2, 3):
        source.setup(session=session)
        world.run(5 * MS)
    errors = [(event.code, event.a, event.b) for event in node.events_of(EventType.NATIVE_ERROR)]
    assert errors == [(NativeErrorCode.SESSION_LIMIT, STREAM, 3)]
    assert [image.session_id for image in node.images] == [1, 2]
    source.data(0, session=2)
    world.run(5 * MS)
    assert node.images[1].rebuild_position == FRAME


@pytest.mark.parametrize("rejoins", [True, False])
def test_a_silent_stream_joins_again_only_after_its_cool_down(world: SimulatedWorld, rejoins: bool) -> None:
    node, _, source = listen(world, image_liveness_timeout_ns=SECOND)
    node.rejoins = rejoins
    source.setup()
    world.run(5 * MS)
    world.run(1_050 * MS)
    assert node.kinds() == [EventType.CREATE_IMAGE]
    source.setup()  # the image drains: its session cools down
    world.run(500 * MS)
    assert node.kinds().count(EventType.CREATE_IMAGE) == 1
    world.run(3 * SECOND)
    assert EventType.IMAGE_LINGER in node.kinds()
    source.setup()
    world.run(5 * MS)
    assert node.kinds().count(EventType.CREATE_IMAGE) == (2 if rejoins else 1)


def test_a_rejected_image_answers_with_errors_in_place_of_status_messages_and_dies(world: SimulatedWorld) -> None:
    node, _, source = listen(world, image_liveness_timeout_ns=2 * SECOND, endpoint_options={"group_tag": 77})
    source.setup()
    world.run(250 * MS)
    assert len(asked(source)) == 2
    node.reject(node.images[0], "not this one")
    for index in range(15):
        source.data(index * FRAME)
        world.run(100 * MS)
    (image,) = node.images
    assert image.hwm_position == 0  # what came was not taken
    errors = source.answers(FrameType.ERR)
    assert 7 <= len(errors) <= 8  # each 200 ms
    assert {(frame.flags, frame.error_code, frame.group_tag, frame.receiver_id) for frame in errors} == {(0x08, 13, 77, 0x0102030405060708)}
    assert {(frame.error_text, frame.frame_length) for frame in errors} == {("not this one", 52)}
    assert node.get(SystemCounter.ERROR_FRAMES_SENT) == len(errors)
    world.run(2 * SECOND)
    assert EventType.IMAGE_LINGER in node.kinds()


def test_without_a_group_tag_errors_have_none(world: SimulatedWorld) -> None:
    node, _, source = listen(world)
    source.setup()
    world.run(5 * MS)
    node.reject(node.images[0], "")
    world.run(250 * MS)
    assert [(frame.flags, frame.group_tag, frame.frame_length) for frame in source.answers(FrameType.ERR)] == [(0, -1, 40)]


def test_a_gap_of_an_unreliable_stream_is_filled_without_asking(world: SimulatedWorld) -> None:
    node, _, source = listen(world, reliable=False)
    source.setup()
    world.run(5 * MS)
    source.data(0, b"first".ljust(32))
    source.data(3 * FRAME, b"fourth".ljust(32))
    world.run(5 * MS)
    node.subscribers[0].poll()
    assert [message.strip() for message in node.subscribers[0].fragments] == [b"first", b"fourth"]
    assert node.get(SystemCounter.LOSS_GAP_FILLS) == 1
    assert node.get(SystemCounter.NAK_MESSAGES_SENT) == 0
    assert source.answers(FrameType.NAK) == []


OWN_ID = 0x0102030405060708


def test_a_round_trip_is_answered_for_an_image_and_its_receiver_only(world: SimulatedWorld) -> None:
    node, _, source = listen(world)
    source.rttm(1)
    world.run(5 * MS)
    assert source.answers(FrameType.RTTM) == []  # no image yet
    source.setup()
    world.run(5 * MS)
    source.rttm(2)
    source.rttm(3, receiver_id=OWN_ID)
    source.rttm(4, receiver_id=OWN_ID + 1)
    world.run(5 * MS)
    answers = [
        (frame.flags, frame.echo_timestamp_ns, frame.reception_delta_ns, frame.receiver_id) for frame in source.answers(FrameType.RTTM)
    ]
    assert answers == [(0, 2, 0, OWN_ID), (0, 3, 0, OWN_ID)]
    assert len(node.images) == 1


@pytest.mark.parametrize("echo", [-(2**63), -1, 0, 2**63 - 1])
def test_a_made_up_echo_does_no_harm(world: SimulatedWorld, echo: int) -> None:
    node, _, source = listen(world)
    source.setup()
    world.run(5 * MS)
    source.rttm(echo, flags=0)
    source.data(0)
    world.run(5 * MS)
    assert node.images[0].rebuild_position == FRAME


@pytest.mark.parametrize(
    ("echo", "delta", "rtt_ns"),
    [
        (900 * MS, 0, 105 * MS + LATENCY),
        (900 * MS, 5 * MS, 100 * MS + LATENCY),
        (SECOND, -5 * SECOND, 0),
        (SECOND, SECOND, 0),
        (-(2**63), -(2**63), 0),
    ],
)
def test_a_round_trip_is_measured_from_possible_times_only(world: SimulatedWorld, echo: int, delta: int, rtt_ns: int) -> None:
    node, _, source = listen(world)
    counter_id = node.counter("rcv-cc-cubic-rtt")
    node.congestion_control = CubicCongestionControl(
        max_window_length=TERM // 2,
        mtu=1408,
        now_ns=world.clock.now_ns(),
        measure_rtt=True,
        initial_rtt_ns=10 * SECOND,
        counters=node.counters,
        rtt_counter_id=counter_id,
        window_counter_id=node.counter("rcv-cc-cubic-wnd"),
    )
    source.setup()
    world.run(5 * MS)
    source.rttm(echo, flags=0, delta=delta)
    world.run(5 * MS)
    assert node.counters.value(counter_id) == rtt_ns


def test_a_removed_endpoint_sends_no_more_for_an_image_that_is_still_there(world: SimulatedWorld) -> None:
    node, endpoint, source = listen(world)
    source.setup()
    world.run(5 * MS)
    assert len(source.answers(FrameType.SM)) == 1
    node.remove_endpoint(endpoint)
    world.settle()
    assert EventType.RECEIVE_ENDPOINT_REMOVED in node.kinds()
    endpoint.close()  # whoever would send now used what is gone
    world.run(500 * MS)
    assert source.answers(FrameType.SM) == []
    assert node.events_of(EventType.NATIVE_ERROR) == []
