"""An IPC publication under the conductor agent: joining, limits, cleaning, blocked publishers and the end."""

from __future__ import annotations

import itertools

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.driver.streams.untethered_subscriptions import Tether
from aerowire.logbuffer.concurrent_appender import ConcurrentAppender
from aerowire.logbuffer.exclusive_appender import ExclusiveAppender
from aerowire.protocol.lifecycle import PublicationState
from aerowire.protocol.untethered import UntetheredTimes

MS = 1_000_000
SECOND = 1_000_000_000
TERM = 64 * 1024
WINDOW = TERM // 2
SESSION, STREAM = 77, 1001
registrations = itertools.count(100)


@pytest.fixture
def node(world):
    return world.node()


def publish(node, *, exclusive=False, initial_term_id=2**31 - 2, **options):
    log = node.log(initial_term_id=initial_term_id, kind=int(exclusive))
    limit = node.counter("pub-lmt")
    publication = IpcPublication(
        log,
        node.counters,
        node.system,
        registration_id=next(registrations),
        session_id=SESSION,
        stream_id=STREAM,
        initial_term_id=initial_term_id,
        publisher_position_id=node.counter("pub-pos"),
        publisher_limit_id=limit,
        mtu=1408,
        publication_window=WINDOW,
        exclusive=exclusive,
        now_ns=node.clock.now_ns(),
        **options,
    )
    node.conductor_agent.add_publication(publication)
    appender = ExclusiveAppender if exclusive else ConcurrentAppender
    return publication, appender(log, node.counters, limit, SESSION, STREAM, max_payload_length=1376), limit


def join(node, world, make_subscriber, publication, tether=Tether.TETHERED):
    position_id = node.counter("sub-pos")
    node.conductor_agent.link_subscriber(publication, position_id, next(registrations), tether)
    world.settle()
    event = node.seen[-1]
    assert (event.type, event.accepted, event.position_id) == (EventType.SUBSCRIBER_LINKED, 1, position_id)
    return make_subscriber(node, publication, position_id), event.position


def test_a_publication_without_subscribers_is_not_connected(world, node):
    publication, appender, _ = publish(node)
    world.run(50 * MS)
    assert not publication.is_connected
    assert appender.append(b"nobody") < 0


def test_a_subscriber_connects_and_opens_the_window(world, node, make_subscriber):
    publication, appender, limit = publish(node)
    subscriber, position = join(node, world, make_subscriber, publication)
    assert position == 0
    assert publication.is_connected
    assert node.counters.value(limit) == WINDOW
    assert appender.append(b"hello") > 0
    subscriber.poll()
    assert subscriber.fragments == [b"hello"]


@pytest.mark.parametrize("exclusive", [False, True])
def test_messages_pass_over_many_terms_and_the_wrap_of_the_term_id(world, node, make_subscriber, exclusive):
    publication, appender, _ = publish(node, exclusive=exclusive)
    subscriber, _ = join(node, world, make_subscriber, publication)
    messages = [index.to_bytes(4, "little") * (1 + index % 200) for index in range(3000)]
    pending = iter(messages)
    message = next(pending, None)
    while len(subscriber.fragments) < len(messages):
        while message is not None and appender.append(message) > 0:
            message = next(pending, None)
        subscriber.poll()
        world.settle()
    assert subscriber.fragments == messages


def test_the_slowest_subscriber_holds_the_publisher(world, node, make_subscriber):
    publication, appender, limit = publish(node)
    fast, _ = join(node, world, make_subscriber, publication)
    slow, _ = join(node, world, make_subscriber, publication)
    while appender.append(bytes(1000)) > 0:
        fast.poll()
        world.settle()
    assert node.counters.value(limit) == WINDOW
    slow.poll()
    world.settle()
    assert node.counters.value(limit) > WINDOW


def test_a_late_subscriber_joins_where_the_slowest_stands(world, node, make_subscriber):
    publication, appender, _ = publish(node)
    first, _ = join(node, world, make_subscriber, publication)
    for _ in range(10):
        appender.append(bytes(100))
    first.poll(4)
    world.settle()
    second, position = join(node, world, make_subscriber, publication)
    assert position == 4 * 160
    second.poll()
    assert len(second.fragments) == 6


def test_leaving_disconnects(world, node, make_subscriber):
    publication, _, limit = publish(node)
    subscriber, _ = join(node, world, make_subscriber, publication)
    node.conductor_agent.unlink_subscriber(publication, subscriber.position_id, 1)
    world.settle()
    assert node.seen[-1].type is EventType.SUBSCRIBER_UNLINKED
    assert not publication.is_connected
    assert node.counters.value(limit) == 0


