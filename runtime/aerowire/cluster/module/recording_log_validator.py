"""A look whether the archive still has the recordings of all snapshots. Aeron: RecordingLogValidator."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from aerowire.codecs.flyweights.events import ClusterEventCode
from aerowire.codecs.flyweights.recording_log import EntryType

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.module.core import ModuleCore


def validate_recording_log(core: ModuleCore) -> Generator[Pending[Any] | None, Any, None]:
    """Invalidate the snapshots in recording.log whose recording is gone, in steps."""
    log = core.recording_log
    unknown: set[int] = set()
    for recording_id in {entry.recording_id for entry in log.entries if entry.is_valid and entry.entry_type == EntryType.SNAPSHOT}:
        found = yield core.archive.async_list_recording(recording_id)
        if not found:
            unknown.add(recording_id)
    for entry in [entry for entry in log.entries if entry.is_valid and entry.entry_type == EntryType.SNAPSHOT]:
        if entry.recording_id in unknown:
            log.invalidate_entry(entry)
            core.events.tell(
                ClusterEventCode.SNAPSHOT_ENTRY_INVALIDATION,
                entry_index=entry.entry_index,
                recording_id=entry.recording_id,
                log_position=entry.log_position,
                service_id=entry.service_id,
            )
            core.errors.warn(f"snapshot at position {entry.log_position} has lost recording {entry.recording_id}")
    log.force()
