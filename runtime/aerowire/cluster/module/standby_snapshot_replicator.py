"""The replication of the latest snapshots of standby nodes into the node's own archive. Aeron: StandbySnapshotReplicator.

recording.log says which standby has which; those that are later than the node's own snapshots are fetched from the standby that has the
latest set, or, where that fails, from the next one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

from aerowire.archive.client.parameters import ReplicationParams
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.base.errors import ArchiveError, ConsensusModuleError
from aerowire.cluster.module import channels
from aerowire.cluster.module.log.recording_replication import ReplicationProgress, ReplicationSource, replicate_recording
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.files.recording_log import RecordingLog
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
    from aerowire.cluster.module.core import ModuleCore

    Entries = tuple[RecordingLogEntry, ...]

# A replication may stand still for as long as two requests to an archive may take. Its position is looked at so often in that time.
_PROGRESS_REQUESTS: Final = 2
_PROGRESS_LOOKS: Final = 10
# A source whose replication ends before all of the snapshot has come is asked again, in all so often.
_ATTEMPTS_MAX: Final = 3


def replicate_standby_snapshots(core: ModuleCore) -> Generator[Pending[Any] | None, Any, None]:
    """Fetch the latest snapshots of standby nodes and add them to recording.log, in steps; there may be none to be fetched.

    Raises ConsensusModuleError where no standby that has later ones gives them.
    """
    log = core.recording_log
    later = _later_than_own(log, log.latest_standby_snapshots(core.context.service_count))
    failures: dict[str, str] = {}
    for endpoint, entries in sorted(later.items(), key=lambda item: (-item[1][0].log_position, item[0])):
        try:
            yield from _replicate(core, endpoint, entries)
        except (ArchiveError, ConsensusModuleError) as error:
            failures[endpoint] = str(error)
        else:
            return
    if failures:
        raise ConsensusModuleError("failed to replicate any standby snapshots", where=", ".join(failures), actual=failures)


def _later_than_own(log: RecordingLog, snapshots: Mapping[str, Entries]) -> dict[str, Entries]:
    """Return the snapshots of each standby that are later than those of the node; a standby without any is left out."""

    def is_later(entry: RecordingLogEntry) -> bool:
        own = log.get_latest_snapshot(entry.service_id)
        return own is None or entry.log_position > own.log_position

    later = {endpoint: tuple(filter(is_later, entries)) for endpoint, entries in snapshots.items()}
    return {endpoint: entries for endpoint, entries in later.items() if entries}


def _replicate(core: ModuleCore, endpoint: str, entries: Entries) -> Generator[Pending[Any] | None, Any, None]:
    """Fetch snapshots of one standby, and add them once all are there: services by descending id, the consensus module LAST."""
    control_channel = channels.destination(core.context.leader_archive_control_channel, endpoint)
    copies: dict[int, int] = {}
    for entry in entries:
        source = ReplicationSource(purpose="STANDBY_SNAPSHOT", control_channel=control_channel, recording_id=entry.recording_id)
        copies[entry.service_id] = yield from _copy(core, source)
    log = core.recording_log
    for entry in sorted(entries, key=lambda entry: -entry.service_id):
        log.append_snapshot(
            copies[entry.service_id],
            entry.leadership_term_id,
            entry.term_base_log_position,
            entry.log_position,
            entry.timestamp,
            entry.service_id,
        )
    log.force()
    core.increment(CounterType.CLUSTER_SNAPSHOT)


def _copy(core: ModuleCore, source: ReplicationSource) -> Generator[Pending[Any] | None, Any, int]:
    """Replicate one recording as a whole; return the id of the copy."""
    timeout_ns = _PROGRESS_REQUESTS * core.archive.context.message_timeout_ns
    for _ in range(_ATTEMPTS_MAX):
        progress = yield from replicate_recording(
            core,
            source,
            ReplicationParams(
                replication_channel=core.context.replication_channel,
                replication_session_id=session_id_of(core.aeron.next_correlation_id()),
            ),
            progress_timeout_ns=timeout_ns,
            progress_interval_ns=timeout_ns // _PROGRESS_LOOKS,
            is_done=_has_ended,
        )
        if progress.has_synced:
            return progress.recording_id
    raise ConsensusModuleError("a snapshot was not replicated to its end", where=source, expected="SYNC", actual=progress)


def _has_ended(progress: ReplicationProgress) -> bool:
    return progress.has_ended
