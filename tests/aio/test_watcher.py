"""The watcher over plain memory: what fires, when, and that nothing is lost however arming, writing and looking fall together."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from aerowire.aio.parking import Parking
from aerowire.aio.watcher import FRAME, I32_CHANGE, I64_ABOVE, I64_CHANGE, Watcher
from aerowire.base.errors import AerowireError
from aerowire.base.runner import AgentInvoker, AgentRunner
from aerowire.system.clock import SystemClock
from aerowire.system.wakeup import Wakeup

LONG_NS = 60_000_000_000


class Looking:
    """A watcher whose looks are the test's own."""

    def __init__(self, capacity: int = 8) -> None:
        self.bell = Wakeup()
        self.watcher = Watcher(self.bell, capacity=capacity)
        self.invoker = AgentInvoker([self.watcher], SystemClock())
        self.invoker.start()

    def look(self) -> list[int]:
        self.invoker.invoke()
        self.bell.drain()
        return self.watcher.take_fired()


@pytest.fixture
def looking() -> Iterator[Looking]:
    looking = Looking()
    yield looking
    looking.invoker.close()
    looking.bell.close()


@pytest.mark.parametrize(
    ("condition", "before", "value", "still", "after"),
    [
        (FRAME, 0, 0, -96, 96),
        (I32_CHANGE, 1, 1, 1, 0),
        (I64_CHANGE, 7, 7, 7, 8),
        (I64_ABOVE, 100, 100, 99, 101),
    ],
)
def test_fires_once_when_its_condition_comes_true(
    looking: Looking, condition: int, before: int, value: int, still: int, after: int
) -> None:
    memory = np.zeros(8, dtype=np.int32 if condition in (FRAME, I32_CHANGE) else np.int64)
    memory[3] = before
    watch = looking.watcher.add()
    looking.watcher.arm_memory(watch, condition, memory, 3 * memory.itemsize, value)
    assert looking.look() == []
    memory[3] = still
    assert looking.look() == []
    memory[3] = after
    assert looking.look() == [watch]
    assert looking.look() == []
    assert not looking.watcher.is_armed(watch)


def test_fires_for_what_was_true_before_it_was_armed(looking: Looking) -> None:
    watch = looking.watcher.add()
    looking.watcher.arm_memory(watch, I64_ABOVE, np.array([5], dtype=np.int64), 0, 4)
    assert looking.look() == [watch]


def test_rings_only_when_something_has_fired(looking: Looking) -> None:
    memory = np.zeros(1, dtype=np.int64)
    looking.watcher.arm_memory(looking.watcher.add(), I64_CHANGE, memory)
    looking.invoker.invoke()
    assert not looking.bell.signalled
    memory[0] = 1
    looking.invoker.invoke()
    assert looking.bell.signalled


def test_a_disarmed_watch_does_not_fire(looking: Looking) -> None:
    memory = np.zeros(1, dtype=np.int64)
    watch = looking.watcher.add()
    looking.watcher.arm_memory(watch, I64_CHANGE, memory)
    looking.watcher.disarm(watch)
    memory[0] = 1
    assert looking.look() == []


def test_keeps_memory_until_a_look_has_passed_since_the_removal(looking: Looking) -> None:
    class Memory(np.ndarray[Any, Any]):  # an array that can be weakly referenced
        pass

    memory = np.zeros(1, dtype=np.int64).view(Memory)
    gone = weakref.ref(memory)
    watch = looking.watcher.add()
    looking.watcher.arm_memory(watch, I64_CHANGE, memory)
    del memory
    looking.look()
    looking.watcher.remove(watch)
    assert looking.watcher.purge() == 1
    gc.collect()
    assert gone() is not None
    looking.look()
    assert looking.watcher.purge() == 0
    gc.collect()
    assert gone() is None
    assert looking.watcher.add() == watch


def test_says_when_no_watch_is_left() -> None:
    looking = Looking(capacity=2)
    watches = [looking.watcher.add(), looking.watcher.add()]
    with pytest.raises(AerowireError, match="no watch is left"):
        looking.watcher.add()
    looking.watcher.remove(watches[0])
    looking.look()
    assert looking.watcher.add() == watches[0]


def test_a_loop_that_does_not_take_what_fired_loses_nothing() -> None:
    looking = Looking(capacity=2)
    memory = np.ones(1, dtype=np.int64)
    watch = looking.watcher.add()
    for _ in range(10):  # the record of what fired has room for four
        looking.watcher.arm_memory(watch, I64_CHANGE, memory, 0, 0)
        looking.invoker.invoke()
    assert looking.watcher.is_armed(watch)
    assert looking.watcher.take_fired() == [watch] * 4
    assert looking.look() == [watch]


