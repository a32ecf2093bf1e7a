"""The replication of a leader's log into the node's own archive, up to a position. Aeron: Election, LogReplication."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.parameters import ReplicationParams
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.cluster.consensus.inputs import LogReplicated
from aerowire.cluster.module import channels
from aerowire.cluster.module.log.recording_replication import ReplicationProgress, ReplicationSource, replicate_recording

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.consensus.members import ClusterMember
    from aerowire.cluster.module.core import ModuleCore


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
    context = core.context
    control_channel = channels.destination(context.leader_archive_control_channel, leader.archive_endpoint)
    progress = yield from replicate_recording(
        core,
        ReplicationSource(purpose="ELECTION", control_channel=control_channel, recording_id=leader_recording_id),
        _params(core, leader, recording_id, stop_position),
        progress_timeout_ns=context.leader_heartbeat_timeout_ns,
        progress_interval_ns=context.leader_heartbeat_interval_ns,
        is_done=_is_done,
        on_progress=lambda found: on_progress(LogReplicated(found.position, found.recording_id)),
    )
    return LogReplicated(progress.position, progress.recording_id, is_ended=True)


def _is_done(progress: ReplicationProgress) -> bool:
    """Return whether nothing more is written to the log's recording."""
    return progress.has_ended and progress.has_stopped


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
