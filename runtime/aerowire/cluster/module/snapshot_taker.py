"""The consensus module's own snapshot, taken and read step by step. Aeron: ConsensusModuleAgent.takeSnapshot, loadSnapshot."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.recording_pos import describe_recording_counter, find_counter_id_by_session, is_recording_active
from aerowire.base.errors import ClusterSnapshotError
from aerowire.cluster.module import channels
from aerowire.cluster.snapshots.consensus_module_snapshot import (
    ConsensusModuleSnapshotLoader,
    ConsensusModuleState,
    check_details,
    encode_consensus_module_snapshot,
)
from aerowire.cluster.snapshots.markers import CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, SnapshotDetails, SnapshotRecords
from aerowire.cluster.snapshots.stream import read_records, write_messages
from aerowire.codecs.flyweights.archive.enums import SourceLocation
from aerowire.ipc.counters import NULL_COUNTER_ID

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.cluster.files.snapshot_sets import Snapshot
    from aerowire.cluster.module.core import ModuleCore


def take_snapshot(
    core: ModuleCore,
    state: ConsensusModuleState,
    log_position: int,
    leadership_term_id: int,
    write_more: Callable[[ExclusivePublication], Generator[Pending[Any] | None, Any, None]],
) -> Generator[Pending[Any] | None, Any, int]:
    """Record a snapshot of the state at a position; return the recording's id once all of it is recorded.

    `write_more` writes what stands behind the state: that of an extension.
    """
    context, aeron, archive = core.context, core.aeron, core.archive
    stream_id = context.consensus_module_snapshot_stream_id
    publication: ExclusivePublication = yield aeron.async_add_exclusive_publication(context.snapshot_channel, stream_id)
    try:
        channel = channels.with_parameters(context.snapshot_channel, session_id=publication.session_id)
        yield archive.async_start_recording(channel, stream_id, SourceLocation.LOCAL, auto_stop=True)
        counters = aeron.counters_reader
        check = core.deadline("the archive does not record the snapshot")
        while (counter_id := find_counter_id_by_session(counters, publication.session_id, archive.archive_id)) == NULL_COUNTER_ID:
            check()
            yield None
        recorded = describe_recording_counter(counters, counter_id)
        if recorded is None:
            raise ClusterSnapshotError("recording of a snapshot has stopped unexpectedly", where=channel)
        details = SnapshotDetails(
            type_id=CONSENSUS_MODULE_SNAPSHOT_TYPE_ID,
            log_position=log_position,
            leadership_term_id=leadership_term_id,
            time_unit=core.cluster_clock.time_unit,
            app_version=context.app_version,
        )
        yield from write_messages(publication, encode_consensus_module_snapshot(details, state))
        yield from write_more(publication)
        while counters.value(counter_id) < publication.position:
            if not is_recording_active(counters, counter_id, recorded.recording_id):
                raise ClusterSnapshotError("recording of a snapshot has stopped unexpectedly", where=f"recording {recorded.recording_id}")
            yield None
        return recorded.recording_id
    finally:
        if not aeron.is_closed:
            publication.close()


def load_snapshot(
    core: ModuleCore, image: Image, snapshot: Snapshot, on_state: Callable[[ConsensusModuleState], object]
) -> Generator[None, None, None]:
    """Read a snapshot from its replay, in steps, and call `on_state` with what it holds. Raises ClusterSnapshotError."""
    context = core.context
    where = f"recording {snapshot.recording_id}"
    records = SnapshotRecords(CONSENSUS_MODULE_SNAPSHOT_TYPE_ID, where)
    loader = ConsensusModuleSnapshotLoader(where, context.service_count)
    yield from read_records(image, records, loader.on_record, lambda: None)
    assert records.details is not None  # the end of the records was read
    check_details(
        records.details,
        where,
        time_unit=context.time_unit,
        app_version=context.app_version,
        is_compatible=context.app_version_validator,
    )
    on_state(loader.state())
