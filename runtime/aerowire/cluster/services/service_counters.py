"""The counters of a service container by type, key and label. Aeron: ClusterCounters.allocateServiceCounter."""

from __future__ import annotations

from typing import Final, NamedTuple

from aerowire.base import units
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.cnc import ClusterServiceCounterKeyEncoder
from aerowire.codecs.tables.counters import CounterType, format_label

# In the order in which they are asked for.
SERVICE_COUNTERS: Final = (
    CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT,
    CounterType.CLUSTER_CLUSTERED_SERVICE_MAX_CYCLE_TIME,
    CounterType.CLUSTER_CLUSTERED_SERVICE_CYCLE_TIME_THRESHOLD_EXCEEDED,
    CounterType.CLUSTERED_SERVICE_MAX_SNAPSHOT_DURATION,
    CounterType.CLUSTERED_SERVICE_SNAPSHOT_DURATION_THRESHOLD_EXCEEDED,
)


class CounterSpec(NamedTuple):
    """A counter to be added."""

    type_id: int
    label: str
    key: bytes


def service_counter(kind: CounterType, cluster_id: int, service_id: int, threshold_ns: int) -> CounterSpec:
    """Return a counter of a service; labels of counters of what took too long name the threshold."""
    threshold = units.format_duration(threshold_ns)
    label = format_label(kind, cluster_id=cluster_id, service_id=service_id, threshold=threshold, version=VERSION, commit="aerowire")
    return CounterSpec(kind, label, ClusterServiceCounterKeyEncoder.encode(cluster_id=cluster_id, service_id=service_id))
