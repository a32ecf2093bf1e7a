"""Sets of snapshots among sorted entries of a recording log: one of each service and, as the last one, the consensus module's.

A set is complete when its snapshots are valid, were taken at one position in one term, and are one of each service. Aeron: RecordingLog.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.cluster.files.recording_log_entry import CONSENSUS_MODULE_SERVICE_ID
from aerowire.codecs.flyweights.recording_log import EntryType

if TYPE_CHECKING:
    from aerowire.cluster.files.recording_log_entry import RecordingLogEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot in the node's own archive; `service_id` is -1 for the consensus module's."""

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    timestamp: int
    service_id: int

    @classmethod
    def of(cls, entry: RecordingLogEntry) -> Snapshot:
        """Return the snapshot that an entry tells of."""
        return cls(**{name: getattr(entry, name) for name in cls.__slots__})


def latest_snapshot(entries: Sequence[RecordingLogEntry], service_id: int) -> RecordingLogEntry | None:
    """Return the snapshot of a service, or of the consensus module (-1), in the latest set that has it."""
    for index in consensus_module_snapshots(entries):
        at = index - (service_id + 1)
        if at >= 0 and entries[at].is_valid_snapshot and entries[at].service_id == service_id:
            return entries[at]
    return None


def consensus_module_snapshots(entries: Sequence[RecordingLogEntry]) -> list[int]:
    """Return the indexes of valid snapshots of the consensus module, the latest first."""
    indexes = range(len(entries) - 1, -1, -1)
    return [at for at in indexes if entries[at].is_valid_snapshot and entries[at].service_id == CONSENSUS_MODULE_SERVICE_ID]


def snapshot_set(entries: Sequence[RecordingLogEntry], index: int, service_count: int) -> tuple[Snapshot, ...] | None:
    """Return the set whose consensus module's snapshot is at an index, that one first, then by service; None for an incomplete one."""
    end = entries[index]
    found = entries[max(index - service_count, 0) : index + 1][::-1]
    is_complete = len(found) == service_count + 1 and all(
        one.is_valid_snapshot
        and one.service_id == service_id
        and (one.leadership_term_id, one.log_position) == (end.leadership_term_id, end.log_position)
        for service_id, one in enumerate(found, CONSENSUS_MODULE_SERVICE_ID)
    )
    return tuple(map(Snapshot.of, found)) if is_complete else None


def snapshot_at_or_before_or_lowest(
    entries: Sequence[RecordingLogEntry], log_position: int, service_count: int
) -> tuple[Snapshot, ...] | None:
    """Return the latest complete set at a position or before it, else the earliest one; None without any."""
    lowest = None
    for index in consensus_module_snapshots(entries):
        found = snapshot_set(entries, index, service_count)
        if found is not None:
            if found[0].log_position <= log_position:
                return found
            lowest = found
    return lowest


def latest_standby_snapshots(entries: Sequence[RecordingLogEntry], service_count: int) -> dict[str, tuple[RecordingLogEntry, ...]]:
    """Return endpoint -> latest complete set in the standby node's archive there: the consensus module's snapshot, then by service."""
    sets: dict[tuple[str, int], list[RecordingLogEntry]] = {}
    for entry in reversed(entries):
        if entry.is_valid and entry.entry_type == EntryType.STANDBY_SNAPSHOT:
            sets.setdefault((entry.archive_endpoint, entry.log_position), []).append(entry)
    latest: dict[str, tuple[RecordingLogEntry, ...]] = {}
    for (endpoint, position), found in sets.items():
        is_complete = sorted(one.service_id for one in found) == list(range(CONSENSUS_MODULE_SERVICE_ID, service_count))
        if is_complete and (endpoint not in latest or position > latest[endpoint][0].log_position):
            latest[endpoint] = tuple(found)
    return latest
