"""Timers over changes of the leader: each expires once in the log, whoever leads and however far services are behind."""

from __future__ import annotations

from random import Random

import pytest

from aerowire.cluster.timers.cluster_timers import ClusterTimers
from aerowire.cluster.timers.priority_heap_timer_service import PriorityHeapTimerService
from aerowire.cluster.timers.timer_service import TimerHandler, TimerService
from aerowire.cluster.timers.wheel_timer_service import WheelTimerService
from tests.conftest import SEED


def wheel(handler: TimerHandler) -> TimerService:
    return WheelTimerService(handler, tick_resolution=8, ticks_per_wheel=8)


class Log:
    """A leader's log with room for some events, which are 64 bytes apart."""

    def __init__(self, room: int = 1_000) -> None:
        self.room = room
        self.events: list[int] = []

    def append(self, correlation_id: int) -> bool:
        if not self.room:
            return False
        self.room -= 1
        self.events.append(correlation_id)
        return True

    def poll(self, timers: ClusterTimers, now: int) -> int:
        """Append the events of expired timers, and tell their positions; return how many there were."""
        count = timers.poll(now)
        for number in range(len(self.events) - count, len(self.events)):
            timers.on_appended(64 * (number + 1))
        return count


@pytest.fixture(params=[wheel, PriorityHeapTimerService], ids=["wheel", "heap"])
def timers(request: pytest.FixtureRequest) -> tuple[ClusterTimers, Log]:
    log = Log()
    return ClusterTimers(request.param, log.append), log


def expire(timers: ClusterTimers, log: Log, now: int) -> None:
    while (deadline := timers.next_deadline()) is not None and deadline <= now:
        log.poll(timers, now)


def test_a_leader_appends_expired_timers(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    for correlation_id, deadline in ((1, 30), (2, 10), (3, 20)):
        member.on_schedule_timer(correlation_id, deadline)
    member.on_cancel_timer(3)
    expire(member, log, 30)
    assert log.events == [2, 1]
    assert member.snapshot() == ()


def test_a_timer_for_whose_event_there_is_no_room_stays(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    member.on_schedule_timer(1, 10)
    log.room = 0
    assert [log.poll(member, 20) for _ in range(4)] == [0, 0, 0, 0]
    assert member.snapshot() == ((1, 10),)
    log.room = 1
    expire(member, log, 20)
    assert log.events == [1]


def test_timers_that_the_log_does_not_have_are_due_again(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    for correlation_id in range(3):
        member.on_schedule_timer(correlation_id, 10 * correlation_id)
    expire(member, log, 30)
    member.on_commit_position(64)
    member.end_term(128)
    assert member.snapshot() == ((2, 0),)
    member.end_term(0)
    assert member.snapshot() == ((2, 0),)


def test_timers_whose_events_are_refused_are_due_again_when_the_term_ends(timers: tuple[ClusterTimers, Log]) -> None:
    member, _ = timers
    for correlation_id in range(3):
        member.on_schedule_timer(correlation_id, 10)
    assert sum(member.poll(30) for _ in range(5)) == 3
    member.on_appended(64)
    member.on_append_refused()
    member.on_append_refused()
    member.on_commit_position(64)
    assert member.snapshot() == ()
    member.end_term(64)
    assert sorted(member.snapshot()) == [(1, 0), (2, 0)]


def test_a_timer_that_is_cancelled_while_its_event_is_not_committed_stays_cancelled(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    for correlation_id in (1, 2):
        member.on_schedule_timer(correlation_id, 10)
    expire(member, log, 20)
    member.on_cancel_timer(2)
    member.end_term(0)
    assert member.snapshot() == ((1, 0),)


def test_a_timer_that_is_cancelled_while_its_event_is_appended_stays_cancelled(timers: tuple[ClusterTimers, Log]) -> None:
    member, _ = timers
    member.on_schedule_timer(1, 10)
    assert sum(member.poll(20) for _ in range(3)) == 1
    member.on_cancel_timer(1)
    member.on_append_refused()
    member.end_term(0)
    assert member.snapshot() == ()


def test_a_timer_that_is_scheduled_again_while_its_event_is_not_committed_keeps_its_deadline(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    member.on_schedule_timer(1, 10)
    expire(member, log, 20)
    member.on_schedule_timer(1, 500)
    member.end_term(0)
    assert member.snapshot() == ((1, 500),)


def test_the_latest_event_of_a_timer_that_expires_again_comes_back(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    member.on_schedule_timer(1, 10)
    expire(member, log, 20)
    member.on_schedule_timer(1, 30)
    expire(member, log, 40)
    member.on_commit_position(64)
    member.end_term(64)
    assert member.snapshot() == ((1, 0),)


def test_a_follower_removes_timers_that_the_log_has(timers: tuple[ClusterTimers, Log]) -> None:
    member, _ = timers
    member.on_schedule_timer(1, 10)
    member.on_timer_replayed(1)
    assert member.next_deadline() is None


def test_a_timer_that_the_log_had_before_its_service_is_over(timers: tuple[ClusterTimers, Log]) -> None:
    member, _ = timers
    member.on_timer_replayed(1)
    member.on_timer_replayed(1)
    for _ in range(2):
        member.on_schedule_timer(1, 10)
        assert member.snapshot() == ()
    member.on_schedule_timer(1, 10)
    assert member.snapshot() == ((1, 10),)


def test_timers_of_a_snapshot_go_on(timers: tuple[ClusterTimers, Log]) -> None:
    member, log = timers
    member.load([(1, 10), (2, 5)])
    member.current_time(1_000)
    expire(member, log, 1_200)
    assert sorted(log.events) == [1, 2]


def test_each_timer_is_in_the_log_once_whoever_leads() -> None:
    """Three members, whose services schedule the same timers at their own pace; an uncommitted tail is lost with its leader."""
    random = Random(SEED)
    log = Log()
    members = [ClusterTimers(random.choice([wheel, PriorityHeapTimerService]), log.append) for _ in range(3)]
    scheduled, seen, leader, commit, now = [0, 0, 0], [0, 0, 0], 0, 0, 0
    deadlines = [random.randrange(3_000) for _ in range(300)]
    for step in range(6_000):
        now += random.randrange(3)
        member = random.randrange(3)
        draw = random.random()
        if draw < 0.35 and scheduled[member] < len(deadlines):
            members[member].on_schedule_timer(scheduled[member], deadlines[scheduled[member]])
            scheduled[member] += 1
        elif draw < 0.7:
            log.room = random.randrange(4)
            log.poll(members[leader], now)
        elif draw < 0.97 or step > 5_000:
            commit = random.randrange(commit, len(log.events) + 1)
            members[leader].on_commit_position(64 * commit)
            if member != leader:
                for correlation_id in log.events[seen[member] : commit]:
                    members[member].on_timer_replayed(correlation_id)
                seen[member] = max(seen[member], commit)
        else:
            members[leader].end_term(64 * commit)
            seen[leader] = commit
            del log.events[commit:]
            leader = member
            for correlation_id in log.events[seen[leader] : commit]:
                members[leader].on_timer_replayed(correlation_id)
            seen[leader] = commit
    log.room = len(deadlines)
    for correlation_id in range(scheduled[leader], len(deadlines)):
        members[leader].on_schedule_timer(correlation_id, deadlines[correlation_id])
    expire(members[leader], log, now + 10_000)
    assert sorted(log.events) == list(range(len(deadlines)))
