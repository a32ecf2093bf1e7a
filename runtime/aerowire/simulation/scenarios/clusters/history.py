"""The events that services of any member have applied, and the state of a register that has applied all of them."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from aerowire.simulation.scenarios.clusters.register import Register
from aerowire.simulation.scenarios.clusters.requests import Answer, Operation, Request
from aerowire.simulation.scenarios.violation import ViolationError

SAFETY = "State Machine Safety"
EQUALITY = "services have equal state at equal position"
SNAPSHOTS = "a snapshot equals a replay of the log up to it"
LINEARIZABILITY = "the history of every client is linearizable"
LASTING = "no acknowledged request is lost"
ONCE = "each message that a service sends and each timer that it schedules arrives once"


class Event(NamedTuple):
    """A call of a service: the callback, the session, the time, and the rest of its arguments."""

    kind: str
    session: int
    time: int
    data: bytes


class History:
    """The events of one service of the cluster by their positions, in the order of the log.

    `state` is a register that has applied them all, from the beginning and without snapshots. Invariant: positions ascend.
    """

    def __init__(self) -> None:
        self.register = Register()
        self.positions: list[int] = []
        self.acknowledged = 0  # the highest position of a request that was answered
        self.answered = 0
        self._events: dict[int, Event] = {}
        self._states: dict[int, int] = {0: self.register.digest()}
        self._answers: dict[int, Answer] = {}
        self._come_back: set[tuple[int, int]] = set()

    @property
    def end(self) -> int:
        """The position behind the last event."""
        return self.positions[-1] if self.positions else 0

    def apply(self, before: int, position: int, event: Event, state: int, who: str) -> None:
        """Check an event that a member's service applies next after the position `before`; `state` is its digest behind the event."""
        place = bisect_right(self.positions, before)
        if place == len(self.positions):
            if position <= self.end:
                raise ViolationError(SAFETY, f"an event behind position {self.end}", f"{event} at {position}", who)
            self.positions.append(position)
            self._events[position] = event
            self._replay(position, event, who)
            self._states[position] = self.register.digest()
        elif self.positions[place] != position or self._events[position] != event:
            known = self.positions[place]
            expected = f"{self._events[known]} at {known}, as another member"
            raise ViolationError(SAFETY, expected, f"{event} at {position}, behind {before}", who)
        if self._states[position] != state:
            raise ViolationError(EQUALITY, f"{self._states[position]:016x} at {position}", f"{state:016x} behind {event}", who)

    def load(self, position: int, state: int, who: str) -> None:
        """Check the state that a service loads from a snapshot at a position."""
        place = bisect_right(self.positions, position)
        expected = self._states[self.positions[place - 1] if place else 0]
        if state != expected:
            raise ViolationError(SNAPSHOTS, f"{expected:016x} at {position}", f"{state:016x}", who)

    def answer(self, request: Request, answer: Answer, acknowledged_before: int, who: str) -> None:
        """Check the answer to a request. `acknowledged_before` is the highest position that was answered before the request was sent."""
        expected = self._answers.get(answer.position)
        if expected != answer or (answer.client, answer.number) != (request.client, request.number):
            raise ViolationError(LINEARIZABILITY, f"{expected} to {request}", answer, who)
        if answer.position <= acknowledged_before:
            raise ViolationError(LINEARIZABILITY, f"a place in the log behind {acknowledged_before}, answered before", answer, who)
        self.acknowledged = max(self.acknowledged, answer.position)
        self.answered += 1

    def _replay(self, position: int, event: Event, who: str) -> None:
        if event.kind == "message":
            answer, is_first = self.register.request(Request.decode(event.data), position)
            if is_first:
                self._answers[position] = answer
        elif event.kind in {"service message", "timer"}:
            client, number = divmod(int.from_bytes(event.data, "little"), 1 << 32)
            request = self.register.under_way.get((client, number))
            operation = Operation.TIMER if event.kind == "timer" else Operation.RELAY
            if not self.register.come_back(client, number) or request is None or request.operation is not operation:
                raise ViolationError(ONCE, f"a {event.kind} that was asked for and has not come", f"that of {client}, {number}", who)
