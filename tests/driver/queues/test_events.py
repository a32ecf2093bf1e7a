"""The two queues between conductor and agents: order, limits and who keeps what alive."""

from __future__ import annotations

import gc
import weakref

import pytest

from aerowire.agents.command_queue import AgentCommand, AgentQueueFullError
from aerowire.driver.agents import conductor_agent
from aerowire.driver.queues.events import EventQueue, EventType
from aerowire.driver.streams.ipc_publication import IpcPublication
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

LIMIT_ID, POSITION_ID = 61, 62  # of all publications and subscribers: there are more of them than counters


@pytest.fixture
def node(world: SimulatedWorld) -> AgentHost:
    return world.add(AgentHost(world.clock))


def publish(node: AgentHost) -> IpcPublication:
    publication, _ = node.publish_ipc(limit_id=LIMIT_ID)
    return publication


def test_a_full_command_queue_refuses_and_keeps_nothing(node: AgentHost) -> None:
    publication = publish(node)
    while node.conductor_agent.free_commands:
        node.link(publication, position_id=POSITION_ID)
    held = node.events.held_count
    with pytest.raises(AgentQueueFullError, match="1024"):
        node.conductor_agent.put(AgentCommand(conductor_agent.UNLINK_SUBSCRIBER, publication, hold=True, awaits=True))
    assert node.events.held_count == held


def test_more_ends_than_the_event_queue_holds_are_all_told(node: AgentHost, world: SimulatedWorld) -> None:
    publications = []
    for _ in range(1_500):
        publications.append(publish(node))
        if node.conductor_agent.free_commands < 10:
            world.settle()
    world.settle()
    for publication in publications:
        node.close_publication(publication)
        if node.conductor_agent.free_commands < 10:
            node.invoker.invoke()
    for _ in range(100):  # time passes in the agents while the conductor sleeps
        world.clock.advance(10_000_000)
        node.invoker.invoke()
    world.run(500_000_000)
    for kind in (EventType.PUBLICATION_LINGER, EventType.PUBLICATION_DONE, EventType.PUBLICATION_REMOVED):
        assert sum(event.type is kind for event in node.seen) == 1_500
    assert node.events.held_count == 0


def test_commands_that_come_after_the_end_find_their_object_alive(node: AgentHost, world: SimulatedWorld) -> None:
    publication = publish(node)
    node.close_publication(publication)
    world.run(200_000_000)
    assert node.seen[-1].type is EventType.PUBLICATION_REMOVED
    reader = node.link(publication, position_id=POSITION_ID)
    node.unlink(publication, reader)
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
def test_capacity_is_a_power_of_two_with_room_for_the_reserves(capacity: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        EventQueue(capacity)


def test_waiting_ends_with_a_wake_or_its_time() -> None:
    events = EventQueue()
    assert not events.sleep(1_000_000)
    events.wake()
    assert events.sleep(10_000_000_000)
    assert not events.sleep(1_000_000)
