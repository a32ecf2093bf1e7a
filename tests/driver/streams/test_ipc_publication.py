"""An IPC publication under the conductor agent: joining, limits, cleaning, blocked publishers and the end."""

from __future__ import annotations

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.untethered_subscriptions import Tether
from aerowire.protocol.lifecycle import PublicationState
from aerowire.protocol.untethered import UntetheredTimes
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import MS, SECOND, WINDOW, AgentHost


@pytest.fixture
def node(world: SimulatedWorld) -> AgentHost:
    return world.add(AgentHost(world.clock))


def test_a_publication_without_subscribers_is_not_connected(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    world.run(50 * MS)
    assert not publication.is_connected
    assert appender.append(b"nobody") < 0


def test_a_subscriber_connects_and_opens_the_window(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    subscriber = node.join(world, publication)
    assert subscriber.position == 0
    assert publication.is_connected
    assert node.value("pub-lmt") == WINDOW
    assert appender.append(b"hello") > 0
    subscriber.poll()
    assert subscriber.fragments == [b"hello"]


@pytest.mark.parametrize("exclusive", [False, True])
def test_messages_pass_over_many_terms_and_the_wrap_of_the_term_id(world: SimulatedWorld, node: AgentHost, exclusive: bool) -> None:
    publication, appender = node.publish_ipc(exclusive=exclusive)
    subscriber = node.join(world, publication)
    messages = [index.to_bytes(4, "little") * (1 + index % 200) for index in range(3000)]
    pending = iter(messages)
    message = next(pending, None)
    while len(subscriber.fragments) < len(messages):
        while message is not None and appender.append(message) > 0:
            message = next(pending, None)
        subscriber.poll()
        world.settle()
    assert subscriber.fragments == messages


def test_the_slowest_subscriber_holds_the_publisher(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    fast = node.join(world, publication)
    slow = node.join(world, publication)
    while appender.append(bytes(1000)) > 0:
        fast.poll()
        world.settle()
    assert node.value("pub-lmt") == WINDOW
    slow.poll()
    world.settle()
    assert node.value("pub-lmt") > WINDOW


def test_a_late_subscriber_joins_where_the_slowest_stands(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    first = node.join(world, publication)
    for _ in range(10):
        appender.append(bytes(100))
    first.poll(4)
    world.settle()
    second = node.join(world, publication)
    assert second.position == 4 * 160
    second.poll()
    assert len(second.fragments) == 6


def test_leaving_disconnects(world: SimulatedWorld, node: AgentHost) -> None:
    publication, _ = node.publish_ipc()
    subscriber = node.join(world, publication)
    node.unlink(publication, subscriber)
    world.settle()
    assert node.seen[-1].type is EventType.SUBSCRIBER_UNLINKED
    assert not publication.is_connected
    assert node.value("pub-lmt") == 0


def test_a_dead_claim_is_unblocked_after_its_timeout(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc(unblock_timeout_ns=15 * SECOND)
    subscriber = node.join(world, publication)
    appender.claim(64)
    appender.append(b"behind the claim")
    world.run(14 * SECOND)
    subscriber.poll()
    assert subscriber.fragments == []
    world.run(2 * SECOND)
    subscriber.poll()
    assert subscriber.fragments == [b"behind the claim"]
    assert node.get(SystemCounter.UNBLOCKED_PUBLICATIONS) == 1


def test_closing_waits_until_everything_is_read(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    subscriber = node.join(world, publication)
    end = appender.append(b"last words")
    node.close_publication(publication)
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


def test_nobody_joins_what_has_ended(world: SimulatedWorld, node: AgentHost) -> None:
    publication, _ = node.publish_ipc()
    node.close_publication(publication)
    node.link(publication)
    world.settle()
    assert [event.accepted for event in node.events_of(EventType.SUBSCRIBER_LINKED)] == [0]


def test_a_revoked_publication_ends_without_draining(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    node.join(world, publication)
    appender.append(b"never read")
    publication.revoke()
    node.close_publication(publication)
    world.run(100 * MS)
    linger = next(event for event in node.seen if event.type is EventType.PUBLICATION_LINGER)
    assert linger.revoked
    assert node.get(SystemCounter.PUBLICATIONS_REVOKED) == 1
    assert publication.state == PublicationState.DONE


def test_silent_and_closed_clients_are_told_apart(world: SimulatedWorld, node: AgentHost) -> None:
    silent, closed = node.counter("client-heartbeat"), node.counter("client-heartbeat")
    node.counters.set_value(silent, node.clock.now_ms())
    node.counters.set_value(closed, 0)
    node.add_client(1, silent)
    node.add_client(2, closed)
    world.run(50 * MS)
    assert [(event.client_id, event.closed) for event in node.seen] == [(2, 1)]
    world.run(11 * SECOND)
    assert [(event.client_id, event.closed) for event in node.seen] == [(2, 1), (1, 0)]
    assert node.get(SystemCounter.CLIENT_TIMEOUTS) == 1


def test_a_stream_that_its_client_s_death_left_ends_at_once_when_it_is_read(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    subscriber = node.join(world, publication)
    appender.append(b"read")
    subscriber.poll()
    world.run(MS)
    node.close_publication(publication, abandoned=True)
    world.settle()
    assert [event.type for event in node.seen[-1:]] == [EventType.PUBLICATION_LINGER]
    world.run(10 * MS)
    assert [event.type for event in node.seen[-2:]] == [EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED]


def test_a_stream_that_its_client_s_death_left_waits_for_its_readers(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = node.publish_ipc()
    node.join(world, publication)
    appender.append(b"not read")
    node.close_publication(publication, abandoned=True)
    world.run(100 * MS)
    assert publication.state == PublicationState.DRAINING


def test_a_revoked_stream_that_its_client_s_death_left_is_let_go_of_once(world: SimulatedWorld, node: AgentHost) -> None:
    publication, _ = node.publish_ipc()
    publication.revoke()
    world.run(30 * MS)
    assert publication.state == PublicationState.LINGER
    node.close_publication(publication, abandoned=True)
    world.run(100 * MS)
    ends = [event.type for event in node.seen if event.type in {EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED}]
    assert ends == [EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED]


def test_a_closed_publication_does_not_wait_for_an_untethered_subscriber_that_has_lost_it(world: SimulatedWorld, node: AgentHost) -> None:
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=200 * MS, resting_ns=100 * MS)
    publication, appender = node.publish_ipc(untethered=times)
    fast = node.join(world, publication)
    node.join(world, publication, Tether.REJOINS)
    while EventType.SUBSCRIBER_UNAVAILABLE not in node.kinds():
        while appender.append(bytes(1000)) > 0:
            pass
        world.run(10 * MS)
        fast.poll()
    node.close_publication(publication)
    world.run(100 * MS)
    fast.poll()
    assert publication.state == PublicationState.DRAINING  # its client may still read what it has
    world.run(200 * MS)
    assert publication.state == PublicationState.DONE
