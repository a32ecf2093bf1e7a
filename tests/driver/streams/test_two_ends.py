"""A publication and its image, end to end over a network in memory."""

from __future__ import annotations

import random
from typing import Any

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.driver.streams.untethered_subscriptions import Tether
from aerowire.logbuffer.append import Appender
from aerowire.protocol.lifecycle import ImageState, PublicationState
from aerowire.protocol.untethered import UntetheredTimes
from aerowire.simulation.network import SimulatedPort
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import SUBSCRIPTION, AgentHost

MS = 1_000_000
SECOND = 1_000_000_000
RECEIVER = ("10.0.0.2", 40456)
TETHER_EVENTS = {EventType.SUBSCRIBER_UNAVAILABLE, EventType.SUBSCRIBER_AVAILABLE, EventType.SUBSCRIBER_DROPPED}


Ends = tuple[AgentHost, AgentHost, NetworkPublication, Appender]


def connect(world: SimulatedWorld, **options: Any) -> Ends:
    publisher, subscriber = world.add(AgentHost(world.clock)), world.add(AgentHost(world.clock, **options))
    subscriber.receive_at(world.network.open_port(RECEIVER))
    send = publisher.send_endpoint(world.network.open_port(("10.0.0.1", 0), RECEIVER))
    publication, appender = publisher.publish(send)
    world.run(20 * MS)
    return publisher, subscriber, publication, appender


def test_setup_makes_an_image_and_a_status_message_connects(world: SimulatedWorld) -> None:
    publisher, subscriber, publication, _ = connect(world)
    assert publication.is_connected
    assert [image.state for image in subscriber.images] == [ImageState.ACTIVE]
    assert publisher.get(SystemCounter.STATUS_MESSAGES_RECEIVED) == 1


def pump(world: SimulatedWorld, appender: Appender, subscriber: AgentHost, messages: list[bytes], limit_ns: int = 60 * SECOND) -> None:
    deadline = world.clock.now_ns() + limit_ns
    sent = 0
    while not subscriber.subscribers or len(subscriber.subscribers[0].fragments) < len(messages):
        while sent < len(messages) and appender.append(messages[sent]) > 0:
            sent += 1
        world.run(MS)
        for reader in subscriber.subscribers:
            reader.poll()
        assert world.clock.now_ns() < deadline, (sent, len(subscriber.subscribers[0].fragments))


def test_messages_arrive_once_in_order_over_many_terms(world: SimulatedWorld) -> None:
    _, subscriber, _, appender = connect(world)
    messages = [index.to_bytes(4, "little") * (1 + index % 300) for index in range(3000)]
    pump(world, appender, subscriber, messages)
    assert subscriber.subscribers[0].fragments == messages


def test_messages_survive_loss_duplicates_and_reordering() -> None:
    world = SimulatedWorld(seed=42)
    world.network.set_faults(loss=0.05, duplicate=0.05, jitter_ns=300_000)
    publisher, subscriber, _, appender = connect(world)
    world.run(300 * MS)
    dice = random.Random(1)
    messages = [dice.randbytes(dice.randrange(1, 1300)) for _ in range(4000)]
    pump(world, appender, subscriber, messages)
    assert subscriber.subscribers[0].fragments == messages
    assert publisher.get(SystemCounter.RETRANSMITS_SENT) > 0
    assert subscriber.get(SystemCounter.NAK_MESSAGES_SENT) > 0 < publisher.get(SystemCounter.NAK_MESSAGES_RECEIVED)


def test_close_drains_signals_the_end_and_frees_everything(world: SimulatedWorld) -> None:
    publisher, subscriber, publication, appender = connect(world)
    assert appender.append(b"last") > 0
    publisher.close_publication(publication)
    world.run(20 * MS)
    subscriber.subscribers[0].poll()
    world.run(100 * MS)
    assert publication.state == PublicationState.DONE  # the receiver confirmed the end: no linger
    world.run(2 * SECOND)
    kinds = subscriber.kinds()
    assert subscriber.subscribers[0].fragments == [b"last"]
    assert EventType.IMAGE_LINGER in kinds
    world.run(12 * SECOND)
    assert publisher.kinds()[-3:] == [
        EventType.PUBLICATION_LINGER,
        EventType.PUBLICATION_DONE,
        EventType.PUBLICATION_REMOVED,
    ]
    assert subscriber.kinds()[-3:] == [EventType.IMAGE_LINGER, EventType.IMAGE_DONE, EventType.IMAGE_REMOVED]
    assert publisher.events.held_count == 1  # the endpoint
    assert subscriber.events.held_count == 1


