"""The contract that both timer services keep, and what each one says of order."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.cluster.timers.long_key_order import LongKeyOrder
from aerowire.cluster.timers.priority_heap_timer_service import PriorityHeapTimerService
from aerowire.cluster.timers.suppliers import timer_service_named
from aerowire.cluster.timers.timer_service import TimerHandler, TimerService
from aerowire.cluster.timers.wheel_timer_service import WheelTimerService
from tests.cluster.timers.schedules import TICK, TICKS_PER_WHEEL, TURN, Schedule, random_commands
from tests.conftest import SEED


def wheel(handler: TimerHandler) -> TimerService:
    return WheelTimerService(handler, tick_resolution=TICK, ticks_per_wheel=TICKS_PER_WHEEL)


@pytest.fixture(params=[wheel, PriorityHeapTimerService], ids=["wheel", "heap"])
def schedule(request: pytest.FixtureRequest) -> Schedule:
    make: Callable[[TimerHandler], TimerService] = request.param
    return Schedule(make)


def test_a_timer_expires_at_its_deadline(schedule: Schedule) -> None:
    schedule.service.schedule_timer(7, 100)
    assert schedule.poll_all(99) == []
    assert schedule.poll_all(100) == [7]
    assert schedule.poll_all(1_000) == []
    assert not list(schedule.service.snapshot())


def test_a_timer_that_is_scheduled_again_is_replaced(schedule: Schedule) -> None:
    for deadline in (50, 300, 200):
        schedule.service.schedule_timer(7, deadline)
    assert list(schedule.service.snapshot()) == [(7, 200)]
    assert schedule.poll_all(199) == []
    assert schedule.poll_all(200) == [7]


def test_a_cancelled_timer_does_not_expire(schedule: Schedule) -> None:
    schedule.service.schedule_timer(7, 50)
    assert schedule.service.cancel_timer(7)
    assert not schedule.service.cancel_timer(7)
    assert schedule.poll(1_000) == ([], 0)


def test_a_poll_ends_after_20_timers(schedule: Schedule) -> None:
    for correlation_id in range(45):
        schedule.service.schedule_timer(correlation_id, 50)
    counts = []
    while schedule.service.next_deadline() is not None:
        counts.append(schedule.poll(60)[1])
    assert counts == [20, 20, 5]


def test_a_timer_that_the_handler_refuses_stays_and_is_the_next_one(schedule: Schedule) -> None:
    for correlation_id in range(5):
        schedule.service.schedule_timer(correlation_id, 40 + correlation_id // 3)
    schedule.service.current_time(40)
    assert schedule.poll(48, taken_max=2) == ([0, 1], 2)
    assert schedule.poll(48, taken_max=0) == ([], 0)
    taken, count = schedule.poll(48, taken_max=1_000)
    assert (taken[0], sorted(taken), count) == (2, [2, 3, 4], 3)


def test_a_timer_that_is_late_expires_at_once(schedule: Schedule) -> None:
    schedule.service.current_time(1_000_000)
    schedule.service.schedule_timer(7, 3)
    assert schedule.poll(1_000_000) == ([7], 1)


def test_the_latest_deadline_is_never_reached(schedule: Schedule) -> None:
    schedule.service.schedule_timer(7, 2**63 - 1)
    schedule.service.schedule_timer(8, 2**63 - 1)
    assert schedule.poll(2**62) == ([], 0)
    assert sorted(schedule.service.snapshot()) == [(7, 2**63 - 1), (8, 2**63 - 1)]
    assert schedule.service.cancel_timer(7)
    assert list(schedule.service.snapshot()) == [(8, 2**63 - 1)]


def test_no_poll_is_needed_before_the_next_deadline(schedule: Schedule) -> None:
    random = Random(SEED)
    assert schedule.service.next_deadline() is None
    for command in random_commands(random, 1_500):
        schedule.execute(command)
        deadline = schedule.service.next_deadline()
        if deadline is not None and random.random() < 0.2:
            assert not schedule.poll_all(deadline - 1)
            assert schedule.poll_all(deadline)


def test_timers_are_those_of_a_plain_table(schedule: Schedule) -> None:
    random = Random(SEED)
    table: dict[int, int] = {}
    now = 0
    for _ in range(2_000):
        correlation_id = random.randrange(60)
        draw = random.random()
        if draw < 0.6:
            table[correlation_id] = now + random.randrange(-TICK, 2 * TURN)
            schedule.service.schedule_timer(correlation_id, table[correlation_id])
        elif draw < 0.8:
            assert schedule.service.cancel_timer(correlation_id) == (table.pop(correlation_id, None) is not None)
        else:
            now += random.randrange(TURN)
            taken = schedule.poll_all(now, taken_max=random.randrange(1, 30))
            assert sorted(taken) == sorted(each for each in table if table[each] <= now)
            for each in taken:
                del table[each]
        assert dict(schedule.service.snapshot()) == table


def test_a_heap_lets_timers_expire_by_their_deadlines() -> None:
    schedule = Schedule(PriorityHeapTimerService)
    for correlation_id, deadline in enumerate((15, 9, 12, 300, 10)):
        schedule.service.schedule_timer(correlation_id, deadline)
    assert schedule.poll(1_000) == ([1, 4, 2, 0, 3], 5)


def test_a_wheel_lets_timers_of_one_tick_expire_in_the_order_of_their_slots() -> None:
    schedule = Schedule(wheel)
    for correlation_id, deadline in enumerate((15, 9, 12, 8 + TURN, 10)):
        schedule.service.schedule_timer(correlation_id, deadline)
    schedule.service.cancel_timer(1)
    schedule.service.schedule_timer(5, 11)
    assert schedule.poll_all(16) == [0, 5, 2, 4]
    assert schedule.poll_all(7 + TURN) == []
    assert schedule.poll_all(8 + TURN) == [3]


def test_a_wheel_needs_another_poll_for_the_tick_that_it_has_come_to() -> None:
    schedule = Schedule(wheel)
    schedule.service.schedule_timer(7, 25)
    assert schedule.poll(25) == ([], 0)
    assert schedule.service.next_deadline() == 25
    assert schedule.poll(25) == ([7], 1)


def test_a_wheel_turns_at_once_over_a_time_in_which_nothing_is_due() -> None:
    schedule = Schedule(wheel)
    schedule.service.schedule_timer(7, 10**17)
    assert schedule.poll(10**16) == ([], 0)
    schedule.service.schedule_timer(8, 10**16 + 1)
    assert schedule.poll_all(10**16 + 1) == [8]


def test_keys_are_iterated_in_the_order_of_the_official_map() -> None:
    # As printed by Long2LongHashMap, into which the keys were put in this order, and from which 3 and 8 were removed.
    order = LongKeyOrder()
    for key in range(1, 13):
        order.add(key)
    order.remove(3)
    order.remove(8)
    assert list(order) == [2, 6, 4, 1, 7, 12, 9, 11, 5, 10]


def named(name: str, *, nanoseconds_per_unit: int) -> TimerService:
    return timer_service_named(
        f"io.aeron.cluster.{name}",
        "timer_service_supplier",
        lambda _: True,
        nanoseconds_per_unit=nanoseconds_per_unit,
        tick_resolution_ns=8_000_000,
        ticks_per_wheel=128,
    )


def test_ticks_have_a_power_of_two_of_units() -> None:
    for unit_ns, tick in ((1, 1 << 23), (1_000, 8_192), (1_000_000, 8), (10**9, 1)):
        service = named("WheelTimerServiceSupplier", nanoseconds_per_unit=unit_ns)
        service.schedule_timer(1, 0)
        service.current_time(tick * 10)
        assert service.next_deadline() == tick * 128


def test_a_timer_service_has_one_of_the_official_names() -> None:
    assert isinstance(named("PriorityHeapTimerServiceSupplier", nanoseconds_per_unit=1), PriorityHeapTimerService)
    with pytest.raises(ConfigurationError, match=r"at timer_service_supplier; expected .*; got 'io\.aeron\.cluster\.Timers'"):
        named("Timers", nanoseconds_per_unit=1)
    for tick, ticks in ((6, 8), (8, 0)):
        with pytest.raises(ConfigurationError, match="a power of two"):
            WheelTimerService(lambda _: True, tick_resolution=tick, ticks_per_wheel=ticks)