def test_a_dead_claim_is_unblocked_after_its_timeout(world, node, make_subscriber):
    publication, appender, _ = publish(node, unblock_timeout_ns=15 * SECOND)
    subscriber, _ = join(node, world, make_subscriber, publication)
    appender.claim(64)
    appender.append(b"behind the claim")
    world.run(14 * SECOND, 100 * MS)
    subscriber.poll()
    assert subscriber.fragments == []
    world.run(2 * SECOND, 100 * MS)
    subscriber.poll()
    assert subscriber.fragments == [b"behind the claim"]
    assert node.get(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1


def test_closing_waits_until_everything_is_read(world, node, make_subscriber):
    publication, appender, _ = publish(node)
    subscriber, _ = join(node, world, make_subscriber, publication)
    end = appender.append(b"last words")
    node.conductor_agent.close_publication(publication)
    world.run(100 * MS)
    assert publication.state == PublicationState.DRAINING
    assert publication.log.eos_position == end
    subscriber.poll()
    world.run(100 * MS)
    assert [event.type for event in node.seen[-3:]] == [
        EventType.PUBLICATION_LINGER,
        EventType.PUBLICATION_DONE,
        EventType.PUBLICATION_REMOVED,
    ]
    assert [position_id for position_id, _ in publication.subscriber_position_ids()] == [subscriber.position_id]
    assert node.events.held_count == 0


def test_nobody_joins_what_has_ended(world, node):
    publication, _, _ = publish(node)
    node.conductor_agent.close_publication(publication)
    node.conductor_agent.link_subscriber(publication, node.counter("sub-pos"), 1)
    world.settle()
    assert [event.accepted for event in node.seen if event.type is EventType.SUBSCRIBER_LINKED] == [0]


def test_a_revoked_publication_ends_without_draining(world, node, make_subscriber):
    publication, appender, _ = publish(node)
    join(node, world, make_subscriber, publication)
    appender.append(b"never read")
    publication.revoke()
    node.conductor_agent.close_publication(publication)
    world.run(100 * MS)
    linger = next(event for event in node.seen if event.type is EventType.PUBLICATION_LINGER)
    assert linger.revoked
    assert node.get(SystemCounter.PUBLICATIONS_REVOKED) == 1
    assert publication.state == PublicationState.DONE


def test_silent_and_closed_clients_are_told_apart(world, node):
    silent, closed = node.counter("client-heartbeat"), node.counter("client-heartbeat")
    node.counters.set_value(silent, node.clock.now_ms())
    node.counters.set_value(closed, 0)
    node.conductor_agent.add_client(1, silent)
    node.conductor_agent.add_client(2, closed)
    world.run(50 * MS)
    assert [(event.client_id, event.closed) for event in node.seen] == [(2, 1)]
    world.run(11 * SECOND, 100 * MS)
    assert [(event.client_id, event.closed) for event in node.seen] == [(2, 1), (1, 0)]
    assert node.get(SystemCounter.CLIENT_TIMEOUTS) == 1


def test_a_stream_that_its_client_s_death_left_ends_at_once_when_it_is_read(world, node, make_subscriber):
    publication, appender, _ = publish(node)
    subscriber, _ = join(node, world, make_subscriber, publication)
    appender.append(b"read")
    subscriber.poll()
    world.run(MS)
    node.conductor_agent.close_publication(publication, abandoned=True)
    world.settle()
    assert [event.type for event in node.seen[-1:]] == [EventType.PUBLICATION_LINGER]
    world.run(10 * MS)
    assert [event.type for event in node.seen[-2:]] == [EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED]


def test_a_stream_that_its_client_s_death_left_waits_for_its_readers(world, node, make_subscriber):
    publication, appender, _ = publish(node)
    join(node, world, make_subscriber, publication)
    appender.append(b"not read")
    node.conductor_agent.close_publication(publication, abandoned=True)
    world.run(100 * MS)
    assert publication.state == PublicationState.DRAINING


def test_a_revoked_stream_that_its_client_s_death_left_is_let_go_of_once(world, node):
    publication, _, _ = publish(node)
    publication.revoke()
    world.run(30 * MS)
    assert publication.state == PublicationState.LINGER
    node.conductor_agent.close_publication(publication, abandoned=True)
    world.run(100 * MS)
    ends = [event.type for event in node.seen if event.type in {EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED}]
    assert ends == [EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED]


def test_a_closed_publication_does_not_wait_for_an_untethered_subscriber_that_has_lost_it(world, node, make_subscriber):
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=200 * MS, resting_ns=100 * MS)
    publication, appender, _ = publish(node, untethered=times)
    fast, _ = join(node, world, make_subscriber, publication)
    join(node, world, make_subscriber, publication, Tether.REJOINS)
    while EventType.SUBSCRIBER_UNAVAILABLE not in [event.type for event in node.seen]:
        while appender.append(bytes(1000)) > 0:
            pass
        world.run(10 * MS)
        fast.poll()
    node.conductor_agent.close_publication(publication)
    world.run(100 * MS)
    fast.poll()
    assert publication.state == PublicationState.DRAINING  # its client may still read what it has
    world.run(200 * MS)
    assert publication.state == PublicationState.DONE
