"""The replication of a recording of another archive into the node's own, followed by its signals and its position.

Aeron: RecordingReplication.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.recording_pos import find_counter_id_by_recording
from aerowire.base.errors import ConsensusModuleError
from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.archive.enums import RecordingSignal
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.events import ClusterEventCode
from aerowire.ipc.counters import NULL_COUNTER_ID

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingSignalEvent
    from aerowire.archive.client.parameters import ReplicationParams
    from aerowire.base.errors import ArchiveError
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.module.core import ModuleCore


@dataclass(slots=True)
class ReplicationProgress:
    """The state of a replication, by the signals of the archive. `has_synced` tells that the copy has all of a recording that has ended."""

    recording_id: int
    position: int = NULL_POSITION
    has_synced: bool = False
    has_stopped: bool = False
    has_ended: bool = False
    error: ArchiveError | None = None

    def on_signal(self, event: RecordingSignalEvent) -> None:
        """Take a signal of the archive."""
        if event.recording_id != NULL_VALUE:
            self.recording_id = event.recording_id
        if event.position != NULL_POSITION:
            self.position = event.position
        self.has_synced |= event.signal == RecordingSignal.SYNC
        self.has_stopped |= event.signal == RecordingSignal.STOP
        self.has_ended |= event.signal == RecordingSignal.REPLICATE_END

    def on_error(self, error: ArchiveError) -> None:
        """Take an error of the archive."""
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationSource:
    """The recording that is copied: at an archive's control channel, for a purpose that the event of the end names."""

    purpose: str
    control_channel: str
    recording_id: int


def replicate_recording(
    core: ModuleCore,
    source: ReplicationSource,
    params: ReplicationParams,
    *,
    progress_timeout_ns: int,
    progress_interval_ns: int,
    is_done: Callable[[ReplicationProgress], bool],
    on_progress: Callable[[ReplicationProgress], object] = lambda _: None,
) -> Generator[Pending[Any] | None, Any, ReplicationProgress]:
    """Replicate a recording, in steps, until `is_done`; `on_progress` is called in an interval in which more has come.

    Raises ConsensusModuleError where nothing has come for the time-out, ArchiveError for what an archive refuses.
    """
    archive, clock = core.archive, core.ports.clock
    replication_id: int = yield archive.async_replicate(
        source.recording_id, archive.context.control_request_stream_id, source.control_channel, params
    )
    progress = ReplicationProgress(params.dst_recording_id)
    core.signals.listen(replication_id, progress.on_signal, progress.on_error)
    try:
        deadline_ns = clock.now_ns() + progress_timeout_ns
        look_ns = clock.now_ns() + progress_interval_ns
        while not is_done(progress):
            if progress.error is not None:
                raise progress.error
            now_ns = clock.now_ns()
            if now_ns >= look_ns:
                look_ns = now_ns + progress_interval_ns
                if _advance(core, progress):
                    deadline_ns = now_ns + progress_timeout_ns
                    on_progress(progress)
            if now_ns >= deadline_ns:
                end = "the end of the recording" if params.stop_position == NULL_POSITION else f"position {params.stop_position}"
                raise ConsensusModuleError("replication has not progressed", where=source, expected=end, actual=progress)
            yield None
        core.events.tell(
            ClusterEventCode.REPLICATION_ENDED,
            purpose=source.purpose,
            channel=source.control_channel,
            src_recording_id=source.recording_id,
            dst_recording_id=progress.recording_id,
            position=progress.position,
            has_synced=progress.has_synced,
        )
        return progress
    finally:
        core.signals.forget(replication_id)
        if not (progress.has_ended or core.aeron.is_closed) and archive.is_connected:
            archive.async_try_stop_replication(replication_id)


def _advance(core: ModuleCore, progress: ReplicationProgress) -> bool:
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
