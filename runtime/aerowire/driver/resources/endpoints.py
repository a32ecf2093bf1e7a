"""Channel endpoints: one socket for all streams of a channel, shared by canonical form. Aeron: DriverConductor, *ChannelEndpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aerowire.base.errors import ChannelValueError, PortInUseError
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.publication_params import PublicationParams, check_mtu_fits_sndbuf
from aerowire.driver.channels.subscription_params import SubscriptionParams, check_window_fits_rcvbuf
from aerowire.driver.channels.udp_channel import TIMESTAMP_OFFSET_NONE, ControlMode
from aerowire.driver.channels.wildcard_ports import WildcardPorts
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.receive_transport import ReceiveTransport
from aerowire.driver.media.send_endpoint import SendEndpoint
from aerowire.driver.resources.endpoint_sockets import (
    explicit_control,
    multicast_control,
    multicast_ttl,
    one_peer,
    receiver_socket,
    sender_socket,
)
from aerowire.driver.resources.endpoint_table import EndpointTable
from aerowire.protocol.destinations import Destinations

if TYPE_CHECKING:
    from aerowire.base.ports import DatagramPort
    from aerowire.driver.channels.udp_channel import UdpChannel
    from aerowire.driver.conductor.driver_core import DriverCore, InducedLoss
    from aerowire.system.ports import SocketSpec

_SENDING = "snd"
_RECEIVING = "rcv"


@dataclass(slots=True, eq=False)
class BoundSocket:
    """A socket of an endpoint, where it is bound, the counter that tells so, and the range that its port is of."""

    port: DatagramPort
    address: SocketAddress
    address_counter_id: int
    ports: WildcardPorts


@dataclass(slots=True, eq=False)
class ChannelEndpoint:
    """What sending and receiving endpoints have in common; `bound` is None for one whose sockets are its destinations.

    Invariant: `is_closing` is set once, when the last stream has gone; the entry stays until its agent lets go.
    """

    channel: UdpChannel
    status_counter_id: int
    bound: BoundSocket | None
    so_rcvbuf: int
    so_sndbuf: int
    is_closing: bool = False
    # Where the endpoint's and the control's names are now, where that is not as parsed.
    peer: SocketAddress | None = None
    control: SocketAddress | None = None


@dataclass(slots=True, eq=False)
class SendChannel(ChannelEndpoint):
    """A sending endpoint and how many publications use it."""

    native: SendEndpoint = field(kw_only=True)
    destination_count_id: int | None = None
    publication_count: int = 0


@dataclass(slots=True, eq=False)
class ReceiveChannel(ChannelEndpoint):
    """A receiving endpoint, who subscribes on it or waits for a response, by stream, and how many images it feeds."""

    native: ReceiveEndpoint = field(kw_only=True)
    streams: Counter[int] = field(default_factory=Counter)
    sessions: Counter[tuple[int, int]] = field(default_factory=Counter)
    awaited: Counter[int] = field(default_factory=Counter)
    image_count: int = 0
    destinations: list[ReceiveDestination] = field(default_factory=list)

    @property
    def is_unused(self) -> bool:
        return not self.streams and not self.sessions and not self.awaited and self.image_count <= 0


@dataclass(slots=True, eq=False)
class ReceiveDestination:
    """One destination of a multi-destination subscription."""

    channel: UdpChannel
    bound: BoundSocket
    native: ReceiveTransport


class Endpoints:
    """Opens, shares and closes endpoints."""

    def __init__(self, core: DriverCore) -> None:
        self._core = core
        self._senders: EndpointTable[SendChannel] = EndpointTable("sending")
        self._receivers: EndpointTable[ReceiveChannel] = EndpointTable("receiving")
        # One id per receiving endpoint tells senders whom they hear; only distinctness matters.
        self._next_receiver_id = core.ports.random.u64() - (1 << 63)

    def find_sender(self, channel: UdpChannel) -> SendChannel | None:
        """Return the endpoint that a publication on `channel` shares, or None."""
        return self._senders.find(channel, needs_place=True)

    def find_receiver(self, channel: UdpChannel) -> ReceiveChannel | None:
        """Return the endpoint that a subscription on `channel` shares, or None."""
        return self._receivers.find(channel, needs_place=False)

    def open_sender(self, channel: UdpChannel, params: PublicationParams, registration_id: int) -> SendChannel:
        """Return the endpoint for a publication, shared or new."""
        existing = self.find_sender(channel)
        if existing is not None:
            self.check_sender(existing, channel, params)
            return existing
        context, core = self._core.context, self._core
        so_rcvbuf = channel.socket_rcvbuf_length_or(context.socket_so_rcvbuf)
        so_sndbuf = channel.socket_sndbuf_length_or(context.socket_so_sndbuf)
        check_mtu_fits_sndbuf(channel.original, params.mtu_length, so_sndbuf, context.os_default_socket_sndbuf_length)
        # Without an explicit control address any port will do, and the range is not for it.
        ports = core.sender_ports if channel.has_explicit_control else WildcardPorts(0, 0)
        spec = sender_socket(channel, context, so_rcvbuf, so_sndbuf)
        port = self._open(spec, ports, core.sender_loss)
        status_id, bound = self._counters(port, ports, CounterType.SND_CHANNEL, _SENDING, registration_id, channel)
        try:
            count_id = core.counters.destination_count(registration_id, channel.original) if channel.is_multi_destination else None
        except Exception:
            port.close()
            self.free_bound(bound)
            core.counters.manager.free(status_id)
            raise
        native = self._native_sender(port, channel, status_id, count_id)
        entry = SendChannel(
            channel, status_id, bound, so_rcvbuf, so_sndbuf, native=native, peer=one_peer(channel), destination_count_id=count_id
        )
        core.sender.add_endpoint(native)
        self._senders.add(entry)
        core.conductor_events.state(DriverEventCode.SEND_CHANNEL_CREATION, channel=channel.original)
        return entry

    def open_receiver(self, channel: UdpChannel, params: SubscriptionParams, registration_id: int) -> ReceiveChannel:
        """Return the endpoint for a subscription, shared or new."""
        existing = self.find_receiver(channel)
        if existing is not None:
            self.check_receiver(existing, channel, params)
            return existing
        context, core = self._core.context, self._core
        so_rcvbuf = channel.socket_rcvbuf_length_or(context.socket_so_rcvbuf)
        so_sndbuf = channel.socket_sndbuf_length_or(context.socket_so_sndbuf)
        check_window_fits_rcvbuf(channel.original, params.receiver_window_length, so_rcvbuf, context.os_default_socket_rcvbuf_length)
        port, bound = None, None
        if channel.control_mode is ControlMode.MANUAL:
            status_id = core.counters.channel_status(CounterType.RCV_CHANNEL, registration_id, channel.original)
            core.counters.manager.set_value(status_id, cnc.CHANNEL_STATUS_ACTIVE)
        else:
            port = self.open_receive_port(channel, so_rcvbuf, so_sndbuf)
            status_id, bound = self._counters(
                port, self._receiver_ports(channel), CounterType.RCV_CHANNEL, _RECEIVING, registration_id, channel
            )
        native = ReceiveEndpoint(
            port,
            core.system,
            receiver_id=self._take_receiver_id(),
            group_tag=channel.group_tag if channel.group_tag is not None else context.receiver_group_tag,
            stream_session_limit=context.driver_stream_session_limit,
            image_limit=context.receiver_image_limit,
            image_rate=context.receiver_image_rate,
            multicast_control=multicast_control(channel),
            explicit_control=explicit_control(channel),
            named_control=channel.has_named_control,
            ttl=multicast_ttl(channel, context),
            channel=channel.original,
            events=core.events,
        )
        entry = ReceiveChannel(channel, status_id, bound, so_rcvbuf, so_sndbuf, native=native)
        core.receiver.add_endpoint(native)
        self._receivers.add(entry)
        core.conductor_events.state(DriverEventCode.RECEIVE_CHANNEL_CREATION, channel=channel.original)
        return entry

    def open_receive_port(self, channel: UdpChannel, so_rcvbuf: int, so_sndbuf: int) -> DatagramPort:
        """Open the socket of a receiving channel, or of one destination of several."""
        spec = receiver_socket(channel, self._core.context, so_rcvbuf, so_sndbuf)
        try:
            return self._open(spec, self._receiver_ports(channel), self._core.receiver_loss)
        except PortInUseError as error:
            raise self._naming_holder(error, channel.remote_data) from None

    def bind_destination(self, entry: ReceiveChannel, channel: UdpChannel, registration_id: int) -> BoundSocket:
        """Open the socket of a destination and count its address under the endpoint's status."""
        port = self.open_receive_port(channel, entry.so_rcvbuf, entry.so_sndbuf)
        return self._bound(port, self._receiver_ports(channel), entry.status_counter_id, _RECEIVING, registration_id, channel)

    def free_bound(self, bound: BoundSocket) -> None:
        """Give back what belongs to a socket that is closed."""
        bound.ports.give_back(bound.address.port)
        self._core.counters.manager.free(bound.address_counter_id)

    def check_sender(self, entry: SendChannel, channel: UdpChannel, params: PublicationParams) -> None:
        """Raise ChannelValueError when a publication cannot share `entry`."""
        if channel.channel_snd_timestamp_offset != entry.channel.channel_snd_timestamp_offset:
            raise conflict(channel, entry.channel.original, "channel-snd-ts-offset", entry.channel.channel_snd_timestamp_offset)
        check_mtu_fits_sndbuf(channel.original, params.mtu_length, entry.so_sndbuf, self._core.context.os_default_socket_sndbuf_length)
        _check_buffers(entry, channel)

    def check_receiver(self, entry: ReceiveChannel, channel: UdpChannel, params: SubscriptionParams) -> None:
        """Raise ChannelValueError when a subscription cannot share `entry`."""
        if channel.channel_rcv_timestamp_offset != entry.channel.channel_rcv_timestamp_offset:
            raise conflict(channel, entry.channel.original, "channel-rcv-ts-offset", entry.channel.channel_rcv_timestamp_offset)
        check_window_fits_rcvbuf(
            channel.original, params.receiver_window_length, entry.so_rcvbuf, self._core.context.os_default_socket_rcvbuf_length
        )
        _check_buffers(entry, channel)

    def release_sender(self, entry: SendChannel) -> None:
        """A publication is gone; the last one takes the endpoint along. Call AFTER the sender was told to remove the publication."""
        entry.publication_count -= 1
        self.close_sender_if_unused(entry)

    def close_sender_if_unused(self, entry: SendChannel) -> None:
        """Close an endpoint that no publication uses."""
        if entry.publication_count <= 0 and not entry.is_closing:
            self._begin_close(entry)
            self._core.sender.remove_endpoint(entry.native)

    def close_receiver_if_unused(self, entry: ReceiveChannel) -> None:
        """Close an endpoint that neither subscription nor image uses."""
        if entry.is_unused and not entry.is_closing:
            self._begin_close(entry)
            self._core.receiver.remove_endpoint(entry.native)

    def on_sender_removed(self, native: object) -> None:
        """The sender let go of an endpoint: close its socket."""
        entry = self._senders.remove(native)
        if entry is not None:
            self._free(entry)
            self._core.conductor_events.state(DriverEventCode.SEND_CHANNEL_CLOSE, channel=entry.channel.original)

    def on_receiver_removed(self, native: object) -> None:
        """The receiver let go of an endpoint: close its socket."""
        entry = self._receivers.remove(native)
        if entry is not None:
            self._free(entry)
            self._core.conductor_events.state(DriverEventCode.RECEIVE_CHANNEL_CLOSE, channel=entry.channel.original)

    def sender_of(self, native: object) -> SendChannel | None:
        """Return the entry of a native endpoint."""
        return self._senders.of_native(native)

    def receiver_of(self, native: object) -> ReceiveChannel | None:
        """Return the entry of a native endpoint."""
        return self._receivers.of_native(native)

    def close(self) -> None:
        """Close every socket; the agents must have stopped."""
        for sender in self._senders:
            sender.native.close()
        for receiver in self._receivers:
            receiver.native.close()
        self._senders.clear()
        self._receivers.clear()

    def _open(self, spec: SocketSpec, ports: WildcardPorts, loss: InducedLoss) -> DatagramPort:
        bind = ports.take(spec.bind)
        try:
            return self._core.open_socket(replace(spec, bind=bind), loss)
        except Exception:
            ports.give_back(bind.port)
            raise

    def _receiver_ports(self, channel: UdpChannel) -> WildcardPorts:
        # Members of a group share its port.
        return WildcardPorts(0, 0) if channel.is_multicast else self._core.receiver_ports

    def _native_sender(self, port: DatagramPort, channel: UdpChannel, status_id: int, count_id: int | None) -> SendEndpoint:
        core, is_stamped, peer = self._core, channel.channel_snd_timestamp_offset != TIMESTAMP_OFFSET_NONE, one_peer(channel)
        return SendEndpoint(
            port,
            core.system,
            ttl=multicast_ttl(channel, core.context),
            group=channel.has_group_semantics,
            channel=channel.original,
            peer=None if core.context.driver_connect or peer is None else peer.native,
            destinations=None if count_id is None else Destinations(dynamic=channel.control_mode is ControlMode.DYNAMIC),
            counters=core.counters.manager,
            destination_count_id=-1 if count_id is None else count_id,
            status_id=status_id,
            named=channel.control_mode is ControlMode.MANUAL or channel.has_named_peer,
            stamp_clock=core.ports.clock if is_stamped else None,
            stamp_offset=channel.channel_snd_timestamp_offset,
            now_ns=core.ports.clock.now_ns(),
            events=core.events,
        )

    def _naming_holder(self, error: PortInUseError, wanted: SocketAddress) -> PortInUseError:
        """Return the error; where a channel of this driver that left its port open has it, with the one way to share such a port."""
        for entry in self._receivers:
            if entry.bound is not None and entry.bound.address == wanted and entry.channel.has_wildcard_port:
                holder = entry.channel.original
                hint = f"{holder} of this driver has it; to share it give that channel tags=N and subscribe to aeron:udp?tags=N"
                return PortInUseError(error.what, where=error.where, actual=error.actual, hint=hint, error_code=error.error_code)
        return error

    def _counters(
        self,
        port: DatagramPort,
        ports: WildcardPorts,
        counter_type: CounterType,
        direction: str,
        registration_id: int,
        channel: UdpChannel,
    ) -> tuple[int, BoundSocket]:
        counters = self._core.counters
        try:
            status_id = counters.channel_status(counter_type, registration_id, channel.original)
        except Exception:
            ports.give_back(_address_of(port, channel).port)
            port.close()
            raise
        try:
            bound = self._bound(port, ports, status_id, direction, registration_id, channel)
        except Exception:
            counters.manager.free(status_id)
            raise
        counters.append_bound_address(status_id, str(bound.address))
        return status_id, bound

    def _bound(
        self, port: DatagramPort, ports: WildcardPorts, status_id: int, direction: str, registration_id: int, channel: UdpChannel
    ) -> BoundSocket:
        address = _address_of(port, channel)
        try:
            address_id = self._core.counters.local_sockaddr(registration_id, status_id, direction, str(address))
        except Exception:
            port.close()
            ports.give_back(address.port)
            raise
        return BoundSocket(port, address, address_id, ports)

    def is_errored(self, entry: SendChannel) -> bool:
        """Whether a sending endpoint's socket could not be connected to where its peer's name is now."""
        return self._core.counters.manager.value(entry.status_counter_id) == cnc.CHANNEL_STATUS_ERRORED

    def _begin_close(self, entry: SendChannel | ReceiveChannel) -> None:
        entry.is_closing = True
        self._core.counters.manager.set_value(entry.status_counter_id, cnc.CHANNEL_STATUS_CLOSING)

    def _free(self, entry: SendChannel | ReceiveChannel) -> None:
        entry.native.close()
        sockets = [] if entry.bound is None else [entry.bound]
        if isinstance(entry, ReceiveChannel):
            sockets += [destination.bound for destination in entry.destinations]
        for bound in sockets:
            self.free_bound(bound)
        self._core.counters.manager.free(entry.status_counter_id)
        if isinstance(entry, SendChannel) and entry.destination_count_id is not None:
            self._core.counters.manager.free(entry.destination_count_id)

    def _take_receiver_id(self) -> int:
        receiver_id = self._next_receiver_id
        self._next_receiver_id = (receiver_id + 1 + (1 << 63)) % (1 << 64) - (1 << 63)
        return receiver_id


def _address_of(port: DatagramPort, channel: UdpChannel) -> SocketAddress:
    local = port.local_address
    return SocketAddress(*local) if local is not None else channel.local_data


def conflict(channel: UdpChannel, existing: str, key: str, existing_value: object) -> ChannelValueError:
    """Return the error of a channel that disagrees with one it would share."""
    return ChannelValueError(
        f"{key} conflicts with an existing channel {existing}",
        where=channel.original,
        expected=f"{key}={existing_value}",
        actual=f"{key}={channel.uri.get(key)}",
        error_code=ErrorCode.INVALID_CHANNEL,
    )


def _check_buffers(entry: ChannelEndpoint, channel: UdpChannel) -> None:
    for key, wanted, existing in (
        ("so-rcvbuf", channel.socket_rcvbuf_length, entry.so_rcvbuf),
        ("so-sndbuf", channel.socket_sndbuf_length, entry.so_sndbuf),
    ):
        if wanted not in {0, existing}:
            raise conflict(channel, entry.channel.original, key, existing or "the OS default")
