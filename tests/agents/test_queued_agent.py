"""A native agent that is built on the package: the order of its commands, the room for its answers, and the life of what it works on."""

from __future__ import annotations

import gc
import random
import weakref
from typing import Any

import pytest

from aerowire.agents.agent_proxy import AgentProxy
from aerowire.agents.command_queue import AgentCommand, AgentQueueFullError
from aerowire.agents.queued_agent import QueuedAgent
from aerowire.base.idle import YieldingIdleStrategy
from aerowire.base.runner import AgentInvoker, AgentRunner
from aerowire.system.clock import ManualClock, SystemClock
from tests.support.waiting import wait_until

CAPACITY = 128
RESERVE = 64  # records that the ring keeps for answers
PER_CYCLE = 16
QUEUE = 1024


class Host:
    """A tally agent, its ring, and the thread of this test as its own."""

    def __init__(self, tally: Any) -> None:
        self.tally = tally
        self.clock = ManualClock(now_ns=1_000, epoch_ms=1_700_000_000_000)
        self.ring = tally.TallyRing(CAPACITY)
        self.agent = tally.Tally(self.ring, self.clock)
        self.invoker = AgentInvoker([self.agent], self.clock)
        self.invoker.start()

    def add(self, number: int) -> Any:
        item = self.tally.Item(number)
        self.agent.put(AgentCommand(self.tally.ADD_ITEM, item, hold=True))
        return item

    def remove(self, item: Any) -> None:
        self.agent.put(AgentCommand(self.tally.REMOVE_ITEM, item))

    def ask(self, subject: object, a: int, b: int = 0, value: int = 0) -> None:
        self.agent.put(AgentCommand(self.tally.ADD_NUMBERS, subject, a, b, value=value, awaits=True))

    def tick(self, count: int) -> None:
        self.agent.put(AgentCommand(self.tally.POST_TICKS, None, count))


@pytest.fixture
def host(tally: Any) -> Host:
    return Host(tally)


def test_commands_are_taken_in_their_order_and_sixteen_in_a_cycle(host: Host) -> None:
    for number in range(PER_CYCLE + 4):
        host.ask(host, number, 1, value=1 << 40)
    assert host.invoker.invoke() == PER_CYCLE
    assert host.invoker.invoke() == 4
    sums = [value for code, _, value in host.ring.poll() if code == host.tally.NUMBERS_ADDED]
    assert sums == [number + 1 + (1 << 40) for number in range(PER_CYCLE + 4)]


def test_an_item_gets_a_turn_in_the_cycle_that_takes_it_and_in_none_after_its_end(host: Host) -> None:
    first, second = host.add(1), host.add(2)
    host.invoker.invoke()
    host.invoker.invoke()
    host.remove(first)
    for _ in range(3):
        host.invoker.invoke()
    host.remove(second)
    host.invoker.invoke()
    assert host.ring.poll() == [(host.tally.ITEM_REMOVED, first, 2), (host.tally.ITEM_REMOVED, second, 5)]
    assert host.agent.broken == 0


def test_what_was_added_lives_until_its_final_event_was_polled(host: Host) -> None:
    item = host.add(1)
    alive = weakref.ref(item)
    host.remove(item)
    del item
    host.invoker.invoke()
    host.agent.forget_taken()
    gc.collect()
    assert alive() is not None
    assert host.ring.held_count == 1
    host.ring.poll()
    gc.collect()
    assert alive() is None
    assert host.ring.held_count == 0


def test_what_a_command_names_lives_until_the_agent_has_taken_it(host: Host) -> None:
    item = host.tally.Item(7)
    alive = weakref.ref(item)
    host.remove(item)  # one that was never added: no answer, and nothing holds it but the queue
    del item
    gc.collect()
    assert alive() is not None
    host.invoker.invoke()
    host.agent.forget_taken()
    assert alive() is None


