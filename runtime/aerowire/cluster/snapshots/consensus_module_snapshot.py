"""The consensus module's snapshot: what it holds, as values and as messages. Aeron: ConsensusModuleSnapshotTaker, -SnapshotAdapter.

    BEGIN | ConsensusModule | ClusterSession ... | Timer ... | for each service: PendingMessageTracker, its messages ... | END

Sessions, timers and messages are in the order in which their owners have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aerowire.base.errors import ClusterSnapshotError
from aerowire.base.units import INT64_MIN
from aerowire.codecs.flyweights.cluster.enums import CloseReason, SnapshotMark
from aerowire.codecs.flyweights.cluster.messages.cluster_session import ClusterSession, ClusterSessionDecoder
from aerowire.codecs.flyweights.cluster.messages.consensus_module import ConsensusModule, ConsensusModuleDecoder
from aerowire.codecs.flyweights.cluster.messages.pending_message_tracker import PendingMessageTracker, PendingMessageTrackerDecoder
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader, SessionMessageHeaderDecoder
from aerowire.codecs.flyweights.cluster.messages.timer import Timer, TimerDecoder
from aerowire.codecs.support.errors import SbeError
from aerowire.recordings.versions import version_text

if TYPE_CHECKING:
    from aerowire.cluster.snapshots.app_version import AppVersionValidator
    from aerowire.cluster.snapshots.markers import SnapshotDetails
    from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit

# A time that a snapshot does not tell.
NULL_TIME: Final = -1
_NULL_NUMBER: Final = INT64_MIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSessionRecord:
    """A client's session. `close_reason` is NULL_VALUE while the session is open."""

    session_id: int
    correlation_id: int
    opened_log_position: int
    response_stream_id: int
    response_channel: str
    close_reason: CloseReason = CloseReason.NULL_VALUE
    time_of_last_activity: int = NULL_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMessagesRecord:
    """A service's messages that are not committed: the numbers of the next and of the latest in the log, and the messages with headers."""

    service_id: int
    next_service_session_id: int
    log_service_session_id: int
    capacity: int
    messages: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusModuleRecord:
    """The numbers at the head of a snapshot; those of the first service stand here for readers that know of one only."""

    next_session_id: int
    next_service_session_id: int = 0
    log_service_session_id: int = 0
    pending_message_capacity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusModuleState:
    """What a snapshot holds. A timer is its correlation id and its deadline."""

    numbers: ConsensusModuleRecord
    sessions: tuple[ClusterSessionRecord, ...] = ()
    timers: tuple[tuple[int, int], ...] = ()
    pending_messages: tuple[PendingMessagesRecord, ...] = ()


def encode_consensus_module_snapshot(details: SnapshotDetails, state: ConsensusModuleState) -> Iterator[bytes]:
    """Yield the messages of a snapshot, in their order."""
    numbers = state.numbers
    yield details.encode(SnapshotMark.BEGIN)
    yield ConsensusModule(
        next_session_id=numbers.next_session_id,
        next_service_session_id=numbers.next_service_session_id,
        log_service_session_id=numbers.log_service_session_id,
        pending_message_capacity=numbers.pending_message_capacity,
    ).encode()
    for session in state.sessions:
        yield ClusterSession(
            cluster_session_id=session.session_id,
            correlation_id=session.correlation_id,
            opened_log_position=session.opened_log_position,
            time_of_last_activity=session.time_of_last_activity,
            close_reason=session.close_reason,
            response_stream_id=session.response_stream_id,
            response_channel=session.response_channel,
        ).encode()
    for correlation_id, deadline in state.timers:
        yield Timer(correlation_id=correlation_id, deadline=deadline).encode()
    for pending in state.pending_messages:
        yield PendingMessageTracker(
            next_service_session_id=pending.next_service_session_id,
            log_service_session_id=pending.log_service_session_id,
            pending_message_capacity=pending.capacity,
            service_id=pending.service_id,
        ).encode()
        yield from pending.messages
    yield details.encode(SnapshotMark.END)


def check_details(
    details: SnapshotDetails, where: str, *, time_unit: ClusterTimeUnit, app_version: int, is_compatible: AppVersionValidator
) -> None:
    """Check that a member with such a clock and application can go on from a snapshot. Raises ClusterSnapshotError.

    `is_compatible(ours, theirs)` compares versions of applications.
    """
    if not is_compatible(app_version, details.app_version):
        ours, theirs = version_text(app_version), version_text(details.app_version)
        raise ClusterSnapshotError("a snapshot is of an incompatible application", where=where, expected=f"version {ours}", actual=theirs)
    if details.time_unit != time_unit:
        raise ClusterSnapshotError(
            "a snapshot has times in another unit", where=where, expected=time_unit.name, actual=details.time_unit.name
        )


@dataclass(slots=True)
class _Pending:
    """A service's messages as they are read."""

    tracker: PendingMessageTracker
    messages: list[bytes] = field(default_factory=list)

    def record(self) -> PendingMessagesRecord:
        return PendingMessagesRecord(
            service_id=self.tracker.service_id,
            next_service_session_id=self.tracker.next_service_session_id,
            log_service_session_id=self.tracker.log_service_session_id,
            capacity=self.tracker.pending_message_capacity or 0,
            messages=tuple(self.messages),
        )