def test_silence_disconnects_the_publication_and_ends_the_image_which_joins_again(world: SimulatedWorld) -> None:
    publisher, subscriber, publication, _ = connect(world)
    far_port = subscriber.images[0].endpoint.port
    assert isinstance(far_port, SimulatedPort)
    far_port.cut()
    world.run(4 * SECOND)
    assert publication.is_connected
    world.run(2 * SECOND)
    assert not publication.is_connected
    world.run(10 * SECOND)
    assert subscriber.kinds() == [EventType.CREATE_IMAGE, EventType.IMAGE_LINGER]
    far_port.cut(False)
    world.run(2 * SECOND)
    assert publication.is_connected
    assert subscriber.kinds().count(EventType.CREATE_IMAGE) == 2
    assert [image.state for image in subscriber.images][-1] == ImageState.ACTIVE
    assert publisher.get(SystemCounter.HEARTBEATS_SENT) > 50


def test_leaving_tells_the_sender_that_its_stream_has_no_receiver(world: SimulatedWorld) -> None:
    _, subscriber, publication, _ = connect(world)
    receive = subscriber.images[0].endpoint
    subscriber.unsubscribe(receive)
    world.run(50 * MS)
    assert subscriber.images[0].state == ImageState.DRAINING
    world.run(300 * MS)
    assert not publication.is_connected  # by an end-of-stream status message


def test_a_rejected_image_sends_errors_and_the_publication_says_so(world: SimulatedWorld) -> None:
    publisher, subscriber, publication, _ = connect(world)
    subscriber.reject(subscriber.images[0], "not wanted here")
    world.run(500 * MS)
    error = next(event for event in publisher.seen if event.type is EventType.PUBLICATION_ERROR)
    assert (error.subject, error.message, error.error_code) == (publication, "not wanted here", 13)
    assert error.receiver_id == 0x0102030405060708
    assert not publication.is_connected
    assert publisher.get(SystemCounter.ERROR_FRAMES_RECEIVED) >= 2
    assert publisher.kinds().count(EventType.PUBLICATION_ERROR) == 1


def test_an_unreliable_image_fills_what_is_lost() -> None:
    world = SimulatedWorld(seed=5)
    publisher, subscriber, _, appender = connect(world, reliable=False)
    world.network.set_faults(loss=0.2)
    messages = [index.to_bytes(4, "little") * 300 for index in range(300)]
    sent = 0
    for _ in range(2_000):
        while sent < len(messages) and appender.append(messages[sent]) > 0:
            sent += 1
        world.run(MS)
        subscriber.subscribers[0].poll()
    got = subscriber.subscribers[0].fragments
    assert 0 < len(got) < len(messages)
    assert got == [message for message in messages if message in set(got)]
    assert subscriber.get(SystemCounter.LOSS_GAP_FILLS) > 0
    assert subscriber.get(SystemCounter.NAK_MESSAGES_SENT) == publisher.get(SystemCounter.RETRANSMITS_SENT) == 0


