"""A service on a recorded log, run by the parts of its container without a node; its outputs are noted message by message."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from aerowire.base.channel_uri import IPC_CHANNEL
from aerowire.base.errors import ClusterServiceError
from aerowire.base.idle import idle_strategy
from aerowire.base.units import INT64_MAX
from aerowire.cluster.replay.memory_image import MemoryImage, term_length_for
from aerowire.cluster.replay.outputs import ERROR, NotedClients, NotedConsensusModule, NotedPublication, Output, snapshot_output
from aerowire.cluster.services.client_sessions import ClientSessions
from aerowire.cluster.services.cluster import Cluster
from aerowire.cluster.services.context import ClusteredServiceContext
from aerowire.cluster.services.core import ContainerCore
from aerowire.cluster.services.log_adapter import BoundedLogAdapter
from aerowire.cluster.services.log_events import LogEvents
from aerowire.cluster.services.operations import Operations
from aerowire.cluster.services.service_idle import ServiceIdleStrategy
from aerowire.cluster.services.snapshots import Snapshots
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest, ClusterActionRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent, NewLeadershipTermEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent, SessionCloseEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader, SessionMessageHeaderDecoder
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent, SessionOpenEventDecoder
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent, TimerEventDecoder
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
    from aerowire.cluster.replay.member_log import LogMessage, MemberLog
    from aerowire.system.ports import Ports

# Steps or idle rounds of one callback, after which a service waits in vain: in a replay everything is there from the beginning.
_ROUNDS_MAX: Final = 100_000
_FRAGMENT_LIMIT: Final = 1000
_TEMPLATE_ID_INDEX: Final = 1  # of the numbers in a message header
# Stands for a message at the end of the log, where the states are compared by a snapshot.
END_OF_LOG: Final = "end of the log"
_KINDS: dict[int, Any] = {
    SessionMessageHeaderDecoder.SBE_TEMPLATE_ID: SessionMessageHeader,
    TimerEventDecoder.SBE_TEMPLATE_ID: TimerEvent,
    SessionOpenEventDecoder.SBE_TEMPLATE_ID: SessionOpenEvent,
    SessionCloseEventDecoder.SBE_TEMPLATE_ID: SessionCloseEvent,
    ClusterActionRequestDecoder.SBE_TEMPLATE_ID: ClusterActionRequest,
    NewLeadershipTermEventDecoder.SBE_TEMPLATE_ID: NewLeadershipTermEvent,
}


class ReplayedMessage(NamedTuple):
    """A message of the log, and the outputs of the service for it. A number that its template does not have is None."""

    position: int
    template: str
    session_id: int | None
    correlation_id: int | None
    outputs: tuple[Output, ...]


class _NotedErrors:
    """Notes what a service raises by its type: texts may hold addresses and times. Stands in for ContainerErrors."""

    def __init__(self, outputs: list[Output]) -> None:
        self._outputs = outputs

    def record(self, error: BaseException) -> None:
        """Note an error."""
        self._outputs.append(Output(ERROR, type(error).__name__))

    def warn(self, _text: str) -> None:
        """Do nothing: a warning of the container follows from the log."""


class _NotedSnapshots(Snapshots):
    """Snapshots whose messages are noted in place of being recorded."""

    def __init__(self, core: ContainerCore, sessions: ClientSessions, cluster: Cluster, outputs: list[Output]) -> None:
        super().__init__(core, sessions, cluster)
        self._outputs = outputs

    def take(self, log_position: int, leadership_term_id: int) -> Generator[Any, Any, Any]:
        """Note the messages of a snapshot."""

        def on_message(message: bytes) -> None:
            self._outputs.append(snapshot_output(log_position, message))

        publication: Any = NotedPublication(IPC_CHANNEL, 0, on_message)
        yield from self.write(publication, log_position, leadership_term_id, _nothing)


class LogReplay:
    """Replays a log through one service in the role of leader, so that its messages to clients are sent, and noted. One thread."""

    def __init__(self, log: MemberLog, service_class_name: str, ports: Ports, *, service_id: int = 0, member_id: int = 0) -> None:
        """`service_class_name` is module:Class, of a class that is called without arguments. Raises ConfigurationError."""
        self._log = log
        self._outputs: list[Output] = []
        # It runs as the version of the application that snapshots and terms name.
        context = self._context = ClusteredServiceContext(
            service_class_name=service_class_name, service_id=service_id, app_version_validator=self._take_version, environ={}
        )
        note = self._outputs.append
        core = self._core = ContainerCore(
            context,
            ports,
            cast("Any", NotedClients(note)),
            context.calls,
            cast("Any", NotedConsensusModule(note)),
            cast("Any", None),
            {},
            cast("Any", _NotedErrors(self._outputs)),
        )
        core.member_id = member_id
        self._adapter = core.log = BoundedLogAdapter(context.calls.on_session_message, self._on_event, context.calls.on_batch, 1)
        self._rounds = 0
        idle = ServiceIdleStrategy(idle_strategy("noop"), ports.waiting, self._count_round)
        cluster = Cluster(core, self._adapter, idle)
        self._sessions = ClientSessions(core, self._adapter)
        cluster.attach(self._sessions)
        self._cluster = cluster
        self._snapshots = _NotedSnapshots(core, self._sessions, cluster, self._outputs)
        self._operations = Operations(core, self._adapter, self._sessions, cluster, self._snapshots)
        self._events = LogEvents(core, self._adapter, self._sessions, cluster, self._snapshots, self._begin)
        self._operation: Generator[Any, Any, Any] | None = None

    def run(self, snapshot: RecordingLogEntry | None, end_position: int) -> Iterator[ReplayedMessage]:
        """Yield each message from a snapshot on, or the beginning of the log, with the outputs of the service; last the end of the log.

        The end is an argument because the recording of a running member grows. Raises the errors of `on_start`, ClusterServiceError and
        ArchiveFileError.
        """
        start = self._log.recording.start_position if snapshot is None else snapshot.log_position
        self._start(snapshot, start)
        memory = MemoryImage(self._log.recording, start)
        self._adapter.bound(memory.counters, memory.limit_id)
        self._adapter.join(memory.image, INT64_MAX)
        self._operations.take_role(ClusterRole.LEADER)
        self._operations.is_service_active = True
        position = start
        for message in self._log.messages(start, end_position):
            position = message.position
            self._deliver(memory, message)
            if message.data:
                yield self._replayed(message)
        self._drive_noted(self._snapshots.take(position, self._core.header.leadership_term_id))
        yield ReplayedMessage(position, END_OF_LOG, None, None, self._taken())
        self._operations.end_service()

    def _start(self, snapshot: RecordingLogEntry | None, start: int) -> None:
        core = self._core
        if snapshot is not None:
            core.header.leadership_term_id = snapshot.leadership_term_id
        self._adapter.advance(start, 0 if snapshot is None else snapshot.timestamp)
        with core.guard.within("on_start"):
            if snapshot is None:
                self._drive(core.calls.start(self._cluster, None, _nothing))
            else:
                where = f"recording {snapshot.recording_id}"
                image = self._snapshot_image(snapshot.recording_id)
                self._drive(self._snapshots.read(image.image, where, _nothing))
        for session in self._sessions.all:
            self._drive(self._sessions.connect(session))

    def _snapshot_image(self, recording_id: int) -> MemoryImage:
        entry = self._log.recording_of(recording_id)
        messages = list(self._log.snapshot_messages(recording_id))
        end = messages[-1].position if messages else entry.start_position
        memory = MemoryImage(entry, entry.start_position, term_length_for(entry, end))
        for message in messages:
            for frame in message.frames:
                memory.put(frame)
        memory.end(end)
        return memory

    def _deliver(self, memory: MemoryImage, message: LogMessage) -> None:
        """Have the adapter read a message, and drive the operation that it begins."""
        self._rounds = 0
        for frame in message.frames:
            memory.put(frame)
        while (before := memory.image.position) < message.position:
            try:
                self._adapter.poll(_FRAGMENT_LIMIT)
            except Exception as error:
                self._core.errors.record(error)
            operation, self._operation = self._operation, None
            if operation is not None:
                self._drive_noted(operation)
            if memory.image.position == before:
                raise ClusterServiceError(
                    "the log cannot be read on", where=f"log position {before}", expected="a frame", actual=memory.image.failure
                )

    def _replayed(self, message: LogMessage) -> ReplayedMessage:
        template_id = HEADER.unpack(memoryview(message.data), 0)[_TEMPLATE_ID_INDEX] if len(message.data) >= HEADER.size else -1
        kind, event = _KINDS.get(template_id), None
        if kind is not None:
            with suppress(SbeError):  # noted as an error that the log adapter has raised
                event = kind.decode(message.data)
        template = f"template {template_id}" if kind is None else kind.__name__
        session_id, correlation_id = getattr(event, "cluster_session_id", None), getattr(event, "correlation_id", None)
        return ReplayedMessage(message.position, template, session_id, correlation_id, self._taken())

    def _taken(self) -> tuple[Output, ...]:
        taken = tuple(self._outputs)
        self._outputs.clear()
        return taken

    def _begin(self, _what: str, operation: Generator[Any, Any, Any]) -> None:
        self._operation = operation

    def _on_event(self, template_id: int, message: bytes, position: int) -> bool:
        return self._events.on_event(template_id, message, position)

    def _drive_noted(self, operation: Generator[Any, Any, Any]) -> None:
        try:
            self._drive(operation)
        except Exception as error:
            self._core.errors.record(error)

    def _drive(self, operation: Generator[Any, Any, Any]) -> None:
        """Take all steps of an operation. Each value that it yields is ready, or None for another attempt."""
        self._rounds, step = 0, None
        while True:
            try:
                step = operation.send(step)
            except StopIteration:
                return
            self._count_round()

    def _count_round(self) -> None:
        self._rounds += 1
        if self._rounds > _ROUNDS_MAX:
            raise ClusterServiceError(
                "the service waits for what does not come",
                where=f"log position {self._adapter.log_position}",
                expected=f"a callback that ends within {_ROUNDS_MAX} rounds of waiting",
                hint="in a replay all of a snapshot is there, and there is always room: nothing else can be waited for",
            )

    def _take_version(self, _ours: int, theirs: int) -> bool:
        self._context.app_version = theirs
        return True


def _nothing() -> None:
    """Do nothing: files report no errors while they are read."""