class ConsensusModuleSnapshotLoader:
    """Takes the records of a snapshot, between its markers, and checks their order. Changed by `on_record`.

    Invariant: records of a kind that has its place before that of the last one are refused. Records of unknown kinds, and the members
    that snapshots had when membership was dynamic, are passed over. Messages belong to the service of the tracker before them; without
    one, as in snapshots of versions that knew one service only, to the first service.
    """

    def __init__(self, where: str, service_count: int) -> None:
        """`where` names the stream in errors."""
        self._where = where
        self._service_count = service_count
        self._record_count = 0
        self._place = 0
        self._numbers: ConsensusModule | None = None
        self._sessions: dict[int, ClusterSessionRecord] = {}
        self._timers: dict[int, int] = {}
        self._pending: dict[int, _Pending] = {}
        # Template id -> the kind's place among the others, its record, and what takes it.
        self._kinds: Mapping[int, tuple[int, Any, Callable[[Any, bytes], None]]] = {
            ConsensusModuleDecoder.SBE_TEMPLATE_ID: (1, ConsensusModule, self._on_numbers),
            ClusterSessionDecoder.SBE_TEMPLATE_ID: (2, ClusterSession, self._on_session),
            TimerDecoder.SBE_TEMPLATE_ID: (3, Timer, self._on_timer),
            PendingMessageTrackerDecoder.SBE_TEMPLATE_ID: (4, PendingMessageTracker, self._on_tracker),
            SessionMessageHeaderDecoder.SBE_TEMPLATE_ID: (4, SessionMessageHeader, self._on_pending_message),
        }

    def on_record(self, template_id: int, message: bytes) -> None:
        """Take a record, with its header. Raises ClusterSnapshotError."""
        kind = self._kinds.get(template_id)
        if kind is None:
            self._record_count += 1
            return
        place, record, take = kind
        if self._numbers is None and place > 1:
            raise self._wrong("ConsensusModule first", record.__name__)
        if place < self._place or place == self._place == 1:
            expected = [known.__name__ for its_place, known, _ in self._kinds.values() if its_place >= max(2, self._place)]
            raise self._wrong(f"{' or '.join(expected)}", record.__name__)
        try:
            decoded = record.decode(message)
        except SbeError as error:
            raise self._wrong(f"a whole {record.__name__}", str(error)) from None
        self._place = place
        take(decoded, message)
        self._record_count += 1

    def state(self) -> ConsensusModuleState:
        """Return what the records say, after the END marker. Raises ClusterSnapshotError."""
        numbers = self._numbers
        if numbers is None:
            raise self._wrong("ConsensusModule", "the end of the snapshot")
        if self._service_count > 0:
            self._first_pending()
        return ConsensusModuleState(
            numbers=ConsensusModuleRecord(
                next_session_id=numbers.next_session_id,
                next_service_session_id=_number(numbers.next_service_session_id),
                log_service_session_id=_number(numbers.log_service_session_id),
                pending_message_capacity=numbers.pending_message_capacity or 0,
            ),
            sessions=tuple(self._sessions.values()),
            timers=tuple(self._timers.items()),
            pending_messages=tuple(pending.record() for pending in self._pending.values()),
        )

    def _on_numbers(self, record: ConsensusModule, _message: bytes) -> None:
        self._numbers = record

    def _on_session(self, record: ClusterSession, _message: bytes) -> None:
        if record.cluster_session_id in self._sessions:
            raise self._wrong("a session once", f"session {record.cluster_session_id} again")
        self._sessions[record.cluster_session_id] = ClusterSessionRecord(
            session_id=record.cluster_session_id,
            correlation_id=record.correlation_id,
            opened_log_position=record.opened_log_position,
            response_stream_id=record.response_stream_id,
            response_channel=record.response_channel,
            close_reason=record.close_reason,
            time_of_last_activity=record.time_of_last_activity,
        )

    def _on_timer(self, record: Timer, _message: bytes) -> None:
        if record.correlation_id in self._timers:
            raise self._wrong("a timer once", f"timer {record.correlation_id} again")
        self._timers[record.correlation_id] = record.deadline

    def _on_tracker(self, record: PendingMessageTracker, _message: bytes) -> None:
        self._check_service(record.service_id)
        if record.service_id in self._pending:
            raise self._wrong("a service once, before its messages", f"service {record.service_id} again")
        self._pending[record.service_id] = _Pending(record)

    def _on_pending_message(self, _record: SessionMessageHeader, message: bytes) -> None:
        self._check_service(0)
        (next(reversed(self._pending.values()), None) or self._first_pending()).messages.append(message)

    def _first_pending(self) -> _Pending:
        """Return the first service's messages, which begin with the numbers at the head of the snapshot if they have no tracker."""
        numbers = self._numbers
        assert numbers is not None
        if 0 not in self._pending:
            self._pending[0] = _Pending(
                PendingMessageTracker(
                    next_service_session_id=_number(numbers.next_service_session_id, _NULL_NUMBER + 1),
                    log_service_session_id=_number(numbers.log_service_session_id),
                    pending_message_capacity=numbers.pending_message_capacity or 0,
                    service_id=0,
                )
            )
        return self._pending[0]

    def _check_service(self, service_id: int) -> None:
        if not 0 <= service_id < self._service_count:
            raise self._wrong(f"one of {self._service_count} services", f"service {service_id}")

    def _wrong(self, expected: str, actual: str) -> ClusterSnapshotError:
        where = f"{self._where}, record {self._record_count}"
        return ClusterSnapshotError("a consensus module's snapshot has a wrong record", where=where, expected=expected, actual=actual)


def _number(decoded: int | None, absent: int = _NULL_NUMBER) -> int:
    """Return a number of service messages; the one before a first service's first message is what codecs take for an absent value."""
    return absent if decoded is None else decoded
