"""Spies on a network publication: where they join, what waits for them, and what they stand for when nobody else listens."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.driver.queues.events import EventType
from aerowire.driver.streams.network_publication import NetworkPublication
from aerowire.driver.streams.untethered_subscriptions import Tether
from aerowire.logbuffer.append import Appender
from aerowire.protocol.lifecycle import PublicationState
from aerowire.protocol.untethered import UntetheredTimes
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import MS, SECOND, TERM, WINDOW, AgentHost

PAYLOAD = bytes(1000)
FRAME = 1056
PEER = ("10.0.0.2", 40123)
TETHER_EVENTS = {EventType.SUBSCRIBER_UNAVAILABLE, EventType.SUBSCRIBER_AVAILABLE, EventType.SUBSCRIBER_DROPPED}


@pytest.fixture
def node(world: SimulatedWorld) -> AgentHost:
    return world.add(AgentHost(world.clock))


def publish(world: SimulatedWorld, node: AgentHost, **options: Any) -> tuple[NetworkPublication, Appender]:
    port = world.network.open_port(("10.0.0.1", 40001), PEER)
    return node.publish(node.send_endpoint(port), **options)


def fill(appender: Appender) -> int:
    count = 0
    while appender.append(PAYLOAD) > 0:
        count += 1
    return count


def test_a_spy_alone_connects_nobody(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = publish(world, node)
    node.join(world, publication)
    world.run(50 * MS)
    assert not publication.is_connected
    assert appender.append(PAYLOAD) < 0


def test_a_spy_that_simulates_a_connection_carries_the_stream_by_itself(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = publish(world, node, spies_simulate_connection=True)
    reader = node.join(world, publication)
    assert publication.is_connected
    sent = 0
    while publication.producer_position < 4 * TERM:  # over the terms' edges and round the log
        sent += fill(appender)
        reader.poll()
        world.run(2 * MS)
    assert len(reader.fragments) == sent
    assert publication.consumer_position == publication.producer_position


def test_a_slow_spy_holds_the_publisher_back(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = publish(world, node, spies_simulate_connection=True)
    fast, slow = (node.join(world, publication) for _ in range(2))
    fill(appender)
    fast.poll()
    world.run(2 * MS)
    assert appender.append(PAYLOAD) < 0
    slow.poll()
    world.run(2 * MS)
    assert appender.append(PAYLOAD) > 0


def test_a_late_spy_joins_where_the_sender_is(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = publish(world, node, spies_simulate_connection=True)
    first = node.join(world, publication)
    for _ in range(5):
        appender.append(PAYLOAD)
    first.poll()
    world.run(2 * MS)
    late = node.join(world, publication)
    assert node.counters.value(late.position_id) == publication.consumer_position == 5 * FRAME


def test_the_last_spy_that_leaves_disconnects(world: SimulatedWorld, node: AgentHost) -> None:
    publication, _ = publish(world, node, spies_simulate_connection=True)
    reader = node.join(world, publication)
    node.unlink(publication, reader)
    world.settle()
    assert not publication.is_connected


def test_a_closed_stream_waits_until_its_spies_have_read_all(world: SimulatedWorld, node: AgentHost) -> None:
    publication, appender = publish(world, node, spies_simulate_connection=True)
    reader = node.join(world, publication)
    appender.append(PAYLOAD)
    node.close_publication(publication)
    world.run(100 * MS)
    assert publication.state == PublicationState.DRAINING
    reader.poll()
    world.run(100 * MS)
    assert publication.state == PublicationState.LINGER
    assert EventType.PUBLICATION_LINGER in node.kinds()


def test_an_untethered_spy_goes_through_its_states(world: SimulatedWorld, node: AgentHost) -> None:
    times = UntetheredTimes(window_limit_ns=500 * MS, linger_ns=300 * MS, resting_ns=1 * SECOND)
    publication, appender = publish(world, node, spies_simulate_connection=True, untethered=times)
    fast = node.join(world, publication)
    slow = node.join(world, publication, Tether.REJOINS)

    def events() -> list[tuple[EventType, int]]:
        return [(event.type, event.position_id) for event in node.seen if event.type in TETHER_EVENTS]

    def drive(duration_ns: int) -> None:
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


def test_an_untethered_spy_that_does_not_rejoin_is_dropped(world: SimulatedWorld, node: AgentHost) -> None:
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=100 * MS, resting_ns=100 * MS)
    publication, appender = publish(world, node, spies_simulate_connection=True, untethered=times)
    fast = node.join(world, publication)
    slow = node.join(world, publication, Tether.LEAVES)
    for _ in range(100):
        fill(appender)
        fast.poll()
        world.run(10 * MS)
    told = [(event.type, event.position_id) for event in node.seen if event.type in TETHER_EVENTS]
    assert told == [(EventType.SUBSCRIBER_UNAVAILABLE, slow.position_id), (EventType.SUBSCRIBER_DROPPED, slow.position_id)]


@pytest.mark.parametrize("tether", [Tether.REJOINS, Tether.LEAVES])
def test_a_closed_stream_does_not_wait_for_an_untethered_spy_that_has_lost_it(
    world: SimulatedWorld, node: AgentHost, tether: Tether
) -> None:
    times = UntetheredTimes(window_limit_ns=100 * MS, linger_ns=200 * MS, resting_ns=100 * MS)
    publication, appender = publish(world, node, spies_simulate_connection=True, untethered=times)
    fast = node.join(world, publication)
    node.join(world, publication, tether)
    while EventType.SUBSCRIBER_UNAVAILABLE not in node.kinds():
        fill(appender)
        fast.poll()
        world.run(10 * MS)
    node.close_publication(publication)
    world.run(100 * MS)
    fast.poll()
    assert publication.state == PublicationState.DRAINING  # its client may still read what it has
    world.run(200 * MS)
    assert publication.state == PublicationState.LINGER
