"""Puts a service container together: mark file, counters, streams, agent; from a context and ports, without waiting."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.archive.conductor.duty_cycle import DutyCycleTracker
from aerowire.base.file_trees import make_directories
from aerowire.cluster.files.mark_file import ClusterMarkDetails, ClusterMarkFile
from aerowire.cluster.services.agent import ClusteredServiceAgent
from aerowire.cluster.services.consensus_module_proxy import ConsensusModuleProxy
from aerowire.cluster.services.container_sleeper import ContainerSleeper
from aerowire.cluster.services.core import ContainerCore
from aerowire.cluster.services.errors import ContainerErrors
from aerowire.cluster.services.service_counters import SERVICE_COUNTERS, service_counter
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.agents.client_errors import ClientErrors
    from aerowire.client.aeron import Aeron
    from aerowire.client.context import Invoker
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import Publication
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.cluster.services.context import ClusteredServiceContext
    from aerowire.system.ports import Ports

# Less what the umask takes.
_DIRECTORY_MODE = 0o755


@dataclass(slots=True)
class ContainerParts:
    """A container that is complete but not started."""

    agent: ClusteredServiceAgent
    sleeper: ContainerSleeper


def take_mark_file(context: ClusteredServiceContext, ports: Ports, aeron: Aeron) -> ClusterMarkFile:
    """Take the service's mark file over, or make it, and its directories. Raises ActiveClusterError, ClusterFileError, StorageError."""
    make_directories(ports.files, context.cluster_path, _DIRECTORY_MODE)
    make_directories(ports.files, context.mark_file_path, _DIRECTORY_MODE)
    details = ClusterMarkDetails(
        component_type=ClusterComponentType.CONTAINER,
        archive_stream_id=context.local_control_stream_id,
        service_stream_id=context.service_stream_id,
        consensus_module_stream_id=context.consensus_module_stream_id,
        service_id=context.service_id,
        cluster_id=context.cluster_id,
        aeron_directory=aeron.context.aeron_dir,
        control_channel=context.control_channel,
        service_name=context.service_name,
    )
    return ClusterMarkFile.create(
        context.cluster_path,
        context.mark_file_path,
        details,
        ports,
        error_buffer_length=context.service_error_buffer_length,
        page_size=aeron.file_page_size,
    )


def build_container(
    context: ClusteredServiceContext, ports: Ports, aeron: Aeron, mark_file: ClusterMarkFile, client_errors: ClientErrors
) -> Generator[Pending[Any] | None, Any, ContainerParts]:
    """Ask the driver for what a container needs, and put its parts together. Raises what the driver refuses.

    `client_errors` has what `aeron` reports, where it is the container's own.
    """
    thresholds = {
        CounterType.CLUSTER_CLUSTERED_SERVICE_CYCLE_TIME_THRESHOLD_EXCEEDED: context.service_cycle_threshold_ns,
        CounterType.CLUSTERED_SERVICE_SNAPSHOT_DURATION_THRESHOLD_EXCEEDED: context.service_snapshot_threshold_ns,
    }
    counters: dict[CounterType, Counter] = {}
    for kind in SERVICE_COUNTERS:
        spec = service_counter(kind, context.cluster_id, context.service_id, thresholds.get(kind, 0))
        counters[kind] = yield aeron.async_add_counter(spec.type_id, spec.label, key=spec.key)
    errors = ContainerErrors(mark_file, counters[CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT], ports.clock, context.error_handlers)
    for problem in (mark_file.saved_errors, mark_file.save_error):
        if problem is not None:
            errors.warn(f"errors of the container before: {problem}")
    publication: Publication = yield aeron.async_add_publication(context.control_channel, context.consensus_module_stream_id)
    subscription: Subscription = yield aeron.async_add_subscription(context.control_channel, context.service_stream_id)
    core = ContainerCore(
        context=context,
        ports=ports,
        aeron=aeron,
        calls=context.calls,
        proxy=ConsensusModuleProxy(publication),
        mark_file=mark_file,
        counters=counters,
        errors=errors,
        client_errors=client_errors,
    )
    duty_cycle = DutyCycleTracker(
        counters[CounterType.CLUSTER_CLUSTERED_SERVICE_MAX_CYCLE_TIME],
        counters[CounterType.CLUSTER_CLUSTERED_SERVICE_CYCLE_TIME_THRESHOLD_EXCEEDED],
        context.service_cycle_threshold_ns,
    )
    to_clients = None if aeron.conductor_agent_invoker is None else aeron.to_clients_buffer
    sleeper = ContainerSleeper(context.new_idle_strategy(), ports.clock, to_clients)
    agent = ClusteredServiceAgent(core, subscription, duty_cycle, sleeper, invokers_of(context, aeron))
    mark_file.signal_ready(ports.clock.now_ms())
    return ContainerParts(agent, sleeper)


def invokers_of(context: ClusteredServiceContext, aeron: Aeron) -> list[Invoker]:
    """Return what does the work of the client, and of what else has no threads, where the container is to do it."""
    own = aeron.conductor_agent_invoker if context.aeron is None or context.is_invoked else None
    return [*context.agent_invokers, *([] if own is None else [own])]
