"""A log without consensus, services that answer it, and what all members must have of it: each entry is checked when it is committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aerowire.cluster.module.node_services.service_codec import ServiceMessage
from aerowire.cluster.service_messages.pending_service_message_tracker import SESSION_HEADER_LENGTH
from aerowire.cluster.service_messages.service_session_ids import service_id_of_log_message
from aerowire.cluster.snapshots.consensus_module_snapshot import ConsensusModuleState
from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.messages.cancel_timer import CancelTimer
from aerowire.codecs.flyweights.cluster.messages.close_session import CloseSession
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.schedule_timer import ScheduleTimer
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent
from tests.cluster.consensus.checkers import ViolationError

ENTRY_LENGTH = 32
SERVICES = 2
ONCE = "messages of a service arrive once, in the order in which it has sent them"
TIMELY = "timers expire once, at their deadlines or later, and in their order"
SESSIONS = "a session has an id of its own, and messages between its opening and its end"
SNAPSHOTS = "a member has what a replay of the log would give it"


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the log, its time, and the number of its term."""

    data: bytes
    time: int
    term: int

    @property
    def event(self) -> Any:
        """The message, decoded."""
        return decode(self.data)

    @property
    def payload(self) -> int:
        """What follows the header of a session's message."""
        return int.from_bytes(self.data[SESSION_HEADER_LENGTH:], "little")


def words_of(service_id: int, index: int, entry: Entry) -> Iterator[object]:
    """Yield what a service says to its consensus module when it applies an entry: the same at all members."""
    event, timer_id = entry.event, index * SERVICES + service_id
    if isinstance(event, SessionMessageHeader) and event.cluster_session_id > 0:
        draw = entry.payload
        for number in range(draw % 4):
            yield _message(service_id, timer_id * 4 + number)
        if draw & 4:
            yield ScheduleTimer(correlation_id=timer_id, deadline=entry.time + (draw >> 16) % 500)
        if draw & 8:
            yield CancelTimer(correlation_id=timer_id - SERVICES * ((draw >> 8) % 8))
        if draw & 0x70 == 0:
            yield CloseSession(cluster_session_id=event.cluster_session_id)
    elif isinstance(event, TimerEvent) and event.correlation_id % SERVICES == service_id:
        yield _message(service_id, timer_id * 4)


def _message(service_id: int, number: int) -> ServiceMessage:
    header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=service_id, timestamp=0)
    return ServiceMessage(service_id, header.encode() + number.to_bytes(8, "little"))


@dataclass(frozen=True, slots=True)
class _Timer:
    deadline: int
    term: int


class Model:
    """What the committed log holds. Changed by `commit`, in the order of the log."""

    def __init__(self, *, are_timers_sorted: bool) -> None:
        """Timers are sorted if they expire by their deadlines as long as a leader leads."""
        self.sessions: set[int] = set()
        self.timers: dict[int, _Timer] = {}
        self.messages: list[list[int]] = [[] for _ in range(SERVICES)]  # that were sent and are not in the log
        self._used: set[int] = set()
        self._cancelled: set[int] = set()
        self._are_timers_sorted = are_timers_sorted

    def commit(self, index: int, entry: Entry) -> None:
        """Check an entry, and take it."""
        event = entry.event
        if isinstance(event, SessionOpenEvent):
            self._require(event.cluster_session_id not in self._used, SESSIONS, f"session {event.cluster_session_id} opens again")
            self._used.add(event.cluster_session_id)
            self.sessions.add(event.cluster_session_id)
        elif isinstance(event, SessionCloseEvent):
            self._require(event.cluster_session_id in self.sessions, SESSIONS, f"session {event.cluster_session_id} closes: it is not open")
            self.sessions.remove(event.cluster_session_id)
        elif isinstance(event, SessionMessageHeader):
            self._message(event.cluster_session_id, entry)
        elif isinstance(event, TimerEvent):
            self._timer(event.correlation_id, entry)
        else:
            assert isinstance(event, NewLeadershipTermEvent)
        for service_id in range(SERVICES):
            for word in words_of(service_id, index, entry):
                self._word(service_id, word, entry)

    def check(self, state: ConsensusModuleState, who: str) -> None:
        """Check what a member has that has read the committed log, and heard all that its services have said of it."""
        sessions = {session.session_id for session in state.sessions}
        self._require(sessions == self.sessions, SNAPSHOTS, f"{who} has sessions {sessions}, not {self.sessions}")
        next_id = state.numbers.next_session_id
        self._require(next_id > max(self._used, default=0), SNAPSHOTS, f"{who} would use session {next_id} again")
        timers = {timer_id for timer_id, _ in state.timers}
        self._require(timers == set(self.timers), SNAPSHOTS, f"{who} has timers {timers}, not {set(self.timers)}")
        for pending in state.pending_messages:
            messages = [int.from_bytes(message[SESSION_HEADER_LENGTH:], "little") for message in pending.messages]
            expected = self.messages[pending.service_id]
            self._require(messages == expected, SNAPSHOTS, f"{who} has messages {messages} of {pending.service_id}, not {expected}")

    def _message(self, session_id: int, entry: Entry) -> None:
        if session_id > 0:
            self._require(session_id in self.sessions, SESSIONS, f"a message of session {session_id}, which is not open")
            return
        expected = self.messages[service_id_of_log_message(session_id)]
        self._require(expected[:1] == [entry.payload], ONCE, f"message {entry.payload}, not the first of {expected}")
        del expected[0]

    def _timer(self, timer_id: int, entry: Entry) -> None:
        timer = self.timers.pop(timer_id, None)
        if timer is None:  # it may have expired before the leader's service has cancelled it
            self._require(timer_id in self._cancelled, TIMELY, f"timer {timer_id}, which is not scheduled")
            self._cancelled.remove(timer_id)
            return
        self._require(entry.time >= timer.deadline, TIMELY, f"timer {timer_id} at {entry.time}, before {timer.deadline}")
        if self._are_timers_sorted and timer.term == entry.term:
            late = [
                other_id
                for other_id, other in self.timers.items()
                if (other.term, other_id % SERVICES) == (entry.term, timer_id % SERVICES)
                and other_id < timer_id
                and other.deadline < timer.deadline
            ]
            self._require(not late, TIMELY, f"timer {timer_id} before {late}, which were due first")

    def _word(self, service_id: int, word: object, entry: Entry) -> None:
        if isinstance(word, ServiceMessage):
            self.messages[service_id].append(int.from_bytes(word.message[SESSION_HEADER_LENGTH:], "little"))
        elif isinstance(word, ScheduleTimer):
            self.timers[word.correlation_id] = _Timer(word.deadline, entry.term)
        elif isinstance(word, CancelTimer) and self.timers.pop(word.correlation_id, None) is not None:
            self._cancelled.add(word.correlation_id)

    def _require(self, condition: bool, rule: str, told: str) -> None:
        if not condition:
            raise ViolationError(rule, told)
