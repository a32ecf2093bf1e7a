"""The two queues between conductor and agents: order, limits and who keeps what alive."""

from __future__ import annotations

import gc
import itertools
import weakref

import pytest

from aerowire.driver.queues.commands import AgentQueueFullError
from aerowire.driver.queues.events import EventQueue, EventType
from aerowire.driver.streams.ipc_publication import IpcPublication

SESSION, STREAM = 77, 1001
registrations = itertools.count(1)


@pytest.fixture
def node(world):
    return world.node()


def publish(node) -> IpcPublication:
    publication = IpcPublication(
        node.log(initial_term_id=0, kind=0),
        node.counters,
        node.system,
        registration_id=next(registrations),
        session_id=SESSION,
        stream_id=STREAM,
        initial_term_id=0,
        publisher_position_id=60,
        publisher_limit_id=61,
        mtu=1408,
        publication_window=1 << 15,
        exclusive=False,
        now_ns=node.clock.now_ns(),
    )
    node.conductor_agent.add_publication(publication)
    return publication


def test_a_full_command_queue_refuses_and_keeps_nothing(node):
    publication = publish(node)
    while node.conductor_agent.free_commands:
        node.conductor_agent.link_subscriber(publication, 62, 1)
    held = node.events.held_count
    with pytest.raises(AgentQueueFullError, match="1024"):
        node.conductor_agent.close_publication(publication)
    assert node.events.held_count == held


def test_more_ends_than_the_event_queue_holds_are_all_told(node, world):
    publications = []
    for _ in range(1_500):
        publications.append(publish(node))
        if node.conductor_agent.free_commands < 10:
            world.settle()
    world.settle()
    for publication in publications:
        node.conductor_agent.close_publication(publication)
        if node.conductor_agent.free_commands < 10:
            node.invoker.invoke()
    for _ in range(100):  # time passes in the agents while the conductor sleeps
        world.clock.advance(10_000_000)
        node.invoker.invoke()
    world.run(500_000_000, 10_000_000)
    for kind in (EventType.PUBLICATION_LINGER, EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED):
        assert sum(event.type is kind for event in node.seen) == 1_500
    assert node.events.held_count == 0


def test_commands_that_come_after_the_end_find_their_object_alive(node, world):
    publication = publish(node)
    node.conductor_agent.close_publication(publication)
    world.run(200_000_000)
    assert node.seen[-1].type is EventType.PUBLICATION_REMOVED
    node.conductor_agent.link_subscriber(publication, 62, 1)
    node.conductor_agent.unlink_subscriber(publication, 62, 1)
    publication.log.close()
    gone = weakref.ref(publication)
    del publication
    node.seen.clear()
    gc.collect()
    assert gone() is not None
    world.settle()
    assert [(event.type, getattr(event, "accepted", 0)) for event in node.seen] == [
        (EventType.SUBSCRIBER_LINKED, 0),
        (EventType.SUBSCRIBER_UNLINKED, 0),
    ]
    assert node.events.held_count == 0


@pytest.mark.parametrize("capacity", [0, 100, 1000])
def test_capacity_is_a_power_of_two_with_room_for_the_reserves(capacity):
    with pytest.raises(ValueError, match="power of two"):
        EventQueue(capacity)


def test_waiting_ends_with_a_wake_or_its_time():
    events = EventQueue()
    assert not events.sleep(1_000_000)
    events.wake()
    assert events.sleep(10_000_000_000)
    assert not events.sleep(1_000_000)
