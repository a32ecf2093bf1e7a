"""Puts a driver together: files, counters, native agents and conductor, from a context and ports.

The command, the embedded driver and the simulator build the same graph with this one function.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aerowire.agents.directory_lock import directory_lock
from aerowire.agents.error_recorder import ErrorRecorder
from aerowire.base import units
from aerowire.base.directory import CNC_FILE_NAME, EVENT_LOG_FILE_NAME, LOSS_REPORT_FILE_NAME
from aerowire.base.errors import ActiveDriverError, StorageError
from aerowire.codecs.flyweights import cnc as cnc_layout
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.agents.conductor_agent import ConductorAgent
from aerowire.driver.agents.receiver import Receiver
from aerowire.driver.agents.sender import Sender
from aerowire.driver.channels.wildcard_ports import WildcardPorts
from aerowire.driver.conductor.agent_proxies import ConductorAgentProxy, ReceiverProxy, SenderProxy
from aerowire.driver.conductor.client_proxy import ClientProxy
from aerowire.driver.conductor.driver_conductor import DriverConductor
from aerowire.driver.conductor.driver_core import DriverCore, InducedLoss
from aerowire.driver.conductor.lost_files import LostFiles
from aerowire.driver.directory.driver_directory import DRIVER, delete_directory, directory_for_start
from aerowire.driver.event_log.conductor_events import ConductorEvents, LoggedTransmitter
from aerowire.driver.media.loss_arguments import make_interceptors
from aerowire.driver.names.csv_names import CsvNames, csv_rows
from aerowire.driver.names.driver_names import DriverNames
from aerowire.driver.names.timed_resolver import TimedResolver
from aerowire.driver.queues.events import EventQueue
from aerowire.driver.queues.system_counters import SystemCounters
from aerowire.driver.resources.clients import Clients
from aerowire.driver.resources.logs import LogStore
from aerowire.driver.resources.stream_counters import StreamCounters, allocate_system_counters
from aerowire.driver.version import AERON_VERSION, DRIVER_COMMIT, DRIVER_VERSION
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.counters import AtomicCounter, CountersManager
from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.ipc.loss_report import LossReport
from aerowire.memory.cut_watch import CutWatch

if TYPE_CHECKING:
    from aerowire.agents.event_log import EventLog
    from aerowire.agents.lock_file import LockFile
    from aerowire.base.ports import DatagramPort
    from aerowire.driver.context import Context
    from aerowire.driver.media.capture import CaptureWriter
    from aerowire.driver.media.loss_port import LossRates
    from aerowire.system.ports import Ports, SocketSpec

# Events are posted once in a stream's life; agents hold back what does not fit.
_EVENT_CAPACITY = 1024
# A driver that is just looking whose the directory is holds it for a moment; one that starts in it deletes its files itself.
_SHUTDOWN_LOCK_TIMEOUT_NS = 200_000_000


@dataclass(slots=True)
class DriverParts:
    """A driver that is complete but not started. Invariant: `close()` comes after the agents have stopped."""

    context: Context
    cnc: CncFile
    conductor: DriverConductor
    sender: Sender
    receiver: Receiver
    conductor_agent: ConductorAgent
    capture: CaptureWriter | None
    loss_region: object
    event_log: EventLog | None
    lock: LockFile

    def close(self) -> None:
        """Free logs and sockets, say that the driver has ended, delete its directory if it should, and let go of it."""
        try:
            self._close()
        finally:
            self.lock.release()

    def _close(self) -> None:
        self.conductor.close()
        if self.capture is not None:
            self.capture.close()
        if self.context.dir_delete_on_shutdown:
            # The lock keeps a driver from starting AFTER the last word, which lets it, and BEFORE the deletion, which would hit its files.
            directory, ports = Path(self.context.aeron_dir), self.conductor.core.ports
            try:
                with directory_lock(directory, ports, owner=DRIVER, timeout_ns=_SHUTDOWN_LOCK_TIMEOUT_NS):
                    self._say_ended()
                    delete_directory(ports.files, directory)
            except (ActiveDriverError, StorageError):
                self._say_ended()
        else:
            self._say_ended()

    def _say_ended(self) -> None:
        self.cnc.to_driver.consumer_heartbeat_ms = cnc_layout.CONSUMER_HEARTBEAT_CLOSED
        self.cnc.close()


def build_driver(
    context: Context,
    ports: Ports,
    *,
    resolver: Executor | None = None,
    lookups: Executor | None = None,
    files: Executor | None = None,
    on_terminate: Callable[[], None] | None = None,
) -> DriverParts:
    """Prepare the directory and build a driver in it; `on_terminate` is called when a client may end it.

    `resolver` looks up the names of clients' channels, `lookups` those that no client waits for, and `files` makes and frees logs;
    without them the conductor's thread does.
    """
    with directory_for_start(context, ports) as lock:
        try:
            return _build(context, ports, lock, resolver, lookups, files, on_terminate)
        except BaseException:
            delete_directory(ports.files, Path(context.aeron_dir))
            raise


def _build(
    context: Context,
    ports: Ports,
    lock: LockFile,
    resolver: Executor | None,
    lookups: Executor | None,
    files: Executor | None,
    on_terminate: Callable[[], None] | None,
) -> DriverParts:
    directory = Path(context.aeron_dir)
    counters_values_length = context.counters_buffer_length
    metadata_length = (
        counters_values_length // cnc_layout.CounterValueDecoder.ENCODED_LENGTH * cnc_layout.CounterMetadataDecoder.ENCODED_LENGTH
    )
    cnc = CncFile.create(
        directory / CNC_FILE_NAME,
        to_driver_length=context.conductor_buffer_length,
        to_clients_length=context.clients_buffer_length,
        counters_metadata_length=metadata_length,
        counters_values_length=counters_values_length,
        error_log_length=context.error_buffer_length,
        client_liveness_timeout_ns=context.client_liveness_timeout_ns,
        start_timestamp_ms=ports.clock.now_ms(),
        pid=ports.processes.own_id(),
        file_page_size=context.file_page_size,
        regions=ports.regions,
    )
    counters = cnc.counters_manager(
        free_to_reuse_timeout_ms=-(-context.counters_free_to_reuse_timeout_ns // 1_000_000), epoch_ms=ports.clock.now_ms
    )
    _allocate_system_counters(context, counters)
    loss_region = ports.regions.create(directory / LOSS_REPORT_FILE_NAME, _loss_report_length(context), sparse=False)
    errors = ErrorRecorder(
        DistinctErrorLog(cnc.error_log_buffer), AtomicCounter(counters, SystemCounter.ERRORS), ports.clock, owner="aerowire driver"
    )
    for text in context.options_without_effect():
        errors.warn(f"option without effect: {text}")
    capture = _open_capture(context, ports)
    own_files = [cnc.region, loss_region]
    event_log = _open_event_log(context, ports, directory, own_files)
    for region in own_files:
        region.guard()
    conductor_events = ConductorEvents(event_log)
    rows = csv_rows(context.options)
    if rows:
        ports = replace(ports, resolver=CsvNames(rows, below=ports.resolver, counters=counters))
    resolve = TimedResolver(
        ports.resolver, ports.clock, counters, threshold_ns=context.name_resolver_threshold_ns, conductor_events=conductor_events
    )
    core, agents = _build_core(
        context,
        replace(ports, resolver=resolve),
        cnc,
        counters,
        errors,
        LossReport(loss_region),
        capture,
        event_log,
        conductor_events,
        files,
    )
    names = _driver_names(core, ports, lookups) if context.driver_resolver_interface else None
    if rows:
        resolve.use(ports.resolver, "csv")
    if names is not None:
        resolve.use(names.resolve, "driver")
    mapped = AtomicCounter(counters, SystemCounter.BYTES_CURRENTLY_MAPPED)
    mapped.set(_mapped_length(cnc) + _loss_report_length(context))

    def terminate(token: bytes) -> bool:
        is_allowed = context.allows_termination(token)
        if is_allowed and on_terminate is not None:
            on_terminate()
        return is_allowed

    watch = CutWatch(context.timer_interval_ns, ports.clock.now_ns)
    lost_files = LostFiles(own_files, watch, on_end=on_terminate or (lambda: None))
    conductor = DriverConductor(core, resolver=resolver, lookups=lookups, on_terminate=terminate, names=names, lost_files=lost_files)
    # The first correlation id is 0, which no client may get; the heartbeat must be there BEFORE the file is published.
    cnc.to_driver.next_correlation_id()
    cnc.to_driver.consumer_heartbeat_ms = ports.clock.now_ms()
    cnc.publish()
    sender, receiver, conductor_agent = agents
    conductor_events.state(
        DriverEventCode.START, version=DRIVER_VERSION, commit=DRIVER_COMMIT, pid=cnc.pid, threading_mode=context.threading_mode.value
    )
    return DriverParts(context, cnc, conductor, sender, receiver, conductor_agent, capture, loss_region, event_log, lock)


def _build_core(
    context: Context,
    ports: Ports,
    cnc: CncFile,
    counters: CountersManager,
    errors: ErrorRecorder,
    loss_report: LossReport,
    capture: CaptureWriter | None,
    event_log: EventLog | None,
    conductor_events: ConductorEvents,
    files: Executor | None,
) -> tuple[DriverCore, tuple[Sender, Receiver, ConductorAgent]]:
    system = SystemCounters(counters)
    events = EventQueue(_EVENT_CAPACITY)
    to_driver = cnc.to_driver
    sender = Sender(
        clock=ports.clock,
        system=system,
        events=events,
        poll_ratio=context.send_to_status_poll_ratio,
        batch=context.sender_io_vector_capacity,
        status_message_timeout_ns=context.rcv_status_message_timeout_ns,
        cycle_threshold_ns=context.driver_sender_cycle_threshold_ns,
        reresolution_check_interval_ns=context.driver_reresolution_check_interval_ns,
    )
    receiver = Receiver(
        clock=ports.clock,
        system=system,
        events=events,
        batch=context.receiver_io_vector_capacity,
        cycle_threshold_ns=context.driver_receiver_cycle_threshold_ns,
        reresolution_check_interval_ns=context.driver_reresolution_check_interval_ns,
    )
    conductor_agent = ConductorAgent(
        clock=ports.clock,
        system=system,
        events=events,
        to_driver=to_driver,
        timer_interval_ns=context.timer_interval_ns,
        client_liveness_timeout_ns=context.client_liveness_timeout_ns,
        cycle_threshold_ns=context.driver_conductor_cycle_threshold_ns,
    )
    stream_counters = StreamCounters(counters)
    transmitter = cnc.to_clients_transmitter()
    client_proxy = ClientProxy(transmitter if event_log is None else LoggedTransmitter(transmitter, conductor_events))
    conductor_agent_proxy = ConductorAgentProxy(conductor_agent)
    core = DriverCore(
        context=context,
        ports=ports,
        to_driver=to_driver,
        to_clients=transmitter,
        events=events,
        sender=SenderProxy(sender, AtomicCounter(counters, SystemCounter.SENDER_PROXY_FAILS)),
        receiver=ReceiverProxy(receiver, AtomicCounter(counters, SystemCounter.RECEIVER_PROXY_FAILS)),
        conductor_agent=conductor_agent_proxy,
        counters=stream_counters,
        system=system,
        client_proxy=client_proxy,
        errors=errors,
        logs=LogStore(
            context=context,
            regions=ports.regions,
            mapped_bytes=AtomicCounter(counters, SystemCounter.BYTES_CURRENTLY_MAPPED),
            free_failures=AtomicCounter(counters, SystemCounter.FREE_FAILS),
            refusals=AtomicCounter(counters, SystemCounter.NATIVE_RESOURCE_AGENT_PROXY_FAILS),
            errors=errors,
            worker=files,
            wake=events.wake,
        ),
        clients=Clients(counters=stream_counters, client_proxy=client_proxy, conductor_agent=conductor_agent_proxy, clock=ports.clock),
        loss_report=loss_report,
        sender_ports=WildcardPorts.parse(OPTIONS["sender_wildcard_port_range"].property, context.sender_wildcard_port_range),
        receiver_ports=WildcardPorts.parse(OPTIONS["receiver_wildcard_port_range"].property, context.receiver_wildcard_port_range),
        sender_loss=InducedLoss(
            outgoing=_loss_rates(context, ports, "send_data"),
            incoming=_loss_rates(context, ports, "send_control"),
            interceptors=make_interceptors(context.options),
        ),
        receiver_loss=InducedLoss(
            incoming=_loss_rates(context, ports, "receive_data"),
            outgoing=_loss_rates(context, ports, "receive_control"),
            interceptors=make_interceptors(context.options),
        ),
        capture=capture,
        event_log=event_log,
        conductor_events=conductor_events,
    )
    return core, (sender, receiver, conductor_agent)


def _driver_names(core: DriverCore, ports: Ports, lookups: Executor | None) -> DriverNames:
    loss = InducedLoss(interceptors=make_interceptors(core.context.options))

    def open_socket(spec: SocketSpec) -> DatagramPort:
        return core.open_socket(replace(spec, bind=core.receiver_ports.take(spec.bind)), loss)

    return DriverNames(
        core.context,
        conductor_events=core.conductor_events,
        counters=core.counters.manager,
        errors=core.errors,
        open_socket=open_socket,
        below=ports.resolver,
        lookups=lookups,
        now_ns=ports.clock.now_ns(),
    )


def _allocate_system_counters(context: Context, counters: CountersManager) -> None:
    thresholds = {
        SystemCounter.CONDUCTOR_CYCLE_TIME_THRESHOLD_EXCEEDED: context.driver_conductor_cycle_threshold_ns,
        SystemCounter.SENDER_CYCLE_TIME_THRESHOLD_EXCEEDED: context.driver_sender_cycle_threshold_ns,
        SystemCounter.RECEIVER_CYCLE_TIME_THRESHOLD_EXCEEDED: context.driver_receiver_cycle_threshold_ns,
        SystemCounter.NAME_RESOLVER_TIME_THRESHOLD_EXCEEDED: context.name_resolver_threshold_ns,
    }
    allocate_system_counters(
        counters,
        version=DRIVER_VERSION,
        commit=DRIVER_COMMIT,
        driver_name=context.driver_resolver_name,
        threading_mode=context.threading_mode.value,
        thresholds={which: units.format_duration(value) for which, value in thresholds.items()},
    )
    counters.set_value(SystemCounter.AERON_VERSION, AERON_VERSION)
    counters.set_value(SystemCounter.CONTROL_PROTOCOL_VERSION, cnc_layout.CONTROL_PROTOCOL_VERSION)


def _mapped_length(cnc: CncFile) -> int:
    return 0 if cnc.region is None else len(cnc.region)


def _loss_report_length(context: Context) -> int:
    page = context.file_page_size
    return -(-context.loss_report_buffer_length // page) * page


def _loss_rates(context: Context, ports: Ports, kind: str) -> LossRates | None:
    rates = {name: context.number(f"debug_{kind}_{name}_rate") for name in ("loss", "duplicate", "reorder")}
    if not any(rates.values()):
        return None
    from aerowire.driver.media.loss_port import LossRates

    # One sequence decides about a direction's datagrams, so that the first seed that somebody set holds for all three.
    seeds = [int(context.number(f"debug_{kind}_{name}_seed")) for name in rates]
    return LossRates(**rates, seed=next((seed for seed in seeds if seed != -1), ports.random.below(1 << 62)))


def _open_event_log(context: Context, ports: Ports, directory: Path, own_files: list[Any]) -> EventLog | None:
    codes = context.event_codes
    if not codes:
        return None
    from aerowire.agents.event_log import EventLog

    length = EventLog.file_length(context.event_buffer_length)
    region = ports.regions.create(directory / EVENT_LOG_FILE_NAME, length, sparse=True)
    own_files.append(region)
    return EventLog(region, ports.clock, codes)


def _open_capture(context: Context, ports: Ports) -> CaptureWriter | None:
    if context.capture is None:
        return None
    from aerowire.driver.media.capture import CaptureWriter

    return CaptureWriter(context.capture, ports.clock, overwrites=context.capture_overwrite)
