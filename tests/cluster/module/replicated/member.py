"""A member's replicated state, with its sessions and services but without files and streams: the log is a list."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol, cast

from aerowire.cluster.module.clients.client_sessions import ClientSessions
from aerowire.cluster.module.core import ModuleCore
from aerowire.cluster.module.log.log_publisher import Appended, LogPublisher
from aerowire.cluster.module.replicated_state import ReplicatedState
from aerowire.cluster.sessions import effects, inputs
from aerowire.cluster.sessions.authorisation import ALLOW_BACKUP_AND_STANDBY
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION, SessionOptions
from aerowire.cluster.snapshots.consensus_module_snapshot import (
    ClusterSessionRecord,
    ConsensusModuleSnapshotLoader,
    encode_consensus_module_snapshot,
)
from aerowire.cluster.snapshots.markers import CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, SnapshotDetails, SnapshotRecords
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.security.authentication import Authenticator
from tests.cluster.module.replicated.model import ENTRY_LENGTH, SERVICES, Entry, words_of

MILLISECOND_NS = 1_000_000
SESSION_TIMEOUT_MS = 1_000
_REFUSED = -1


class Surroundings(Protocol):
    """The time, and the log."""

    now_ms: int
    log: list[Entry]
    commit: int

    def append(self, data: bytes) -> int:
        """Append a message to the leader's log; return the position behind it."""


class _Publisher:
    """Takes messages for the log while there is room; `flush` appends the first ones, and tells their results."""

    def __init__(self, world: Surroundings) -> None:
        self.has_room = True
        self._world = world
        self._waiting: deque[tuple[bytes, Callable[[Appended], object]]] = deque()

    def append(self, data: bytes, on_result: Callable[[Appended], object]) -> bool:
        if self.has_room:
            self._waiting.append((data, on_result))
        return self.has_room

    def flush(self, count: int) -> None:
        for _ in range(min(count, len(self._waiting))):
            data, on_result = self._waiting.popleft()
            on_result(Appended(self._world.append(data), self._world.now_ms))

    def refuse(self) -> None:
        while self._waiting:
            self._waiting.popleft()[1](Appended(_REFUSED, _REFUSED))


