"""Counters by which a consensus module tells its services where they begin, and how far the log is committed. Aeron: RecoveryState."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from aerowire.base.errors import ClusterServiceError
from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.cnc import ClusterCounterKeyDecoder, RecoveryStateKeyDecoder, SnapshotRecordingIdDecoder
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.ipc.counters import CountersReader

_RECORDING_ID_LENGTH = SnapshotRecordingIdDecoder.ENCODED_LENGTH


class FoundCounter(NamedTuple):
    """A counter of a consensus module, and the registration that tells it from a later one in the same place."""

    counter_id: int
    registration_id: int


class RecoveryState(NamedTuple):
    """Where a service begins. `leadership_term_id` is -1 without a snapshot; the recording ids are those of the services' snapshots."""

    leadership_term_id: int
    log_position: int
    timestamp: int
    recording_ids: tuple[int, ...]

    @property
    def has_snapshot(self) -> bool:
        """Whether there is a snapshot to load."""
        return self.leadership_term_id != NULL_VALUE

    def recording_of(self, service_id: int) -> int:
        """Return the recording of a service's snapshot. Raises ClusterServiceError where there is none."""
        if service_id >= len(self.recording_ids):
            raise ClusterServiceError(
                "the consensus module has no snapshot of this service",
                where=f"service {service_id}",
                expected=f"a service id below {len(self.recording_ids)}",
                actual=service_id,
            )
        return self.recording_ids[service_id]


def find_commit_position(counters: CountersReader, cluster_id: int) -> FoundCounter | None:
    """Return the counter of the commit position: the last allocated one, where a consensus module before left its own."""
    found = None
    for info in counters.for_each():
        if info.type_id == CounterType.CLUSTER_COMMIT_POSITION and len(info.key) >= ClusterCounterKeyDecoder.ENCODED_LENGTH:
            is_later = found is None or found.registration_id < info.registration_id
            if ClusterCounterKeyDecoder(info.key).cluster_id == cluster_id and is_later:
                found = FoundCounter(info.counter_id, info.registration_id)
    return found


def find_recovery_state(counters: CountersReader, cluster_id: int) -> RecoveryState | None:
    """Return where services begin, as the last allocated counter tells; None where no consensus module tells."""
    found, registration_id = b"", NULL_VALUE
    for info in counters.for_each():
        is_one = info.type_id == CounterType.CLUSTER_RECOVERY_STATE and len(info.key) >= RecoveryStateKeyDecoder.ENCODED_LENGTH
        if is_one and RecoveryStateKeyDecoder(info.key).cluster_id == cluster_id and info.registration_id > registration_id:
            found, registration_id = info.key, info.registration_id
    if not found:
        return None
    key, room = RecoveryStateKeyDecoder(found), (len(found) - RecoveryStateKeyDecoder.ENCODED_LENGTH) // _RECORDING_ID_LENGTH
    if not 0 <= key.service_count <= room:
        raise ClusterServiceError(
            "a recovery counter is damaged", where=f"cluster {cluster_id}", expected=f"0 to {room} services", actual=key.service_count
        )
    return RecoveryState(key.leadership_term_id, key.log_position, key.timestamp, tuple(one.recording_id for one in key.snapshots))
