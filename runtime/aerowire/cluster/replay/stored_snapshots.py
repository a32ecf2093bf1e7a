"""The snapshots that a member has recorded, beside those that a replay of its log makes at the same positions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from aerowire.cluster.replay.outputs import SNAPSHOT, Output, snapshot_position

if TYPE_CHECKING:
    from aerowire.cluster.replay.log_replay import ReplayedMessage
    from aerowire.cluster.replay.member_log import MemberLog


@dataclass(frozen=True, slots=True)
class SnapshotComparison:
    """A recorded snapshot beside a replayed one. `index` is that of the first message that differs, None where none does.

    `recorded` or `replayed` is None for the one that ends before that message.
    """

    log_position: int
    recording_id: int
    index: int | None = None
    recorded: Output | None = None
    replayed: Output | None = None


def compare_snapshot(log: MemberLog, message: ReplayedMessage) -> SnapshotComparison | None:
    """Compare a snapshot that was replayed at a message with the one that is recorded; None if there is none. Raises ArchiveFileError."""
    replayed = [one for one in message.outputs if one.kind == SNAPSHOT]
    if not replayed:
        return None
    position = snapshot_position(replayed[0])
    entry = next((one for one in log.snapshots if one.log_position == position), None)
    if entry is None:
        return None
    recorded = (Output(SNAPSHOT, replayed[0].subject, one.data) for one in log.snapshot_messages(entry.recording_id) if one.data)
    for index, (theirs, ours) in enumerate(zip_longest(recorded, replayed)):
        if theirs != ours:
            return SnapshotComparison(position, entry.recording_id, index, theirs, ours)
    return SnapshotComparison(position, entry.recording_id)
