"""A service's snapshots: recorded by the node's archive, and loaded from there, step by step. Aeron: ClusteredServiceAgent's snapshots."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.aeron_archive import AeronArchive
from aerowire.archive.client.parameters import ReplayParams
from aerowire.archive.client.recording_commands import with_session
from aerowire.archive.client.recording_pos import describe_recording_counter, find_counter_id_by_session, is_recording_active
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.base.errors import ArchiveError, ClusterServiceError, ClusterSnapshotError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.services.core import ContainerTermination
from aerowire.cluster.snapshots.markers import SERVICE_SNAPSHOT_TYPE_ID, SnapshotDetails, SnapshotRecords
from aerowire.cluster.snapshots.service_snapshot import decode_client_session, encode_service_snapshot
from aerowire.cluster.snapshots.stream import read_records, write_messages
from aerowire.codecs.flyweights.archive.enums import SourceLocation
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.counters import NULL_COUNTER_ID
from aerowire.recordings.versions import version_text

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.services.client_sessions import ClientSessions
    from aerowire.cluster.services.cluster import Cluster
    from aerowire.cluster.services.core import ContainerCore

Operation = Generator["Pending[Any] | None", Any, Any]


class Snapshots:
    """Takes and loads the snapshots of one service. The agent's thread."""

    def __init__(self, core: ContainerCore, sessions: ClientSessions, cluster: Cluster) -> None:
        self._core = core
        self._sessions = sessions
        self._cluster = cluster

    # ---- taking

    def take(self, log_position: int, leadership_term_id: int) -> Operation:
        """Take a snapshot and acknowledge it; with recording id -1 if it has failed, and then raise why.

        Raises ContainerTermination where the archive has no room.
        """
        core = self._core
        begin_ns = core.ports.clock.now_ns()
        recording_id, failure = NULL_VALUE, None
        try:
            recording_id = yield from self._record(log_position, leadership_term_id)
        except ContainerTermination:
            raise
        except Exception as error:
            failure = error
        self._measure(core.ports.clock.now_ns() - begin_ns)
        yield from core.acknowledge(log_position, self._cluster.time, recording_id)
        if isinstance(failure, ArchiveError) and failure.error_code == ArchiveErrorCode.STORAGE_SPACE:
            raise ContainerTermination(f"no room for a snapshot: {failure}") from failure
        if failure is not None:
            raise failure

    def _record(self, log_position: int, leadership_term_id: int) -> Generator[Pending[Any] | None, Any, int]:
        core, context, counters = self._core, self._core.context, self._core.aeron.counters_reader
        with ExitStack() as opened:
            archive = yield from self._connect(opened)
            publication: ExclusivePublication = yield core.aeron.async_add_exclusive_publication(
                context.snapshot_channel, context.service_snapshot_stream_id
            )
            opened.callback(publication.close)
            channel = with_session(context.snapshot_channel, publication.session_id)
            yield archive.async_start_recording(channel, context.service_snapshot_stream_id, SourceLocation.LOCAL, auto_stop=True)
            while (counter_id := find_counter_id_by_session(counters, publication.session_id, archive.archive_id)) == NULL_COUNTER_ID:
                archive.check_for_error_response()
                yield None
            recording = describe_recording_counter(counters, counter_id)
            if recording is None:
                raise ClusterSnapshotError("the recording of a snapshot has stopped at once", where=channel, expected="an active recording")
            yield from self.write(publication, log_position, leadership_term_id, archive.check_for_error_response)
            while counters.value(counter_id) < publication.position:
                archive.check_for_error_response()
                if not is_recording_active(counters, counter_id, recording.recording_id):
                    raise ClusterSnapshotError(
                        "the recording of a snapshot has stopped",
                        where=f"recording {recording.recording_id}",
                        expected=f"position {publication.position}",
                    )
                yield None
            return recording.recording_id

    def write(
        self, publication: ExclusivePublication, log_position: int, leadership_term_id: int, check: Callable[[], object]
    ) -> Generator[None, None, None]:
        """Write the sessions of clients, then the service's state; `check` raises what the archive reports."""
        core = self._core
        details = SnapshotDetails(
            type_id=SERVICE_SNAPSHOT_TYPE_ID,
            log_position=log_position,
            leadership_term_id=leadership_term_id,
            time_unit=core.time_unit if core.time_unit is not None else ClusterTimeUnit.MILLIS,
            app_version=core.context.app_version,
        )
        records = [session.record for session in self._sessions.all]
        yield from write_messages(publication, encode_service_snapshot(details, records))
        check()
        yield from core.calls.take_snapshot(publication, details)

    def _measure(self, duration_ns: int) -> None:
        counters = self._core.counters
        longest = counters[CounterType.CLUSTERED_SERVICE_MAX_SNAPSHOT_DURATION]
        if longest.is_closed:
            return
        longest.propose_max(duration_ns)
        if duration_ns > self._core.context.service_snapshot_threshold_ns:
            counters[CounterType.CLUSTERED_SERVICE_SNAPSHOT_DURATION_THRESHOLD_EXCEEDED].increment()

    # ---- loading

    def load(self, recording_id: int) -> Operation:
        """Load a snapshot: the sessions of clients, then, in `on_start`, the service's state."""
        core, context = self._core, self._core.context
        where = f"recording {recording_id}"
        with ExitStack() as opened:
            archive = yield from self._connect(opened)
            replay_session_id = yield archive.async_start_replay(
                recording_id, context.replay_channel, context.replay_stream_id, ReplayParams(position=0)
            )
            session_id = session_id_of(replay_session_id)
            subscription: Subscription = yield core.aeron.async_add_subscription(
                with_session(context.replay_channel, session_id), context.replay_stream_id
            )
            opened.callback(subscription.close)
            image = yield from _await_image(subscription, session_id, archive.check_for_error_response)
            yield from self.read(image, where, archive.check_for_error_response)

    def read(self, image: Image, where: str, check: Callable[[], object]) -> Generator[None, None, None]:
        """Read the sessions of clients, then start the service with its state; `where` names the stream in errors."""
        core, records = self._core, SnapshotRecords(SERVICE_SNAPSHOT_TYPE_ID, where)
        yield from read_records(image, records, partial(self._add_session, where), check)
        assert records.details is not None
        check_app_version(core, records.details.app_version, "a snapshot")
        core.time_unit = records.details.time_unit
        yield from core.calls.start(self._cluster, image, check)

    def _add_session(self, where: str, template_id: int, message: bytes) -> None:
        record = decode_client_session(template_id, message, where)
        if record is not None:
            self._sessions.add(record)

    def _connect(self, opened: ExitStack) -> Generator[Pending[Any] | None, Any, AeronArchive]:
        context = self._core.context
        archive: AeronArchive = yield AeronArchive.async_connect(
            aeron=self._core.aeron,
            control_request_channel=context.archive_channel("req"),
            control_request_stream_id=context.local_control_stream_id,
            control_response_channel=context.archive_channel("resp"),
            control_response_stream_id=context.archive_response_stream_id,
            client_name=context.service_name,
            properties=context.properties,
            environ=context.environ,
        )
        opened.callback(archive.close)
        return archive


def check_app_version(core: ContainerCore, theirs: int, what: str) -> None:
    """Raise ClusterServiceError where this application cannot go on from what another version of it has left."""
    ours = core.context.app_version
    if not core.context.app_version_validator(ours, theirs):
        raise ClusterServiceError(
            f"the version of the application does not fit that of {what}",
            where=f"service {core.context.service_id}",
            expected=f"a version that goes with {version_text(ours)}",
            actual=version_text(theirs),
        )


def _await_image(subscription: Subscription, session_id: int, check: Callable[[], object]) -> Generator[None, None, Image]:
    while (image := subscription.image_by_session_id(session_id)) is None:
        check()
        yield
    return image
