"""The history of a service refuses events that no sound cluster brings."""

from __future__ import annotations

import pytest

from aerowire.simulation.scenarios.clusters.history import IN_ORDER, ONCE, SESSIONS, SNAPSHOTS, TIMELY, Event, History
from aerowire.simulation.scenarios.clusters.requests import Operation, Request
from aerowire.simulation.scenarios.violation import ViolationError


class Applied:
    """A history that a sound service follows, event by event."""

    def __init__(self, **rules: bool) -> None:
        self.history = History(**rules)
        self._position = 0

    def apply(self, kind: str, session: int = -1, *, time: int = 0, data: bytes = b"") -> int:
        before, self._position = self._position, self._position + 32
        # Of a sound service: its register is asked for the state that the history itself comes to.
        try:
            self.history.apply(before, self._position, Event(kind, session, time, data), -1, "a service")
        except ViolationError as violation:
            if "equal state" not in str(violation):
                raise
        return self._position

    def request(self, number: int, operation: Operation, *, time: int = 0, value: int = 0) -> int:
        return self.apply("message", 1, time=time, data=Request(operation, 0, 7, number, value).encode())

    def come_back(self, kind: str, number: int, *, time: int = 0) -> int:
        return self.apply(kind, time=time, data=((7 << 32) + number).to_bytes(8, "little"))


def test_a_session_id_is_used_once() -> None:
    applied = Applied()
    applied.apply("open", 1)
    applied.apply("close", 1)
    with pytest.raises(ViolationError, match=SESSIONS):
        applied.apply("open", 1)


def test_a_session_has_no_messages_behind_its_end() -> None:
    applied = Applied()
    applied.apply("open", 1)
    applied.request(1, Operation.APPEND)
    applied.apply("close", 1)
    with pytest.raises(ViolationError, match=SESSIONS):
        applied.request(2, Operation.APPEND)


def test_messages_of_a_service_come_once_and_in_order() -> None:
    applied = Applied()
    applied.apply("open", 1)
    for number in (1, 2, 3):
        applied.request(number, Operation.RELAY)
    applied.come_back("service message", 1)
    with pytest.raises(ViolationError, match=ONCE):
        applied.come_back("service message", 1)
    with pytest.raises(ViolationError, match=IN_ORDER):
        applied.come_back("service message", 3)


def test_a_timer_does_not_expire_before_its_deadline() -> None:
    applied = Applied(are_clocks_steady=True)
    applied.apply("open", 1)
    applied.request(1, Operation.TIMER, time=1_000)
    applied.request(2, Operation.TIMER, time=1_000)
    applied.come_back("timer", 1, time=1_200)
    with pytest.raises(ViolationError, match=TIMELY):
        applied.come_back("timer", 2, time=1_199)


def test_timers_of_a_term_expire_in_the_order_of_their_deadlines() -> None:
    applied = Applied(are_timers_sorted=True)
    applied.apply("term")
    applied.apply("open", 1)
    applied.request(1, Operation.LATE_TIMER, time=1_000, value=99)  # at 1,100
    applied.apply("term")
    applied.request(2, Operation.TIMER, time=1_000)  # at 1,200
    applied.request(3, Operation.LATE_TIMER, time=1_000, value=399)  # at 1,400
    applied.request(4, Operation.LATE_TIMER, time=1_000, value=449)  # at 1,450
    applied.come_back("timer", 2, time=1_500)  # that of the term before may come late
    with pytest.raises(ViolationError, match=TIMELY):
        applied.come_back("timer", 4, time=1_500)


def test_a_snapshot_has_the_sessions_of_its_position() -> None:
    applied = Applied()
    applied.apply("open", 1)
    position = applied.apply("open", 2)
    applied.apply("close", 1)
    applied.history.load_sessions(position, [2, 1], "a service")
    with pytest.raises(ViolationError, match=SNAPSHOTS):
        applied.history.load_sessions(position, [2], "a service")


def test_what_has_not_come_is_overdue() -> None:
    applied = Applied()
    applied.apply("open", 1)
    end = applied.request(1, Operation.RELAY)
    applied.request(2, Operation.TIMER, time=1_000)
    applied.request(3, Operation.RELAY)
    assert applied.history.overdue(end, 1_200) == ["the message of (7, 1)"]
    assert applied.history.overdue(end, 1_201) == ["the message of (7, 1)", "the timer of (7, 2)"]
    applied.come_back("service message", 1)
    applied.come_back("timer", 2)
    assert applied.history.overdue(end, 2_000) == []
