"""The events that services of any member have applied, and the state of a register that has applied all of them."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from aerowire.simulation.scenarios.clusters.register import Register
from aerowire.simulation.scenarios.clusters.requests import Answer, Operation, Request
from aerowire.simulation.scenarios.clusters.spans import Spans
from aerowire.simulation.scenarios.violation import ViolationError

SAFETY = "State Machine Safety"
EQUALITY = "services have equal state at equal position"
SNAPSHOTS = "a snapshot equals a replay of the log up to it"
LINEARIZABILITY = "the history of every client is linearizable"
LASTING = "no acknowledged request is lost"
ONCE = "each message that a service sends and each timer that it schedules arrives once"
IN_ORDER = "messages of a service arrive in the order in which it has sent them"
TIMELY = "timers expire at their deadlines or later, and in their order"
SESSIONS = "a session has an id of its own, and messages between its opening and its end"
_MESSAGE, _TIMER = "service message", "timer"


class Event(NamedTuple):
    """A call of a service: the callback, the session, the time, and the rest of its arguments."""

    kind: str
    session: int
    time: int
    data: bytes


class _Timer(NamedTuple):
    deadline: int
    terms: int  # that had begun when it was scheduled


class History:
    """The events of one service of the cluster by their positions, in the order of the log.

    `register` has applied them all, from the beginning and without snapshots. `sessions` are those of clients; `messages` those that the
    service has sent and `timers` those that it has scheduled, by client and number of the request. Invariant: positions ascend.
    """

    def __init__(self, *, are_clocks_steady: bool = False, are_timers_sorted: bool = False) -> None:
        """Clocks are steady if none is set; timers are sorted if they expire in the order of their deadlines as long as a leader leads."""
        self.register = Register()
        self.positions: list[int] = []
        self.acknowledged = 0  # the highest position of a request that was answered
        self.answered = 0
        self.sessions: Spans[int] = Spans()
        self.messages: Spans[tuple[int, int]] = Spans()
        self.timers: Spans[tuple[int, int]] = Spans()
        self._are_clocks_steady = are_clocks_steady
        self._are_timers_sorted = are_timers_sorted
        self._timers: dict[tuple[int, int], _Timer] = {}
        self._terms = 0
        self._events: dict[int, Event] = {}
        self._states: dict[int, int] = {0: self.register.digest()}
        self._answers: dict[int, Answer] = {}

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

    def load_sessions(self, position: int, sessions: list[int], who: str) -> None:
        """Check the sessions that a service or a consensus module has from a snapshot at a position."""
        expected = sorted(self.sessions.at(position))
        if sorted(sessions) != expected:
            raise ViolationError(SNAPSHOTS, f"sessions {expected} at {position}", f"sessions {sorted(sessions)}", who)

    def answer(self, request: Request, answer: Answer, acknowledged_before: int, who: str) -> None:
        """Check the answer to a request. `acknowledged_before` is the highest position that was answered before the request was sent."""
        expected = self._answers.get(answer.position)
        if expected != answer or (answer.client, answer.number) != (request.client, request.number):
            raise ViolationError(LINEARIZABILITY, f"{expected} to {request}", answer, who)
        if answer.position <= acknowledged_before:
            raise ViolationError(LINEARIZABILITY, f"a place in the log behind {acknowledged_before}, answered before", answer, who)
        self.acknowledged = max(self.acknowledged, answer.position)
        self.answered += 1

    def overdue(self, position: int, now_ms: int) -> list[str]:
        """Return the messages sent before a position, and the timers with a deadline before a time, that have not come."""
        messages = [f"the message of {key}" for key in self.messages.at(position) if self.messages.is_present(key)]
        return messages + [f"the timer of {key}" for key in self.timers.present if self._timers[key].deadline < now_ms]

    def _replay(self, position: int, event: Event, who: str) -> None:
        if event.kind == "message":
            if not self.sessions.is_present(event.session):
                raise ViolationError(SESSIONS, f"messages of {self.sessions.present}", event, who)
            self._request(position, event)
        elif event.kind == "open":
            if self.sessions.has_begun(event.session):
                raise ViolationError(SESSIONS, "an id that was not used before", event, who)
            self.sessions.begin(event.session, position)
        elif event.kind == "close":
            if not self.sessions.is_present(event.session):
                raise ViolationError(SESSIONS, f"the end of one of {self.sessions.present}", event, who)
            self.sessions.end(event.session, position)
        elif event.kind == "term":
            self._terms += 1
        else:
            self._come_back(position, event, who)

    def _request(self, position: int, event: Event) -> None:
        request = Request.decode(event.data)
        answer, is_first = self.register.request(request, position)
        if not is_first:
            return
        self._answers[position] = answer
        key = request.client, request.number
        if request.operation is Operation.RELAY:
            self.messages.begin(key, position)
        elif request.is_timed:
            self.timers.begin(key, position)
            self._timers[key] = _Timer(event.time + request.delay_ms, self._terms)

    def _come_back(self, position: int, event: Event, who: str) -> None:
        key = divmod(int.from_bytes(event.data, "little"), 1 << 32)
        spans = self.timers if event.kind == _TIMER else self.messages
        if not spans.is_present(key) or not self.register.come_back(*key):
            raise ViolationError(ONCE, f"a {event.kind} that was asked for and has not come", f"that of {key}", who)
        if event.kind == _MESSAGE and spans.first != key:
            raise ViolationError(IN_ORDER, f"that of {spans.first}", f"that of {key}", who)
        if event.kind == _TIMER:
            self._check_timer(key, event, who)
        spans.end(key, position)

    def _check_timer(self, key: tuple[int, int], event: Event, who: str) -> None:
        timer = self._timers[key]
        if self._are_clocks_steady and event.time < timer.deadline:
            raise ViolationError(TIMELY, f"the timer of {key} at {timer.deadline} or later", event.time, who)
        if not self._are_timers_sorted or timer.terms != self._terms:
            return
        for earlier in self.timers.present:
            if earlier == key:
                break
            if self._timers[earlier].terms == self._terms and self._timers[earlier].deadline < timer.deadline:
                raise ViolationError(TIMELY, f"the timer of {earlier} first, as it was due first", f"that of {key}", who)
