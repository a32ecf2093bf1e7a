"""Spies on a network publication: where they join, what waits for them, and what they stand for when nobody else listens."""

from __future__ import annotations

import itertools

import pytest

from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.untethered_subscriptions import Tether
from aerowire.protocol.lifecycle import PublicationState
from aerowire.protocol.untethered import UntetheredTimes

MS = 1_000_000
SECOND = 1_000_000_000
TERM = 64 * 1024
WINDOW = TERM // 2
PAYLOAD = bytes(1000)
FRAME = 1056
registrations = itertools.count(100)
PEER = ("10.0.0.2", 40123)


@pytest.fixture
def node(world):
    return world.node()


def publish(world, node, **options):
    port = world.network.open_port(("10.0.0.1", 40001), PEER)
    return node.publish(node.send_endpoint(port), **options)


def spy(world, node, publication, make_subscriber, tether=Tether.TETHERED):
    position_id = node.counter("sub-pos")
    node.conductor_agent.link_subscriber(publication, position_id, next(registrations), tether)
    world.settle()
    event = node.seen[-1]
    assert (event.type, event.accepted, event.position_id) == (EventType.SUBSCRIBER_LINKED, 1, position_id)
    return make_subscriber(node, publication, position_id)


def fill(appender):
    count = 0
    while appender.append(PAYLOAD) > 0:
        count += 1
    return count


def test_a_spy_alone_connects_nobody(world, node, make_subscriber):
    publication, appender = publish(world, node)
    spy(world, node, publication, make_subscriber)
    world.run(50 * MS)
    assert not publication.is_connected
    assert appender.append(PAYLOAD) < 0


def test_a_spy_that_simulates_a_connection_carries_the_stream_by_itself(world, node, make_subscriber):
    publication, appender = publish(world, node, spies_simulate_connection=True)
    reader = spy(world, node, publication, make_subscriber)
    assert publication.is_connected
    sent = 0
    while publication.producer_position < 4 * TERM:  # over the terms' edges and round the log
        sent += fill(appender)
        reader.poll()
        world.run(2 * MS)
    assert len(reader.fragments) == sent
    assert publication.consumer_position == publication.producer_position


def test_a_slow_spy_holds_the_publisher_back(world, node, make_subscriber):
    publication, appender = publish(world, node, spies_simulate_connection=True)
    fast, slow = (spy(world, node, publication, make_subscriber) for _ in range(2))
    fill(appender)
    fast.poll()
    world.run(2 * MS)
    assert appender.append(PAYLOAD) < 0
    slow.poll()
    world.run(2 * MS)
    assert appender.append(PAYLOAD) > 0


def test_a_late_spy_joins_where_the_sender_is(world, node, make_subscriber):
    publication, appender = publish(world, node, spies_simulate_connection=True)
    first = spy(world, node, publication, make_subscriber)
    for _ in range(5):
        appender.append(PAYLOAD)
    first.poll()
    world.run(2 * MS)
    late = spy(world, node, publication, make_subscriber)
    assert node.counters.value(late.position_id) == publication.consumer_position == 5 * FRAME


def test_the_last_spy_that_leaves_disconnects(world, node, make_subscriber):
    publication, _ = publish(world, node, spies_simulate_connection=True)
    reader = spy(world, node, publication, make_subscriber)
    node.conductor_agent.unlink_subscriber(publication, reader.position_id, 1)
    world.settle()
    assert not publication.is_connected


def test_a_closed_stream_waits_until_its_spies_have_read_all(world, node, make_subscriber):
    publication, appender = publish(world, node, spies_simulate_connection=True)
    reader = spy(world, node, publication, make_subscriber)
    appender.append(PAYLOAD)
    node.conductor_agent.close_publication(publication)
    world.run(100 * MS)
    assert publication.state == PublicationState.DRAINING
    reader.poll()
    world.run(100 * MS)
    assert publication.state == PublicationState.LINGER
    assert EventType.PUBLICATION_LINGER in [event.type for event in node.seen]


def test_an_untethered_spy_goes_through_its_states(world, node, make_subscriber):
    times = UntetheredTimes(window_limit_ns=500 * MS, linger_ns=300 * MS, resting_ns=1 * SECOND)
    publication, appender = publish(world, node, spies_simulate_connection=True, untethered=times)
    fast = spy(world, node, publication, make_subscriber)
    slow = spy(world, node, publication, make_subscriber, Tether.REJOINS)

    def events():
        return [(event.type, event.position_id) for event in node.seen if event.type >= EventType.SUBSCRIBER_UNAVAILABLE]

    def drive(duration_ns):
        for _ in range(duration_ns // (10 * MS)):
            fill(appender)
            fast.poll()
            world.run(10 * MS)

    drive(700 * MS)
    assert events() == [(EventType.SUBSCRIBER_UNAVAILABLE, slow.position_id)]
    stalled_at = publication.producer_position
    assert stalled_at <= WINDOW + FRAME
    drive(300 * MS)
    assert publication.producer_position > stalled_at
    drive(1100 * MS)
    assert events() == [(EventType.SUBSCRIBER_UNAVAILABLE, slow.position_id), (EventType.SUBSCRIBER_AVAILABLE, slow.position_id)]
    rejoined = node.seen[-1]
    assert rejoined.position == node.counters.value(slow.position_id) > stalled_at


def test_an_untethered_spy_that_does_not_rejoin_is_dropped(world, node, make_subscriber):
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=100 * MS, resting_ns=100 * MS)
    publication, appender = publish(world, node, spies_simulate_connection=True, untethered=times)
    fast = spy(world, node, publication, make_subscriber)
    slow = spy(world, node, publication, make_subscriber, Tether.LEAVES)
    for _ in range(100):
        fill(appender)
        fast.poll()
        world.run(10 * MS)
    told = [(event.type, event.position_id) for event in node.seen if event.type >= EventType.SUBSCRIBER_UNAVAILABLE]
    assert told == [(EventType.SUBSCRIBER_UNAVAILABLE, slow.position_id), (EventType.SUBSCRIBER_DROPPED, slow.position_id)]


@pytest.mark.parametrize("tether", [Tether.REJOINS, Tether.LEAVES])
def test_a_closed_stream_does_not_wait_for_an_untethered_spy_that_has_lost_it(world, node, make_subscriber, tether):
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=200 * MS, resting_ns=100 * MS)
    publication, appender = publish(world, node, spies_simulate_connection=True, untethered=times)
    fast = spy(world, node, publication, make_subscriber)
    spy(world, node, publication, make_subscriber, tether)
    while EventType.SUBSCRIBER_UNAVAILABLE not in [event.type for event in node.seen]:
        fill(appender)
        fast.poll()
        world.run(10 * MS)
    node.conductor_agent.close_publication(publication)
    world.run(100 * MS)
    fast.poll()
    assert publication.state == PublicationState.DRAINING  # its client may still read what it has
    world.run(200 * MS)
    assert publication.state == PublicationState.LINGER
