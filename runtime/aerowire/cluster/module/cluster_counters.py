"""The counters of a consensus module by type, key and label, and the request for them. Aeron: ClusterCounters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aerowire.agents.living_owner_check import LivingOwnerCheck
from aerowire.base import units
from aerowire.base.errors import ActiveClusterError
from aerowire.base.units import NULL_VALUE
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.cnc import (
    ClusterCounterKeyEncoder,
    RecoveryStateKeyEncoder,
    SnapshotRecordingIdEncoder,
)
from aerowire.codecs.tables.counters import CounterType, format_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.files.recovery_plan import RecoveryPlan
    from aerowire.cluster.module.context import ConsensusModuleContext
    from aerowire.ipc.counters import CounterInfo, CountersReader

# In the order in which the official module asks for them.
_SINGLE_COUNTERS = (
    CounterType.CLUSTER_CONSENSUS_MODULE_STATE,
    CounterType.CLUSTER_ELECTION_STATE,
    CounterType.CLUSTER_ELECTION_COUNT,
    CounterType.CLUSTER_LEADERSHIP_TERM_ID,
    CounterType.CLUSTER_NODE_ROLE,
    CounterType.CLUSTER_COMMIT_POSITION,
    CounterType.CLUSTER_CONTROL_TOGGLE,
    CounterType.NODE_CONTROL_TOGGLE,
    CounterType.CLUSTER_SNAPSHOT,
    CounterType.CLUSTER_CLIENT_TIMEOUT_COUNT,
)


class CounterRequest:
    """The request for all counters of a node, which is not waited for: `poll` until it returns them. They belong to the client."""

    def __init__(self, context: ConsensusModuleContext, aeron: Aeron) -> None:
        """Ask for them."""
        kinds = [CounterType.CLUSTER_CONSENSUS_MODULE_ERROR_COUNT, *_SINGLE_COUNTERS]
        if context.accept_standby_snapshots:
            kinds.append(CounterType.CLUSTER_STANDBY_SNAPSHOT)
        thresholds = {
            CounterType.CLUSTER_MAX_CYCLE_TIME: 0,
            CounterType.CLUSTER_CYCLE_TIME_THRESHOLD_EXCEEDED: context.cycle_threshold_ns,
            CounterType.CLUSTER_TOTAL_MAX_SNAPSHOT_DURATION: 0,
            CounterType.CLUSTER_TOTAL_SNAPSHOT_DURATION_THRESHOLD_EXCEEDED: context.total_snapshot_threshold_ns,
        }
        key = ClusterCounterKeyEncoder.encode(cluster_id=context.cluster_id)
        self._counters: dict[CounterType, Pending[Counter]] = {
            kind: aeron.async_add_counter(kind, label_of(kind, context.cluster_id, thresholds.get(kind, 0)), key=key)
            for kind in (*kinds, *thresholds)
        }

    def poll(self) -> Mapping[CounterType, Counter] | None:
        """Return the counters once all are there. Raises what the driver refused one with."""
        if not all(counter.poll() for counter in self._counters.values()):
            return None
        return {kind: counter.result() for kind, counter in self._counters.items()}


def label_of(kind: CounterType, cluster_id: int, threshold_ns: int = 0) -> str:
    """Return the label of a counter that a node has one of."""
    threshold = units.format_duration(threshold_ns)
    return format_label(kind, cluster_id=cluster_id, threshold=threshold, version=VERSION, commit="aerowire")


class ClusterIdCheck(LivingOwnerCheck):
    """One look at the counters after the other, until a driver has no living consensus module of a cluster.

    `poll` raises ActiveClusterError when it has one.
    """

    def __init__(self, counters: CountersReader, cluster_id: int) -> None:
        key = ClusterCounterKeyEncoder.encode(cluster_id=cluster_id)

        def is_rival(counter: CounterInfo) -> bool:
            return counter.type_id == CounterType.CLUSTER_CONSENSUS_MODULE_STATE and counter.key.startswith(key)

        def refusal(counter: CounterInfo) -> ActiveClusterError:
            return ActiveClusterError(
                "existing consensus module detected at the driver",
                where=f"counter {counter.counter_id}: {counter.label}",
                expected=f"no consensus module of cluster {cluster_id}",
            )

        super().__init__(counters, is_rival, refusal)


def async_add_recovery_state(aeron: Aeron, plan: RecoveryPlan, cluster_id: int) -> Pending[Counter]:
    """Ask for the counter by which services learn what to recover from. Aeron: RecoveryState.allocate."""
    kind = CounterType.CLUSTER_RECOVERY_STATE
    leadership_term_id, log_position, timestamp = NULL_VALUE, 0, 0
    recording_ids: Sequence[bytes] = ()
    if plan.snapshots:
        first, *of_services = plan.snapshots
        leadership_term_id, log_position, timestamp = first.leadership_term_id, first.log_position, first.timestamp
        recording_ids = [SnapshotRecordingIdEncoder.encode(recording_id=snapshot.recording_id) for snapshot in of_services]
    key = RecoveryStateKeyEncoder.encode(
        leadership_term_id=leadership_term_id,
        log_position=log_position,
        timestamp=timestamp,
        cluster_id=cluster_id,
        snapshots=recording_ids,
    )
    label = format_label(kind, leadership_term_id=leadership_term_id, log_position=log_position, cluster_id=cluster_id)
    return aeron.async_add_counter(kind, label, key=key)