def test_a_slow_subscriber_holds_the_sender_and_nothing_is_lost(world: SimulatedWorld) -> None:
    publisher, subscriber, _, appender = connect(world)
    messages = [bytes([index % 256]) * 900 for index in range(400)]
    sent = 0
    for _ in range(3_000):
        while sent < len(messages) and appender.append(messages[sent]) > 0:
            sent += 1
        world.run(MS)
        subscriber.subscribers[0].poll(1)
    assert subscriber.subscribers[0].fragments == messages
    assert subscriber.get(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 0
    assert publisher.get(SystemCounter.SENDER_FLOW_CONTROL_LIMITS) > 0


@pytest.mark.parametrize("batch", [1, 4])
def test_a_receiver_takes_no_more_than_its_batch_at_once_and_sixteen_a_cycle(world: SimulatedWorld, batch: int) -> None:
    node = world.add(AgentHost(world.clock, receiver_batch=batch))
    port = world.network.open_port(RECEIVER)
    node.receive_endpoint(port)
    node.work()
    world.network.open_port(("10.0.0.1", 0), RECEIVER).send_datagrams([(bytes(32), None)] * 40)
    world.clock.advance(MS)
    taken = []
    for _ in range(5):
        before = node.get(SystemCounter.BYTES_RECEIVED)
        node.work()
        taken.append((node.get(SystemCounter.BYTES_RECEIVED) - before) // 32)
    assert taken == [1, 1, 16, 16, 6]
    assert port.asked_max == batch


def test_arrivals_are_stamped_with_the_wall_clock_where_the_channel_says(world: SimulatedWorld) -> None:
    _, subscriber, _, appender = connect(world, stamp_offset=4)
    before = world.clock.now_epoch_ns()
    assert appender.append(bytes(16)) > 0
    world.run(5 * MS)
    subscriber.subscribers[0].poll()
    (message,) = subscriber.subscribers[0].fragments
    assert message[:4] + message[12:] == bytes(8)
    assert before < int.from_bytes(message[4:12], "little") < world.clock.now_epoch_ns()


def test_an_image_goes_on_without_an_untethered_subscriber_that_stands_still(world: SimulatedWorld) -> None:
    times = UntetheredTimes(window_limit_ns=300 * MS, linger_ns=200 * MS, resting_ns=400 * MS)
    _, subscriber, publication, appender = connect(world, untethered=times)
    (image,) = subscriber.images
    fast, slow = subscriber.subscribers[0], subscriber.link(image, tether=Tether.REJOINS)
    world.settle()

    def drive(duration_ns: int) -> None:
        for _ in range(duration_ns // (10 * MS)):
            while appender.append(bytes(1000)) > 0:
                pass
            world.run(10 * MS)
            fast.poll()

    def told() -> list[EventType]:
        return [event.type for event in subscriber.seen if event.type in TETHER_EVENTS]

    drive(400 * MS)
    assert told() == [EventType.SUBSCRIBER_UNAVAILABLE]
    stalled = publication.producer_position
    drive(300 * MS)
    assert publication.producer_position > stalled + 64 * 1024
    drive(300 * MS)
    assert told() == [EventType.SUBSCRIBER_UNAVAILABLE, EventType.SUBSCRIBER_AVAILABLE]
    assert slow.position == subscriber.seen[-1].position > stalled


def test_an_image_ends_without_an_untethered_subscriber_that_has_lost_it(world: SimulatedWorld) -> None:
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=2 * SECOND, resting_ns=400 * MS)
    publisher, subscriber, publication, appender = connect(world, untethered=times)
    (image,) = subscriber.images
    fast = subscriber.subscribers[0]
    subscriber.link(image, tether=Tether.REJOINS)
    world.settle()
    # Seven eighths of a window: the slow one is too far behind, and the sender can send all of it.
    while publication.producer_position < 28 * 1024:
        assert appender.append(bytes(1000)) > 0
    while EventType.SUBSCRIBER_UNAVAILABLE not in subscriber.kinds():
        world.run(10 * MS)
        fast.poll()
    publisher.close_publication(publication)
    world.run(SECOND)
    fast.poll()
    assert image.state == ImageState.DRAINING  # its client may still read what it has
    world.run(SECOND)
    assert image.state >= ImageState.LINGER


def test_an_image_whose_only_subscriber_rests_waits_for_it(world: SimulatedWorld) -> None:
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=100 * MS, resting_ns=400 * MS)
    _, subscriber, publication, appender = connect(world, untethered=times)
    (image,) = subscriber.images
    first, reader = subscriber.subscribers[0], subscriber.link(image, tether=Tether.REJOINS)
    world.settle()
    for _ in range(25):
        while appender.append(bytes(1000)) > 0:
            pass
        world.run(10 * MS)
        first.poll()
    subscriber.unlink(image, first, SUBSCRIPTION)
    world.run(100 * MS)
    assert image.accepts_subscribers
    world.run(500 * MS)
    before = publication.producer_position
    for _ in range(20):
        while appender.append(bytes(1000)) > 0:
            pass
        world.run(10 * MS)
        reader.poll()
    assert publication.producer_position > before
    assert reader.fragments