def test_refuses_memory_that_it_must_not_read(looking: Looking) -> None:
    memory = np.zeros(2, dtype=np.int64)
    watch = looking.watcher.add()
    for offset in (-8, 4, 9, 16):
        with pytest.raises(ValueError, match="is not that of 8 aligned bytes"):
            looking.watcher.arm_memory(watch, I64_CHANGE, memory, offset)
    with pytest.raises(IndexError):
        looking.watcher.arm_memory(5, I64_CHANGE, memory)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2)),
        st.tuples(st.just("arm"), st.integers(0, 2)),
        st.tuples(st.just("disarm"), st.integers(0, 2)),
        st.tuples(st.just("look"), st.just(0)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_fires_as_its_dumb_twin_does_in_any_order_of_steps(steps: list[tuple[str, int]]) -> None:
    """The twin: an armed watch whose number has changed since fires at the next look, once."""
    looking = Looking()
    numbers = np.zeros(3, dtype=np.int64)
    watches = [looking.watcher.add() for _ in range(3)]
    armed: dict[int, int] = {}
    for step, index in steps:
        if step == "write":
            numbers[index] += 1
        elif step == "arm":
            armed[index] = int(numbers[index])
            looking.watcher.arm_memory(watches[index], I64_CHANGE, numbers, 8 * index, armed[index])
        elif step == "disarm":
            armed.pop(index, None)
            looking.watcher.disarm(watches[index])
        else:
            due = [index for index, seen in sorted(armed.items()) if numbers[index] != seen]
            assert looking.look() == [watches[index] for index in due]
            armed = {index: seen for index, seen in armed.items() if index not in due}


def wake(watcher: Watcher, watch: int, number: np.ndarray[Any, Any], seen: int) -> None:
    """Arm for a change of `number` from `seen` and sleep until the watcher rings."""
    watcher.arm_memory(watch, I64_CHANGE, number, 0, seen)
    assert watcher.bell.wait(10.0), f"no wake-up for the change from {seen} to {number[0]}"
    watcher.bell.drain()
    assert watcher.take_fired() == [watch]


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])  # each smaller example would take the time limit again
@given(st.lists(st.integers(0, 20_000), min_size=200, max_size=400))
def test_arming_wakes_a_watcher_that_would_rest_for_a_minute(delays_ns: list[int]) -> None:
    """What is armed is true already, and the watcher rests for a minute when it has looked and nothing was armed: only the call that
    comes with the arming can wake it, however the two fall together. It goes to rest some 40 us after the last firing."""
    parking = Parking(rest_max_ns=LONG_NS, rest_min_ns=LONG_NS)
    watcher = Watcher(Wakeup(), capacity=1, parking=parking)
    number = np.ones(1, dtype=np.int64)
    watch = watcher.add()
    with AgentRunner([watcher], SystemClock(), parking) as runner:
        try:
            for delay_ns in delays_ns:
                armed_ns = time.perf_counter_ns()
                watcher.arm_memory(watch, I64_CHANGE, number)
                while not watcher.take_fired():
                    assert time.perf_counter_ns() < armed_ns + 10_000_000_000, "the watcher has slept over an arming"
                due_ns = time.perf_counter_ns() + 30_000 + delay_ns
                while time.perf_counter_ns() < due_ns:
                    pass
        finally:
            while runner.is_running:  # it may go to rest between the call and the stop
                parking.ring()
                runner.stop(0.01)
    watcher.bell.close()


@pytest.mark.parametrize("arms_by", ["an arming", "a ring"])
def test_a_watcher_that_was_called_between_its_look_and_its_rest_does_not_rest(arms_by: str) -> None:
    """The caller finds nobody to ring for, since the watcher has not said yet that it rests: it has to look again once it has said so."""
    rest_ns = 10_000_000_000
    parking = Parking(rest_max_ns=rest_ns, rest_min_ns=rest_ns)
    watcher = Watcher(Wakeup(), capacity=1, parking=parking)
    invoker = AgentInvoker([watcher], SystemClock())
    invoker.start()
    number = np.ones(1, dtype=np.int64)
    watch = watcher.add()
    invoker.invoke()
    quiet_ns = time.perf_counter_ns() + 1_000_000  # more than the watcher spins and yields
    while time.perf_counter_ns() < quiet_ns:
        pass
    if arms_by == "an arming":
        watcher.arm_memory(watch, I64_CHANGE, number)
    else:
        parking.ring()
    begun_ns = time.perf_counter_ns()
    parking(0)
    assert time.perf_counter_ns() - begun_ns < rest_ns
    invoker.invoke()
    assert watcher.take_fired() == ([watch] if arms_by == "an arming" else [])
    invoker.close()
    watcher.bell.close()


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 0, 0, 20e-6, 300e-6, 2e-3]), st.sampled_from([0, 0, 50e-6, 1e-3])), min_size=20, max_size=40))
def test_no_change_is_missed_between_threads(turns: list[tuple[float, float]]) -> None:
    """One thread counts up and waits until it is answered; the other sleeps on the bell alone."""
    watcher = Watcher(Wakeup(), capacity=4)
    numbers = np.zeros(2, dtype=np.int64)
    watch = watcher.add()

    def write() -> None:
        for index, (pause, _) in enumerate(turns):
            while numbers[1] < index:
                time.sleep(0)
            time.sleep(pause)
            numbers[0] = index + 1

    writer = threading.Thread(target=write, daemon=True)
    with AgentRunner([watcher], SystemClock(), watcher.parking):
        writer.start()
        seen = 0
        while seen < len(turns):
            wake(watcher, watch, numbers, seen)
            seen = int(numbers[0])
            time.sleep(turns[seen - 1][1])
            numbers[1] = seen
        watcher.parking.ring()
    writer.join()
    watcher.bell.close()
