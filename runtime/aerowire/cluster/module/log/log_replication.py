"""The replication of a leader's log into the node's own archive, up to a position. Aeron: RecordingReplication."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.parameters import ReplicationParams
from aerowire.archive.client.recording_pos import find_counter_id_by_recording
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.base.errors import ConsensusModuleError
from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.inputs import LogReplicated
from aerowire.cluster.module import channels
from aerowire.codecs.flyweights.archive.enums import RecordingSignal
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.ipc.counters import NULL_COUNTER_ID

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingSignalEvent
    from aerowire.base.errors import ArchiveError
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.consensus.members import ClusterMember
    from aerowire.cluster.module.core import ModuleCore


@dataclass(slots=True)
class _Progress:
    """The state of a replication, by the signals of the archive."""

    recording_id: int
    position: int = NULL_POSITION
    has_stopped: bool = False
    has_ended: bool = False
    error: ArchiveError | None = None

    def on_signal(self, event: RecordingSignalEvent) -> None:
        if event.recording_id != NULL_VALUE:
            self.recording_id = event.recording_id
        if event.position != NULL_POSITION:
            self.position = event.position
        self.has_stopped |= event.signal == RecordingSignal.STOP
        self.has_ended |= event.signal == RecordingSignal.REPLICATE_END

    def on_error(self, error: ArchiveError) -> None:
        self.error = error


def replicate_log(
    core: ModuleCore,
    leader: ClusterMember,
    *,
    leader_recording_id: int,
    recording_id: int,
    stop_position: int,
    on_progress: Callable[[LogReplicated], object],
) -> Generator[Pending[Any] | None, Any, LogReplicated]:
    """Replicate a leader's recording into a recording, -1 for a new one, in steps; `on_progress` is called in each heartbeat interval.

    Raises ConsensusModuleError where nothing has come for the heartbeat timeout, ArchiveError for what an archive refuses.
    """
    archive, clock, context = core.archive, core.ports.clock, core.context
    source = channels.destination(context.leader_archive_control_channel, leader.archive_endpoint)
    replication_id: int = yield archive.async_replicate(
        leader_recording_id,
        archive.context.control_request_stream_id,
        source,
        _params(core, leader, recording_id, stop_position),
    )
    progress = _Progress(recording_id)
    core.signals.listen(replication_id, progress.on_signal, progress.on_error)
    try:
        deadline_ns = clock.now_ns() + context.leader_heartbeat_timeout_ns
        look_ns = clock.now_ns() + context.leader_heartbeat_interval_ns
        while not (progress.has_ended and progress.has_stopped):
            if progress.error is not None:
                raise progress.error
            now_ns = clock.now_ns()
            if now_ns >= look_ns:
                look_ns = now_ns + context.leader_heartbeat_interval_ns
                if _advance(core, progress):
                    deadline_ns = now_ns + context.leader_heartbeat_timeout_ns
                    on_progress(LogReplicated(progress.position, progress.recording_id))
            if now_ns >= deadline_ns:
                raise ConsensusModuleError(
                    "log replication has not progressed", where=source, expected=f"position {stop_position}", actual=progress
                )
            yield None
        return LogReplicated(progress.position, progress.recording_id, is_ended=True)
    finally:
        core.signals.forget(replication_id)
        if not (progress.has_ended or core.aeron.is_closed) and archive.is_connected:
            archive.async_try_stop_replication(replication_id)


def _advance(core: ModuleCore, progress: _Progress) -> bool:
    """Look how far the replication has come; return whether that is further than before."""
    counters = core.aeron.counters_reader
    counter_id = find_counter_id_by_recording(counters, progress.recording_id, core.archive.archive_id)
    if progress.recording_id == NULL_VALUE or counter_id == NULL_COUNTER_ID:
        return False
    position = counters.value(counter_id)
    if position <= progress.position:
        return False
    progress.position = position
    return True


def _params(core: ModuleCore, leader: ClusterMember, recording_id: int, stop_position: int) -> ReplicationParams:
    channel, response_channel = core.context.replication_channel, ""
    if leader.archive_response_endpoint:
        channel = response_channel = channels.response_replication(channel, leader.archive_response_endpoint)
    return ReplicationParams(
        dst_recording_id=recording_id,
        stop_position=stop_position,
        replication_channel=channel,
        replication_session_id=session_id_of(core.aeron.next_correlation_id()),
        src_response_channel=response_channel,
    )
