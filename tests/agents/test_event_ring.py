"""The ring of events: records of any struct that begins with its header, bounded room, and a count of all that found none."""

from __future__ import annotations

import random
from array import array
from typing import Any

import pytest

from aerowire.agents.command_queue import AgentCommand
from aerowire.agents.event_ring import EventRing
from aerowire.base.idle import YieldingIdleStrategy
from aerowire.base.runner import AgentInvoker, AgentRunner
from aerowire.system.clock import ManualClock, SystemClock
from tests.support.waiting import wait_until

HEADER = 24  # bytes of an EventHeader


@pytest.mark.parametrize("capacity", [0, 1, 64, 100, 192])
def test_a_capacity_is_a_power_of_two_with_room_for_answers(tally: Any, capacity: int) -> None:
    with pytest.raises(ValueError, match=f"power of two of at least 128, actual {capacity}"):
        tally.TallyRing(capacity)


@pytest.mark.parametrize("length", [0, 8, HEADER - 8, HEADER + 4])
def test_a_record_holds_its_header_and_whole_words(tally: Any, length: int) -> None:
    with pytest.raises(ValueError, match=f"multiple of 8 of at least {HEADER} bytes, actual {length}"):
        tally.TallyRing(128, length)


def test_a_ring_without_records_is_empty() -> None:
    ring = EventRing()
    assert not ring.is_pending()
    assert ring.poll() == []
    assert not ring.sleep(1_000)


def test_an_event_of_a_header_alone_is_its_code_and_its_subject(tally: Any) -> None:
    ring, subject = tally.HeaderRing(), object()
    assert ring.post(5, subject)
    assert ring.post(6, None)
    assert ring.is_pending()
    assert ring.poll() == [(5, subject), (6, None)]


def test_a_limit_leaves_the_later_events(tally: Any) -> None:
    ring = tally.HeaderRing()
    for code in range(5):
        ring.post(code, None)
    assert [code for code, _ in ring.poll(2)] == [0, 1]
    assert [code for code, _ in ring.poll(0)] == []
    assert [code for code, _ in ring.poll()] == [2, 3, 4]


def test_posting_and_polling_at_random_is_a_bounded_queue(tally: Any, seed: int) -> None:
    """The ring against a list: the same events in the same order, and refusals exactly where the list is full."""
    draw = random.Random(seed)
    ring, twin, refused = tally.HeaderRing(), list[int](), 0
    for code in range(20_000):
        if draw.random() < 0.55:
            assert ring.post(code & 0xFF, None) is (len(twin) < 128)
            if len(twin) < 128:
                twin.append(code & 0xFF)
            else:
                refused += 1
        else:
            limit = draw.randrange(3)
            assert [found for found, _ in ring.poll(limit)] == twin[:limit]
            del twin[:limit]
        assert ring.refused_count == refused
        assert ring.is_pending() is bool(twin)
    assert refused > 0


def test_what_finds_no_room_is_counted_in_the_ring_and_in_the_counter_that_it_was_given(tally: Any) -> None:
    ring, counter = tally.TallyRing(128), array("q", [1_000])
    ring.count_in(counter)
    agent = tally.Tally(ring, SystemClock())
    invoker = AgentInvoker([agent], ManualClock(now_ns=1_000, epoch_ms=1_700_000_000_000))
    invoker.start()
    agent.put(AgentCommand(tally.POST_TICKS, None, 200))
    invoker.invoke()
    assert (ring.refused_count, counter[0]) == (72, 1_072)
    assert [value for _, _, value in ring.poll(1_000)] == list(range(128))


def test_an_event_ends_a_sleep(tally: Any) -> None:
    ring = tally.HeaderRing()
    ring.post(1, None)
    assert ring.sleep(10_000_000_000)
    ring.poll()
    assert not ring.sleep(1_000)
    ring.wake()
    assert ring.sleep(10_000_000_000)


@pytest.mark.threads
def test_events_of_several_threads_keep_each_threads_order_and_the_refused_are_counted(tally: Any) -> None:
    ring = tally.TallyRing(256)
    agents = [tally.Tally(ring, SystemClock()) for _ in range(3)]
    runners = [AgentRunner([agent], SystemClock(), YieldingIdleStrategy()).start() for agent in agents]
    offered, seen = 0, list[int]()
    for number in range(600):
        who, base = number % 3, (number // 3) * 10
        agents[who].forget_taken()
        agents[who].put(AgentCommand(tally.POST_TICKS, None, 10, value=who * 1_000_000 + base))
        offered += 10
        if number % 7 == 0:
            seen += [value for _, _, value in ring.poll()]

    def poll() -> None:
        seen.extend(value for _, _, value in ring.poll())

    wait_until(lambda: len(seen) + ring.refused_count == offered, lambda: (len(seen), ring.refused_count), work=poll)
    assert all(runner.stop() for runner in runners)
    assert len(set(seen)) == len(seen)
    for who in range(3):
        own = [value for value in seen if value // 1_000_000 == who]
        assert own == sorted(own)


@pytest.mark.threads
def test_an_agents_thread_wakes_the_conductor(tally: Any) -> None:
    ring = tally.TallyRing(128)
    agent = tally.Tally(ring, SystemClock())
    with AgentRunner([agent], SystemClock(), YieldingIdleStrategy()):
        for number in range(50):
            agent.forget_taken()
            agent.put(AgentCommand(tally.ADD_NUMBERS, None, number))
            assert ring.sleep(60_000_000_000)
            assert [value for _, _, value in ring.poll()] == [number]
