"""What the parts of the conductor share: the driver's native objects, files and the ways to its clients."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.driver.event_log.conductor_events import ConductorEvents

if TYPE_CHECKING:
    from aerowire.agents.error_recorder import ErrorRecorder
    from aerowire.agents.event_log import EventLog
    from aerowire.base.ports import DatagramPort
    from aerowire.codecs.tables.counters import SystemCounter
    from aerowire.driver.channels.wildcard_ports import WildcardPorts
    from aerowire.driver.conductor.agent_proxies import ConductorAgentProxy, ReceiverProxy, SenderProxy
    from aerowire.driver.conductor.client_proxy import ClientProxy
    from aerowire.driver.context import Context
    from aerowire.driver.media.capture import CaptureWriter
    from aerowire.driver.media.loss_interceptors import LossInterceptor
    from aerowire.driver.media.loss_port import LossRates
    from aerowire.driver.queues.events import EventQueue
    from aerowire.driver.queues.system_counters import SystemCounters
    from aerowire.driver.resources.clients import Clients
    from aerowire.driver.resources.logs import LogStore
    from aerowire.driver.resources.stream_counters import StreamCounters
    from aerowire.ipc.broadcast import BroadcastTransmitter
    from aerowire.ipc.loss_report import LossReport
    from aerowire.ipc.ring_buffer import ManyToOneRingBuffer
    from aerowire.system.ports import Ports, SocketSpec

# What is noted where datagrams pass.
_CODES_OF_PORTS = (DriverEventCode.FRAME_IN, DriverEventCode.FRAME_OUT, DriverEventCode.NAK_SENT, DriverEventCode.NAK_RECEIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class InducedLoss:
    """Loss, duplicates and reordering to induce on a kind of endpoint, by direction; None leaves a direction alone.

    `interceptors` are those of the agent whose endpoints these are: they remember what they have lost on any of them.
    """

    incoming: LossRates | None = None
    outgoing: LossRates | None = None
    interceptors: tuple[LossInterceptor, ...] = ()

    def __bool__(self) -> bool:
        return self.incoming is not None or self.outgoing is not None or bool(self.interceptors)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCore:
    """One driver's parts, put together once by the composition root."""

    context: Context
    ports: Ports
    to_driver: ManyToOneRingBuffer
    to_clients: BroadcastTransmitter
    events: EventQueue
    sender: SenderProxy
    receiver: ReceiverProxy
    conductor_agent: ConductorAgentProxy
    counters: StreamCounters
    system: SystemCounters
    client_proxy: ClientProxy
    errors: ErrorRecorder
    logs: LogStore
    clients: Clients
    loss_report: LossReport
    sender_ports: WildcardPorts
    receiver_ports: WildcardPorts
    sender_loss: InducedLoss
    receiver_loss: InducedLoss
    capture: CaptureWriter | None
    event_log: EventLog | None = None
    conductor_events: ConductorEvents = field(default_factory=ConductorEvents)
    lossy_sockets: Iterator[int] = field(default_factory=itertools.count)

    def next_correlation_id(self) -> int:
        """Return an id that neither a client nor the driver has used."""
        return self.to_driver.next_correlation_id()

    @property
    def is_accepting_commands(self) -> bool:
        """Whether each agent, and who makes logs, can take what one command may ask of them."""
        return self.sender.is_open and self.receiver.is_open and self.conductor_agent.is_open and self.logs.is_open

    def count(self, which: SystemCounter) -> None:
        """Add one to a system counter that the conductor writes."""
        manager = self.counters.manager
        manager.set_value(which, manager.value(which) + 1)

    def open_socket(self, spec: SocketSpec, loss: InducedLoss) -> DatagramPort:
        """Open a socket, with induced loss, capture and event log around it where they are asked for."""
        port = self._open_plain(spec) if not loss and self.capture is None else self._open_altered(spec, loss)
        if self.event_log is None or not any(self.conductor_events.has(code) for code in _CODES_OF_PORTS):
            return port
        from aerowire.driver.media.event_port import EventPort

        return EventPort(port, self.event_log, remote=None if spec.connect is None else (spec.connect.host, spec.connect.port))

    def _open_plain(self, spec: SocketSpec) -> DatagramPort:
        offloads = self.context.udp_segmentation_offload
        return self.ports.open_socket(replace(spec, cut=offloads, join=offloads and spec.connect is None))

    def _open_altered(self, spec: SocketSpec, loss: InducedLoss) -> DatagramPort:
        # What is lost or captured are single datagrams.
        port = self.ports.open_socket(spec)
        from aerowire.driver.media.capture_port import CapturePort, CaptureTap
        from aerowire.driver.media.loss_port import LossPort

        local = port.local_address or (spec.bind.host, spec.bind.port)
        remote = None if spec.connect is None else (spec.connect.host, spec.connect.port)
        tap = None if self.capture is None else CaptureTap(self.capture, local=local, remote=remote)
        if loss:
            number = next(self.lossy_sockets)
            return LossPort(
                port,
                incoming=_of_socket(loss.incoming, number),
                outgoing=_of_socket(loss.outgoing, number),
                interceptors=loss.interceptors,
                tap=tap,
            )
        assert tap is not None
        return CapturePort(port, tap)


def _of_socket(rates: LossRates | None, number: int) -> LossRates | None:
    """Return the rates of the driver's n-th socket: with one seed for all, copies of a datagram on two paths would share their fate."""
    if rates is None or rates.seed is None or number == 0:
        return rates
    return type(rates)(rates.loss, rates.duplicate, rates.reorder, rates.seed + number)