def test_an_answer_holds_its_subject_beyond_the_final_event(host: Host) -> None:
    item = host.add(1)
    alive = weakref.ref(item)
    host.remove(item)
    host.invoker.invoke()
    host.ask(item, 1)
    host.ask(item, 2)
    del item
    assert [code for code, _, _ in host.ring.poll()] == [host.tally.ITEM_REMOVED]
    assert host.ring.held_count == 1
    host.invoker.invoke()
    host.agent.forget_taken()
    gc.collect()
    assert alive() is not None
    assert [value for _, _, value in host.ring.poll()] == [1, 2]
    gc.collect()
    assert alive() is None


def test_no_command_is_taken_while_its_answer_might_not_fit(host: Host) -> None:
    host.tick(CAPACITY - RESERVE - 1)
    for number in range(3):
        host.ask(host, number)
    # The first leaves room for one answer more than is kept.
    assert host.invoker.invoke() == 2
    assert host.invoker.invoke() == 0
    assert host.agent.free_commands == QUEUE - 2
    assert host.ring.refused_count == 0
    assert len(host.ring.poll(1)) == 1
    assert host.invoker.invoke() == 1
    host.ring.poll()
    host.ring.poll()
    assert host.invoker.invoke() == 1
    assert host.agent.lost == 0


def test_a_full_queue_refuses_and_keeps_nothing(host: Host) -> None:
    for _ in range(QUEUE):
        host.tick(0)
    item = host.tally.Item(1)
    alive = weakref.ref(item)
    with pytest.raises(AgentQueueFullError, match="fewer than 1024 waiting commands"):
        host.agent.put(AgentCommand(host.tally.ADD_ITEM, item, hold=True, awaits=True))
    assert host.ring.held_count == 0
    del item
    gc.collect()
    assert alive() is None


def test_a_proxy_brings_more_commands_than_the_queue_holds(host: Host) -> None:
    proxy = AgentProxy(host.agent)
    items = [host.tally.Item(number) for number in range(3 * QUEUE)]
    for item in items:
        proxy.put(AgentCommand(host.tally.ADD_ITEM, item, hold=True))
    assert not proxy.is_open
    while proxy.flush() or host.invoker.invoke():
        pass
    assert host.agent.items == list(range(3 * QUEUE))
    assert proxy.is_open


def test_cycles_are_measured_from_the_start_on(host: Host) -> None:
    host.clock.advance(900_000)
    host.invoker.invoke()
    assert host.agent.cycles == (900_000, 0)
    for elapsed_ns in (1_000_000, 1_000_001, 5_000_000, 10):
        host.clock.advance(elapsed_ns)
        host.invoker.invoke()
    assert host.agent.cycles == (5_000_000, 2)


def test_an_agent_without_a_ring_takes_no_commands() -> None:
    with pytest.raises(TypeError, match="QueuedAgent takes no commands"):
        QueuedAgent().put(AgentCommand(1))


@pytest.mark.threads
def test_nothing_that_an_agent_works_on_is_freed_while_it_runs(tally: Any, seed: int) -> None:
    """Items come and go at random while the agent's own thread touches each of them in every cycle."""
    draw = random.Random(seed)
    ring = tally.TallyRing(1024)
    agent = tally.Tally(ring, SystemClock())
    proxy = AgentProxy(agent)
    living: dict[int, Any] = {}
    removed: list[int] = []

    def poll() -> None:
        removed.extend(subject.number for code, subject, _ in ring.poll() if code == tally.ITEM_REMOVED)
        proxy.flush()

    with AgentRunner([agent], SystemClock(), YieldingIdleStrategy()):
        for number in range(4_000):
            living[number] = tally.Item(number)
            proxy.put(AgentCommand(tally.ADD_ITEM, living[number], hold=True))
            if len(living) > 20:
                proxy.put(AgentCommand(tally.REMOVE_ITEM, living.pop(draw.choice(list(living)))))
            if draw.random() < 0.05:
                poll()
        wait_until(lambda: len(removed) == 4_000 - len(living), lambda: len(removed), work=poll)
        for item in living.values():
            proxy.put(AgentCommand(tally.REMOVE_ITEM, item))
        living.clear()
        wait_until(lambda: len(removed) == 4_000, lambda: len(removed), work=poll)
    assert (agent.broken, agent.lost, agent.items) == (0, 0, [])
    assert sorted(removed) == list(range(4_000))
    assert ring.held_count == 0