class _Sessions:
    """A session manager whose effects are carried out at once: clients are there, and get what they are sent."""

    def __init__(self, member_id: int, world: Surroundings) -> None:
        options = SessionOptions(member_id=member_id, session_timeout_ns=SESSION_TIMEOUT_MS * MILLISECOND_NS)
        self._manager = SessionManager(options, Authenticator(), ALLOW_BACKUP_AND_STANDBY)
        self._world = world
        self._inbox: deque[inputs.Input] = deque()
        self._is_handling = False
        self.publisher: _Publisher | None = None
        self.next_deadline_ns = self._manager.next_deadline_ns

    @property
    def next_committed_session_id(self) -> int:
        return self._manager.next_committed_session_id

    @property
    def open_ids(self) -> tuple[int, ...]:
        return self._manager.open_session_ids

    def records(self) -> tuple[ClusterSessionRecord, ...]:
        return self._manager.records()

    def load(self, next_session_id: int, records: Iterable[ClusterSessionRecord]) -> None:
        self._manager.load(next_session_id, records, self._world.now_ms * MILLISECOND_NS)

    def tick(self) -> None:
        self._carry_out(self._manager.tick(self._world.now_ms * MILLISECOND_NS, self._world.now_ms))
        self._drain()

    def give(self, given: inputs.Input) -> None:
        self._inbox.append(given)
        self._drain()

    def _drain(self) -> None:
        if self._is_handling:
            return
        self._is_handling = True
        while self._inbox:
            self._carry_out(self._manager.handle(self._inbox.popleft(), self._world.now_ms * MILLISECOND_NS, self._world.now_ms))
        self._is_handling = False

    def _carry_out(self, decided: tuple[effects.Effect, ...]) -> None:
        for effect in decided:
            if isinstance(effect, effects.OpenResponse):
                self._inbox += [inputs.ResponseAdded(effect.key), inputs.ResponseConnected(effect.key, True)]
            elif isinstance(effect, effects.Send):
                self._inbox.append(inputs.Sent(effect.key, effect.message))
            elif isinstance(effect, effects.AppendSessionOpen):
                if effect.opened is not None and self.publisher is not None and self.publisher.has_room:
                    self._inbox.append(inputs.Sent(effect.opened.key, effect.opened.message))
                self._append(effect, inputs.OpenAppended)
            elif isinstance(effect, effects.AppendSessionClose):
                self._append(effect, inputs.CloseAppended)

    def _append(
        self, effect: effects.AppendSessionOpen | effects.AppendSessionClose, result_of: Callable[[int, int], inputs.Input]
    ) -> None:
        session_id = effect.cluster_session_id

        def on_result(appended: Appended) -> None:
            self.give(inputs.AppendRefused(session_id) if appended.is_refused else result_of(session_id, appended.position))

        if self.publisher is None or not self.publisher.append(effect.encode(timestamp=0), on_result):
            self._inbox.append(inputs.AppendRefused(session_id))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The messages of a snapshot, and how many entries of the log it stands for."""

    count: int
    messages: tuple[bytes, ...]


class Member:
    """A member that leads or follows. Changed by the world that it is in.

    It has read `read` entries of the log, and its services have applied `applied`; what they have said is in `words` until it is heard.
    """

    def __init__(self, member_id: int, world: Surroundings, timer_service: str) -> None:
        """Start with nothing."""
        self.member_id = member_id
        self.snapshot = Snapshot(0, ())
        self._world = world
        self._timer_service = timer_service
        self.publisher = _Publisher(world)
        self.is_leading = False
        self.start()

    def start(self) -> None:
        """Start from the snapshot; all else is gone."""
        self.is_leading = False
        self.publisher = _Publisher(self._world)
        self.sessions = _Sessions(self.member_id, self._world)
        self.state = ReplicatedState(self._core(), cast("ClientSessions", self.sessions))
        self.sessions.give(inputs.ActivityChanged(True))
        self.read = self.snapshot.count
        self.applied = [self.read] * SERVICES
        self.words: list[deque[object]] = [deque() for _ in range(SERVICES)]
        if self.snapshot.messages:
            self._load(self.snapshot.messages)

    # Services, and the log

    def apply(self, service_id: int) -> None:
        """Let a service apply an entry that is committed."""
        index = self.applied[service_id]
        if index < self._world.commit:
            self.words[service_id].extend(words_of(service_id, index, self._world.log[index]))
            self.applied[service_id] += 1

    def hear(self, service_id: int) -> None:
        """Take a word of a service."""
        if self.words[service_id]:
            self.state.on_service_word(self.words[service_id].popleft())

    def read_on(self) -> None:
        """Read an entry of the log that is committed."""
        if self.is_leading or self.read >= self._world.commit:
            return
        event = self._world.log[self.read].event
        self.read += 1
        if isinstance(event, SessionMessageHeader):
            if event.cluster_session_id < 0:
                self.state.on_service_message(event.cluster_session_id)
        else:
            self.state.on_log_event(event, self.read * ENTRY_LENGTH)

    def settle(self) -> None:
        """Read, apply and hear all there is up to the commit."""
        while not self.is_leading and self.read < self._world.commit:
            self.read_on()
        for service_id in range(SERVICES):
            while self.applied[service_id] < self._world.commit:
                self.apply(service_id)
            while self.words[service_id]:
                self.hear(service_id)

    def take_snapshot(self) -> None:
        """Take a snapshot of all that is committed."""
        details = SnapshotDetails(
            type_id=CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, log_position=self._world.commit * ENTRY_LENGTH, leadership_term_id=0
        )
        self.snapshot = Snapshot(self._world.commit, tuple(encode_consensus_module_snapshot(details, self.state.state())))

    # Terms

    def lead(self, term: int) -> None:
        """Begin to lead a term."""
        self.is_leading = True
        self.publisher = self.sessions.publisher = _Publisher(self._world)
        self.state.begin_leading(cast("LogPublisher", self.publisher), term)
        self.sessions.give(inputs.LeadershipBegun(term, is_startup=False))

    def follow(self, term: int, leader_id: int) -> None:
        """Begin to follow the leader of a term."""
        self.sessions.give(inputs.FollowingBegun(term, leader_id))

    def end_term(self) -> None:
        """Leave the log, up to the commit if this member has led."""
        self.publisher.refuse()
        if self.is_leading:
            self.read = self._world.commit
        self.is_leading, self.sessions.publisher = False, None
        self.state.end_term(self.read * ENTRY_LENGTH)

    def sweep(self) -> None:
        """Take note of the commit, as a leader."""
        position = self._world.commit * ENTRY_LENGTH
        self.state.sweep(position)
        self.sessions.give(inputs.Committed(position))

    def connect(self, number: int) -> None:
        """Take the request of a client for a session."""
        self.sessions.give(
            inputs.Connect(
                correlation_id=number,
                response_stream_id=102,
                response_channel=f"aeron:udp?endpoint={number}",
                image=inputs.IngressImage(number, f"{number}:1", number),
                version=PROTOCOL_VERSION,
            )
        )

    def _load(self, messages: tuple[bytes, ...]) -> None:
        records = SnapshotRecords(CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, "a snapshot")
        loader = ConsensusModuleSnapshotLoader("a snapshot", SERVICES)
        for message in messages:
            template_id = records.on_message(message)
            if template_id is not None:
                loader.on_record(template_id, message)
        self.state.load(loader.state())

    def _core(self) -> ModuleCore:
        """Return what the replicated state uses of a consensus module."""
        world = self._world
        clock = SimpleNamespace(now_ns=lambda: world.now_ms * MILLISECOND_NS)
        context: Any = SimpleNamespace(
            service_count=SERVICES,
            options={"timer_service_supplier": self._timer_service},
            wheel_tick_resolution_ns=8 * MILLISECOND_NS,
            ticks_per_wheel=128,
        )
        cluster_clock = SimpleNamespace(time_unit=ClusterTimeUnit.MILLIS, time=lambda: world.now_ms)
        return cast("ModuleCore", SimpleNamespace(context=context, cluster_clock=cluster_clock, ports=SimpleNamespace(clock=clock)))
