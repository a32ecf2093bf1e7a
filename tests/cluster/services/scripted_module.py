"""A consensus module that does as a test says, with a driver and a service container in one thread. Its log is on IPC."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from aerowire.archive import Archive
from aerowire.client import Aeron, ExclusivePublication, FragmentAssembler, Header, Publication, Subscription
from aerowire.cluster.files.mark_header import ClusterMarkHeader, mark_kind
from aerowire.cluster.services import ClusteredServiceContainer
from aerowire.codecs.flyweights import cluster
from aerowire.codecs.flyweights.cluster.enums import BooleanType, CloseReason, ClusterAction, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.request_service_ack import RequestServiceAck
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.flyweights.cluster.messages.service_termination_position import ServiceTerminationPosition
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader, SessionMessageHeaderDecoder
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyEncoder, ClusterRole, RecoveryStateKeyEncoder, SnapshotRecordingIdEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from aerowire.ipc.error_log import read_errors
from aerowire.system.file_system import FileSystem

CONTROL = "aeron:ipc?term-length=128k"
LOG, LOG_STREAM_ID = "aeron:ipc?term-length=64k", 100
RESPONSE, RESPONSE_STREAM_ID = "aeron:ipc?term-length=64k", 102
TERM_ID = 3
# One thread runs all: a machine that is busy with other things must not end its clients.
PATIENT: dict[str, Any] = {"client_liveness_timeout_ns": "60s", "publication_unblock_timeout_ns": "61s"}
SESSION_HEADER_LENGTH = 8 + SessionMessageHeaderDecoder.SBE_BLOCK_LENGTH


class Rig:
    """The driver, the module's client and one container. `run` lets all of them work until something is so."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.driver = MediaDriver.launch_embedded(threading_mode="INVOKER", ipc_mtu_length=1408, **PATIENT)
        self.aeron = Aeron.connect(self.driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=self.driver.invoker)
        self.control: Publication = self.aeron.add_publication(CONTROL, 104)
        self.from_services: Subscription = self.aeron.add_subscription(CONTROL, 105)
        self.commit_position = self.aeron.add_counter(
            CounterType.CLUSTER_COMMIT_POSITION, "commit-pos", key=ClusterCounterKeyEncoder.encode(cluster_id=0)
        )
        self.messages: list[Any] = []
        self.payloads: list[bytes] = []
        self.containers: list[ClusteredServiceContainer] = []
        self.invokers: list[Any] = []
        self.log: ExclusivePublication | None = None
        self.archive: Archive | None = None
        self._assembler = FragmentAssembler(self._on_message)

    def start_archive(self, **options: Any) -> Archive:
        """Launch the archive of the node."""
        self.archive = Archive.launch(
            aeron_dir=self.driver.aeron_dir,
            archive_dir=self.directory.parent / "archive",
            threading_mode="INVOKER",
            media_driver_invoker=self.driver.invoker,
            segment_file_length=64 * 1024,
            control_channel_enabled=False,
            replication_channel="aeron:udp?endpoint=127.0.0.1:0",
            **{"low_storage_space_threshold": 0, **options},
        )
        self.invokers.append(self.archive.invoker)
        return self.archive

    # ---- the container

    def launch(self, service: object, **options: Any) -> ClusteredServiceContainer:
        """Launch a container, which waits for the recovery counter."""
        launching = ClusteredServiceContainer.async_launch(
            service,
            aeron_dir=self.driver.aeron_dir,
            cluster_dir=str(self.directory),
            use_agent_invoker=True,
            agent_invokers=(self.driver.invoker, *(() if self.archive is None else (self.archive.invoker,))),
            idle_strategy="noop",
            **options,
        )
        self.run(launching.poll)
        container = launching.result()
        self.containers.append(container)
        return container

    def recover(self, *recording_ids: int, term_id: int = -1, position: int = 0, timestamp: int = 0) -> None:
        """Tell services where they begin."""
        key = RecoveryStateKeyEncoder.encode(
            leadership_term_id=term_id,
            log_position=position,
            timestamp=timestamp,
            cluster_id=0,
            snapshots=[SnapshotRecordingIdEncoder.encode(recording_id=one) for one in recording_ids],
        )
        self.aeron.add_counter(CounterType.CLUSTER_RECOVERY_STATE, "recovery", key=key)

    def start(self, service: object, *, role: ClusterRole = ClusterRole.LEADER, **options: Any) -> ClusteredServiceContainer:
        """Launch a container and bring it into a log, in a term."""
        container = self.launch(service, **options)
        self.recover()
        assert self.take(ServiceAck) == ServiceAck(
            log_position=0, timestamp=0, ack_id=0, relevant_id=container.aeron.client_id, service_id=container.context.service_id
        )
        self.join(role=role)
        assert self.take(ServiceAck).ack_id == 1
        self.begin_term()
        return container

    # ---- what it tells services

    def tell(self, message: Any) -> None:
        """Send a message to services."""
        self.run(lambda: self.control.offer(message.encode()) > 0)

    def join(
        self, *, role: ClusterRole = ClusterRole.LEADER, position: int = 0, max_position: int = (1 << 63) - 1, is_startup: bool = False
    ) -> None:
        """Open a log that begins at a position, and have services join it."""
        if self.log is None:
            channel = f"{LOG}|init-term-id=7|term-id={7 + (position >> 16)}|term-offset={position & 0xFFFF}"
            self.log = self.aeron.add_exclusive_publication(channel, LOG_STREAM_ID)
        self.tell(
            JoinLog(
                log_position=position,
                max_log_position=max_position,
                member_id=2,
                log_session_id=self.log.session_id,
                log_stream_id=LOG_STREAM_ID,
                is_startup=BooleanType.TRUE if is_startup else BooleanType.FALSE,
                role=role,
                is_standby=BooleanType.FALSE,
                log_channel=f"{LOG}|session-id={self.log.session_id}",
            )
        )

    def terminate(self, position: int, *, is_ack_required: bool | None = True) -> None:
        """Have services end at a position."""
        required = None if is_ack_required is None else BooleanType.TRUE if is_ack_required else BooleanType.FALSE
        self.tell(ServiceTerminationPosition(log_position=position, ack_required=required))

    def request_ack(self, position: int) -> None:
        """Have services acknowledge at a position."""
        self.tell(RequestServiceAck(log_position=position))

    # ---- the log

    def append(self, *messages: Any, is_committed: bool = True) -> int:
        """Append messages to the log; return the position behind them."""
        assert self.log is not None
        for message in messages:
            data = message if isinstance(message, bytes) else message.encode()
            self.run(lambda: self.log is not None and self.log.offer(data) > 0)  # noqa: B023 called at once
        if is_committed:
            self.commit_position.value = self.log.position
        return self.log.position

    def begin_term(self, term_id: int = TERM_ID, *, timestamp: int = 1000, app_version: int = 1) -> int:
        """Append the beginning of a term; its length is that of the frame."""
        assert self.log is not None
        return self.append(
            NewLeadershipTermEvent(
                leadership_term_id=term_id,
                log_position=self.log.position + 96,
                timestamp=timestamp,
                term_base_log_position=self.log.position,
                leader_member_id=2,
                log_session_id=self.log.session_id,
                time_unit=ClusterTimeUnit.MILLIS,
                app_version=app_version,
            )
        )

    def open_session(self, session_id: int, *, timestamp: int = 1001, principal: bytes = b"", channel: str = RESPONSE) -> int:
        """Append the beginning of a client's session."""
        return self.append(
            SessionOpenEvent(
                leadership_term_id=TERM_ID,
                correlation_id=77,
                cluster_session_id=session_id,
                timestamp=timestamp,
                response_stream_id=RESPONSE_STREAM_ID,
                response_channel=channel,
                encoded_principal=principal,
            )
        )

    def close_session(self, session_id: int, *, timestamp: int = 1002, reason: CloseReason = CloseReason.CLIENT_ACTION) -> int:
        """Append the end of a client's session."""
        return self.append(
            SessionCloseEvent(leadership_term_id=TERM_ID, cluster_session_id=session_id, timestamp=timestamp, close_reason=reason)
        )

    def fire_timer(self, correlation_id: int, *, timestamp: int = 1003) -> int:
        """Append the event of a timer."""
        return self.append(TimerEvent(leadership_term_id=TERM_ID, correlation_id=correlation_id, timestamp=timestamp))

    def snapshot(self, *, timestamp: int = 1004, flags: int | None = 0) -> int:
        """Append the request for a snapshot; return its position."""
        assert self.log is not None
        return self.append(
            ClusterActionRequest(
                leadership_term_id=TERM_ID,
                log_position=self.log.position + 96,
                timestamp=timestamp,
                action=ClusterAction.SNAPSHOT,
                flags=flags,
            )
        )

    # ---- the work of all

    def cycle(self) -> None:
        """Let all work once."""
        self.driver.invoker.invoke()
        self.aeron.invoke()
        for invoker in self.invokers:
            invoker.invoke()
        for container in self.containers:
            if not container.invoker.is_closed:
                container.invoker.invoke()
        self.from_services.poll(self._assembler, 10)

    def run(self, until: Callable[[], object], cycles: int = 20_000) -> None:
        """Let all work until something is so."""
        for _ in range(cycles):
            if until():
                return
            self.cycle()
        raise AssertionError(f"it did not come to that; errors: {[self.errors(one) for one in self.containers]}")

    def cycles(self, count: int = 50) -> None:
        """Let all work for a while, in which something is not to happen."""
        for _ in range(count):
            self.cycle()

    def take(self, kind: type[Any]) -> Any:
        """Wait for the next message of a kind from the services."""
        self.run(lambda: any(isinstance(one, kind) for one in self.messages))
        found = next(one for one in self.messages if isinstance(one, kind))
        self.messages.remove(found)
        return found

    def errors(self, container: ClusteredServiceContainer) -> list[str]:
        """Return what is in a container's error log."""
        return [found.text for found in read_errors(self.mark_file(container.context.service_id)[1])]

    def mark_file(self, service_id: int = 0) -> tuple[ClusterMarkHeader, bytes]:
        """Return the header of a container's mark file, and its error log."""
        kind = mark_kind(ClusterComponentType.CONTAINER, service_id)
        return kind.read(FileSystem(), kind.path(FileSystem(), self.directory))

    def error_count(self, container: ClusteredServiceContainer) -> int:
        """Return the counter of a container's errors."""
        return container.agent.core.counters[CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT].value

    def close(self) -> None:
        """Close everything."""
        for container in self.containers:
            container.close()
        if self.archive is not None:
            self.archive.close()
        self.aeron.close()
        self.driver.close()

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        data = bytes(buffer[offset : offset + length])
        message = cluster.decode(data)
        self.messages.append(message)
        if isinstance(message, SessionMessageHeader):
            self.payloads.append(data[SESSION_HEADER_LENGTH:])


def join_log(log_session_id: int) -> bytes:
    """Return the request to join a log from its beginning, as a follower's service."""
    return JoinLog(
        log_position=0,
        max_log_position=1 << 40,
        member_id=0,
        log_session_id=log_session_id,
        log_stream_id=LOG_STREAM_ID,
        is_startup=BooleanType.TRUE,
        role=ClusterRole.FOLLOWER,
        log_channel=LOG,
    ).encode()


def session_message(session_id: int, payload: bytes, *, timestamp: int = 2000) -> bytes:
    """Return a session message as the log has it."""
    header = SessionMessageHeader(leadership_term_id=TERM_ID, cluster_session_id=session_id, timestamp=timestamp)
    return header.encode() + payload


def session_messages(session_id: int, payloads: Iterable[bytes], *, timestamp: int = 2000) -> list[bytes]:
    """Return session messages as the log has them, one millisecond apart."""
    return [session_message(session_id, payload, timestamp=timestamp + index) for index, payload in enumerate(payloads)]
