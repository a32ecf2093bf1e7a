"""The answer to a backup: the last term, and the latest snapshots at or before a position. Aeron: ConsensusPublisher.backupResponse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.units import INT64_MAX
from aerowire.cluster.consensus.members import encode_members
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cluster.messages.backup_response import BackupResponse, BackupResponseSnapshots
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.sessions import effects


def backup_response(core: ModuleCore, effect: effects.BackupResponse) -> bytes | None:
    """Return the message; None while recording.log has no term."""
    context, log = core.context, core.recording_log
    term = log.find_last_term()
    if term is None:
        return None
    position = INT64_MAX if effect.log_position == NULL_POSITION else effect.log_position
    snapshots = log.find_snapshot_at_or_before_or_lowest(position, context.service_count) or ()
    return BackupResponse(
        correlation_id=effect.correlation_id,
        log_recording_id=term.recording_id,
        log_leadership_term_id=term.leadership_term_id,
        log_term_base_log_position=term.term_base_log_position,
        last_leadership_term_id=term.leadership_term_id,
        last_term_base_log_position=term.term_base_log_position,
        commit_position_counter_id=core.counters[CounterType.CLUSTER_COMMIT_POSITION].counter_id,
        leader_member_id=effect.leader_member_id,
        member_id=context.cluster_member_id,
        snapshots=[
            BackupResponseSnapshots(
                recording_id=snapshot.recording_id,
                leadership_term_id=snapshot.leadership_term_id,
                term_base_log_position=snapshot.term_base_log_position,
                log_position=snapshot.log_position,
                timestamp=snapshot.timestamp,
                service_id=snapshot.service_id,
            )
            for snapshot in snapshots
        ],
        cluster_members=encode_members(context.members),
    ).encode()
