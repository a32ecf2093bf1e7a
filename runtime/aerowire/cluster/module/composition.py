"""Puts a consensus module together: directory, mark file, files, counters, streams, archive, agents, from a context and ports.

The command, the node and the simulator build the same graph with this one module. No step waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aerowire.agents.counting import CounterWhileOpen
from aerowire.agents.error_recorder import ErrorRecorder
from aerowire.agents.woken_idle import WokenIdleStrategy
from aerowire.archive.client.aeron_archive import AeronArchive
from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.base.file_trees import make_directories
from aerowire.base.version import VERSION
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.cluster.agents.agent_events import ClusterAgentEvents
from aerowire.cluster.agents.log_agent import LogAgent
from aerowire.cluster.files.mark_file import ClusterMarkDetails, ClusterMarkFile
from aerowire.cluster.files.node_state import NodeStateFile
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.module import channels
from aerowire.cluster.module.agent import ConsensusModuleAgent
from aerowire.cluster.module.cluster_clock import ClusterClock
from aerowire.cluster.module.cluster_counters import ClusterIdCheck, CounterRequest
from aerowire.cluster.module.cluster_events import ClusterEvents
from aerowire.cluster.module.consensus_adapter import ConsensusAdapter
from aerowire.cluster.module.consensus_publisher import ConsensusPublisher
from aerowire.cluster.module.core import ModuleCore
from aerowire.cluster.module.duty_cycle import DutyCycle
from aerowire.cluster.module.idle_sleeper import IdleSleeper
from aerowire.cluster.module.log.archive_signals import ArchiveSignals
from aerowire.cluster.module.log_agent_control import LogAgentControl
from aerowire.cluster.module.message_reader import MessageReader
from aerowire.cluster.module.node_services.service_acks import ServiceAcks
from aerowire.cluster.module.node_services.service_codec import Word, decode_service_word
from aerowire.cluster.module.node_services.service_control import ServiceControl
from aerowire.cluster.module.node_services.service_proxy import ServiceProxy
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.codecs.flyweights.events import ClusterEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.options import OPTIONS as DRIVER_OPTIONS
from aerowire.ipc.error_log import DistinctErrorLog

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from aerowire.agents.client_errors import ClientErrors
    from aerowire.client.aeron import Aeron
    from aerowire.client.context import Invoker
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import Publication
    from aerowire.cluster.module.context import ConsensusModuleContext
    from aerowire.system.ports import Ports

_DIRECTORY_MODE = 0o755


@dataclass(slots=True)
class ModuleFiles:
    """The files of a consensus module that is being started or runs. Invariant: a process has them until `close`."""

    mark_file: ClusterMarkFile
    node_state: NodeStateFile
    recording_log: RecordingLog

    def close(self) -> None:
        """Close the files, and let the mark file say that the consensus module has ended."""
        try:
            self.node_state.close()
            self.recording_log.close()
        finally:
            self.mark_file.close()


@dataclass(slots=True)
class ModuleResources:
    """The streams of a consensus module, from its start to its end."""

    consensus_adapter: ConsensusAdapter
    service_adapter: MessageReader[Word]
    services: ServiceControl
    consensus_publisher: ConsensusPublisher


@dataclass(slots=True)
class ModuleParts:
    """A consensus module that is complete but not started. Invariant: `close()` comes after both agents have stopped."""

    agent: ConsensusModuleAgent
    files: ModuleFiles
    aeron: Aeron
    sleeper: IdleSleeper
    log_agent: LogAgent
    log_agent_idle: WokenIdleStrategy

    def close(self) -> None:
        """Close what is still open, tell the driver, and close the files."""
        try:
            self.agent.close()
        finally:
            self.files.close()


def open_files(context: ConsensusModuleContext, ports: Ports, aeron: Aeron) -> ModuleFiles:
    """Take the directory and open its files. Raises ActiveClusterError where a consensus module has it, ClusterFileError, StorageError."""
    # What is synced in a directory is lost with the directory's own name.
    make_directories(ports.files, context.cluster_path, _DIRECTORY_MODE, is_synced=True)
    make_directories(ports.files, context.mark_file_path, _DIRECTORY_MODE)
    mark_file = ClusterMarkFile.create(
        context.cluster_path,
        context.mark_file_path,
        _details(context, ports, aeron),
        ports,
        error_buffer_length=context.error_buffer_length,
        page_size=aeron.file_page_size,
    )
    try:
        sync_level = context.file_sync_level
        node_state = NodeStateFile.open(context.cluster_path, ports.files, create=True, sync_level=sync_level)
        try:
            node_state.take_over_candidate_term_id(mark_file.candidate_term_id, ports.clock.now_ms())
            recording_log = RecordingLog.open(context.cluster_path, ports.files, create=True, sync_level=sync_level)
        except BaseException:
            node_state.close()
            raise
    except BaseException:
        mark_file.close()
        raise
    return ModuleFiles(mark_file, node_state, recording_log)


def build_module(
    context: ConsensusModuleContext, ports: Ports, aeron: Aeron, files: ModuleFiles, client_errors: ClientErrors
) -> Generator[Pending[Any] | None, Any, ModuleParts]:
    """Return the parts, in steps. Raises ActiveClusterError, what the driver refused, and what connecting to the archive raises.

    `client_errors` has what `aeron` reports.
    """
    check = ClusterIdCheck(aeron.counters_reader, context.cluster_id)
    while not check.poll(ports.clock.now_ms()):
        yield None
    request = CounterRequest(context, aeron)
    while (counters := request.poll()) is None:
        yield None
    errors = _new_error_recorder(context, ports, files, counters)
    signals = ArchiveSignals()
    archive_context = context.archive_context(aeron)
    archive_context.recording_signal_consumer, archive_context.error_handler = signals.on_signal, signals.on_error
    archive: AeronArchive = yield AeronArchive.async_connect(context=archive_context)
    log_agent_idle = WokenIdleStrategy(context.new_idle_strategy())
    log_agent = _new_log_agent(context, ports, counters, log_agent_idle)
    core = ModuleCore(
        context=context,
        ports=ports,
        aeron=aeron,
        archive=archive,
        signals=signals,
        recording_log=files.recording_log,
        node_state=files.node_state,
        counters=counters,
        errors=errors,
        client_errors=client_errors,
        events=_open_event_log(context, ports),
        cluster_clock=ClusterClock(ports.clock, context.time_unit),
        log_agent=log_agent,
    )
    core.events.tell(ClusterEventCode.START, version=VERSION)
    resources = yield from _open_streams(core)
    duty_cycle = DutyCycle(
        counters[CounterType.CLUSTER_MAX_CYCLE_TIME],
        counters[CounterType.CLUSTER_CYCLE_TIME_THRESHOLD_EXCEEDED],
        context.cycle_threshold_ns,
    )
    sleeper = IdleSleeper(context.new_idle_strategy())
    agent = ConsensusModuleAgent(core, resources, files.mark_file, duty_cycle, invokers=invokers_of(context, aeron), sleeper=sleeper)
    files.mark_file.signal_ready(ports.clock.now_ms())
    return ModuleParts(agent, files, aeron, sleeper, log_agent.agent, log_agent_idle)


def invokers_of(context: ConsensusModuleContext, aeron: Aeron) -> list[Invoker]:
    """Return what does the work of client and driver, where the consensus module is to do it."""
    found = [context.media_driver_invoker, aeron.conductor_agent_invoker]
    return [invoker for invoker in found if invoker is not None]


def _open_streams(core: ModuleCore) -> Generator[Pending[Any] | None, Any, ModuleResources]:
    """Add the streams to members and services. An endpoint that does not resolve yet is asked for again."""
    context, aeron = core.context, core.aeron
    channel = channels.with_endpoint(context.consensus_channel, context.member.consensus_endpoint)
    retried = RetriedRequest(lambda: aeron.async_add_subscription(channel, context.consensus_stream_id))
    while (subscription := retried.poll(core.ports.clock.now_ms())) is None:
        yield None
    service_adapter = MessageReader[Word](decode_service_word)
    service_adapter.open(
        (
            yield aeron.async_add_subscription(
                context.control_channel,
                context.consensus_module_stream_id,
                unavailable_image_handler=service_adapter.on_unavailable_image,
            )
        )
    )
    publication: Publication = yield aeron.async_add_publication(context.control_channel, context.service_stream_id)
    member_channels = {
        member.member_id: channels.consensus_publication(
            context.consensus_channel,
            member.consensus_endpoint,
            context.member.consensus_endpoint,
            is_bound=context.consensus_control_enable,
        )
        for member in context.members
        if member is not context.member
    }
    return ModuleResources(
        ConsensusAdapter(core.log_agent, subscription),
        service_adapter,
        ServiceControl(core, ServiceProxy(publication), ServiceAcks(context.service_count)),
        ConsensusPublisher(aeron, core.log_agent, member_channels, context.consensus_stream_id, core.errors.warn),
    )


def _new_log_agent(
    context: ConsensusModuleContext, ports: Ports, counters: Mapping[CounterType, Counter], idle: WokenIdleStrategy
) -> LogAgentControl:
    events = ClusterAgentEvents()
    agent = LogAgent(
        events,
        ports.clock,
        LentCounter(counters[CounterType.CLUSTER_COMMIT_POSITION]),
        member_id=context.cluster_member_id,
        member_ids=[member.member_id for member in context.members],
        time_unit=context.time_unit,
        fragment_limit=context.ingress_fragment_limit,
        log_fragment_limit=context.log_fragment_limit,
    )
    return LogAgentControl(agent, events, wake=idle.wake)


def _open_event_log(context: ConsensusModuleContext, ports: Ports) -> ClusterEvents:
    """Return the events of the member, with a log in its directory if any are to be noted."""
    if not context.event_codes:
        return ClusterEvents(context.cluster_member_id)
    from aerowire.agents.event_log import EventLog

    length = EventLog.file_length(int(DRIVER_OPTIONS["event_buffer_length"].default or 0))
    region = ports.regions.create(context.cluster_path / EVENT_LOG_FILE_NAME, length, sparse=True)
    return ClusterEvents(context.cluster_member_id, EventLog(region, ports.clock, context.event_codes))


def _details(context: ConsensusModuleContext, ports: Ports, aeron: Aeron) -> ClusterMarkDetails:
    return ClusterMarkDetails(
        component_type=ClusterComponentType.CONSENSUS_MODULE,
        archive_stream_id=int(context.archive_context(aeron).control_request_stream_id or 0),
        service_stream_id=context.service_stream_id,
        consensus_module_stream_id=context.consensus_module_stream_id,
        ingress_stream_id=context.ingress_stream_id,
        member_id=context.cluster_member_id,
        cluster_id=context.cluster_id,
        aeron_directory=aeron.context.aeron_dir,
        control_channel=context.control_channel,
        ingress_channel=context.ingress_channel,
        authenticator=context.authenticator_supplier,
        services_cluster_dir=ports.files.real_path(context.services_path),
    )


def _new_error_recorder(
    context: ConsensusModuleContext, ports: Ports, files: ModuleFiles, counters: Mapping[CounterType, Counter]
) -> ErrorRecorder:
    mark_file = files.mark_file
    counter = CounterWhileOpen(counters[CounterType.CLUSTER_CONSENSUS_MODULE_ERROR_COUNT])
    errors = ErrorRecorder(DistinctErrorLog(mark_file.error_log_buffer), counter, ports.clock, owner=context.agent_role_name)
    for problem in (mark_file.saved_errors, mark_file.save_error):
        if problem is not None:
            errors.warn(f"errors of the consensus module before: {problem}")
    return errors
