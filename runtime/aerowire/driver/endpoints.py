"""Channel endpoints: one socket for all streams of a channel, shared by canonical form. Aeron: DriverConductor, *ChannelEndpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from aerowire.base.errors import ChannelError, ChannelValueError, PortInUseError, RegistrationError
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.ports import SocketSpec
from aerowire.driver.publication_params import PublicationParams, check_mtu_fits_sndbuf
from aerowire.driver.receive_endpoint import ReceiveEndpoint
from aerowire.driver.send_endpoint import SendEndpoint
from aerowire.driver.socket_address import SocketAddress
from aerowire.driver.subscription_params import SubscriptionParams, check_window_fits_rcvbuf
from aerowire.driver.wildcard_ports import WildcardPorts

if TYPE_CHECKING:
    from aerowire.base.ports import DatagramPort
    from aerowire.driver.driver_core import DriverCore, InducedLoss
    from aerowire.driver.udp_channel import UdpChannel

_Entry = TypeVar("_Entry", "SendChannel", "ReceiveChannel")

_SENDING = "snd"
_RECEIVING = "rcv"


@dataclass(slots=True, eq=False)
class ChannelEndpoint:
    """What sending and receiving endpoints have in common.

    Invariant: `is_closing` is set once, when the last stream has gone; the entry stays until its agent lets go.
    """

    channel: UdpChannel
    port: DatagramPort
    status_counter_id: int
    address_counter_id: int
    bound: SocketAddress
    ports: WildcardPorts
    so_rcvbuf: int
    so_sndbuf: int
    is_closing: bool = False

    @property
    def counter_ids(self) -> tuple[int, int]:
        return self.status_counter_id, self.address_counter_id


@dataclass(slots=True, eq=False)
class SendChannel(ChannelEndpoint):
    """A sending endpoint and how many publications use it."""

    native: SendEndpoint = field(kw_only=True)
    publication_count: int = 0


@dataclass(slots=True, eq=False)
class ReceiveChannel(ChannelEndpoint):
    """A receiving endpoint, who subscribes on it, and how many images it feeds."""

    native: ReceiveEndpoint = field(kw_only=True)
    streams: Counter[int] = field(default_factory=Counter)
    sessions: Counter[tuple[int, int]] = field(default_factory=Counter)
    image_count: int = 0

    @property
    def is_unused(self) -> bool:
        return not self.streams and not self.sessions and self.image_count <= 0


class Endpoints:
    """Opens, shares and closes endpoints."""

    def __init__(self, core: DriverCore) -> None:
        self._core = core
        self._senders: dict[str, SendChannel] = {}
        self._receivers: dict[str, ReceiveChannel] = {}
        # One id per receiving endpoint tells senders whom they hear; only distinctness matters.
        self._next_receiver_id = core.ports.random.u64() - (1 << 63)

    def find_sender(self, channel: UdpChannel) -> SendChannel | None:
        """Return the endpoint that a publication on `channel` shares, or None."""
        return _find(self._senders, channel, "sending")

    def find_receiver(self, channel: UdpChannel) -> ReceiveChannel | None:
        """Return the endpoint that a subscription on `channel` shares, or None."""
        return _find(self._receivers, channel, "receiving")

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
        spec = SocketSpec(bind=channel.local_control, connect=channel.remote_data, so_sndbuf=so_sndbuf, so_rcvbuf=so_rcvbuf)
        port = self._open(spec, ports, core.sender_loss)
        status_id, address_id, bound = self._counters(port, CounterType.SND_CHANNEL, _SENDING, registration_id, channel)
        native = SendEndpoint(
            port, core.system, ttl=context.socket_multicast_ttl, group=channel.has_group_semantics, channel=channel.original
        )
        entry = SendChannel(channel, port, status_id, address_id, bound, ports, so_rcvbuf, so_sndbuf, native=native)
        core.sender.add_endpoint(native)
        self._senders[channel.canonical_form] = entry
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
        spec = SocketSpec(bind=channel.remote_data, connect=None, so_sndbuf=so_sndbuf, so_rcvbuf=so_rcvbuf)
        ports = core.receiver_ports
        try:
            port = self._open(spec, ports, core.receiver_loss)
        except PortInUseError as error:
            raise self._naming_holder(error, channel.remote_data) from None
        status_id, address_id, bound = self._counters(port, CounterType.RCV_CHANNEL, _RECEIVING, registration_id, channel)
        control = channel.local_control if channel.has_explicit_control else None
        native = ReceiveEndpoint(
            port,
            core.system,
            receiver_id=self._take_receiver_id(),
            group_tag=channel.group_tag if channel.group_tag is not None else context.receiver_group_tag,
            stream_session_limit=context.driver_stream_session_limit,
            explicit_control=None if control is None else (control.host, control.port),
            ttl=context.socket_multicast_ttl,
            channel=channel.original,
        )
        entry = ReceiveChannel(channel, port, status_id, address_id, bound, ports, so_rcvbuf, so_sndbuf, native=native)
        core.receiver.add_endpoint(native)
        self._receivers[channel.canonical_form] = entry
        return entry

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
        entry = next((item for item in self._senders.values() if item.native is native), None)
        if entry is not None:
            del self._senders[entry.channel.canonical_form]
            self._free(entry)

    def on_receiver_removed(self, native: object) -> None:
        """The receiver let go of an endpoint: close its socket."""
        entry = next((item for item in self._receivers.values() if item.native is native), None)
        if entry is not None:
            del self._receivers[entry.channel.canonical_form]
            self._free(entry)

    def receiver_of(self, native: object) -> ReceiveChannel | None:
        """Return the entry of a native endpoint."""
        return next((entry for entry in self._receivers.values() if entry.native is native), None)

    def close(self) -> None:
        """Close every socket; the agents must have stopped."""
        for sender in self._senders.values():
            sender.native.close()
        for receiver in self._receivers.values():
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

    def _naming_holder(self, error: PortInUseError, wanted: SocketAddress) -> PortInUseError:
        """Return the error; where a channel of this driver that left its port open has it, with the one way to share such a port."""
        for entry in self._receivers.values():
            if entry.bound == wanted and entry.channel.has_wildcard_port:
                holder = entry.channel.original
                hint = f"{holder} of this driver has it; to share it give that channel tags=N and subscribe to aeron:udp?tags=N"
                return PortInUseError(error.what, where=error.where, actual=error.actual, hint=hint, error_code=error.error_code)
        return error

    def _counters(
        self, port: DatagramPort, counter_type: CounterType, direction: str, registration_id: int, channel: UdpChannel
    ) -> tuple[int, int, SocketAddress]:
        counters = self._core.counters
        local = port.local_address
        bound = SocketAddress(*local) if local is not None else channel.local_data
        status_id = -1
        try:
            status_id = counters.channel_status(counter_type, registration_id, channel.original)
            address_id = counters.local_sockaddr(registration_id, status_id, direction, str(bound))
        except Exception:
            if status_id >= 0:
                counters.manager.free(status_id)
            port.close()
            raise
        counters.append_bound_address(status_id, str(bound))
        return status_id, address_id, bound

    def _begin_close(self, entry: SendChannel | ReceiveChannel) -> None:
        entry.is_closing = True
        self._core.counters.manager.set_value(entry.status_counter_id, cnc.CHANNEL_STATUS_CLOSING)

    def _free(self, entry: SendChannel | ReceiveChannel) -> None:
        entry.native.close()
        entry.ports.give_back(entry.bound.port)
        for counter_id in entry.counter_ids:
            self._core.counters.manager.free(counter_id)

    def _take_receiver_id(self) -> int:
        receiver_id = self._next_receiver_id
        self._next_receiver_id = (receiver_id + 1 + (1 << 63)) % (1 << 64) - (1 << 63)
        return receiver_id


def conflict(channel: UdpChannel, existing: str, key: str, existing_value: object) -> ChannelValueError:
    """Return the error of a channel that disagrees with one it would share."""
    return ChannelValueError(
        f"{key} conflicts with an existing channel {existing}",
        where=channel.original,
        expected=f"{key}={existing_value}",
        actual=f"{key}={channel.uri.get(key)}",
        error_code=ErrorCode.INVALID_CHANNEL,
    )


def _find(table: Mapping[str, _Entry], channel: UdpChannel, direction: str) -> _Entry | None:
    if channel.tag is not None:
        for entry in table.values():
            if entry.channel.matches_tag(channel):
                return _usable(entry, direction)
        if direction == "sending" and not (channel.has_explicit_endpoint or channel.has_explicit_control):
            raise ChannelError(
                "no channel has this tag",
                where=channel.original,
                expected="the tag of an existing channel, or an endpoint or control",
                actual=f"tags={channel.uri.get('tags')}",
                error_code=ErrorCode.INVALID_CHANNEL,
            )
    shared = table.get(channel.canonical_form)
    if shared is None or (shared.channel.tag is not None and channel.tag is not None and shared.channel.tag != channel.tag):
        return None
    return _usable(shared, direction)


def _usable(entry: _Entry, direction: str) -> _Entry:
    if entry.is_closing:
        raise RegistrationError(
            f"the {direction} endpoint is closing",
            where=entry.channel.original,
            expected="an active endpoint",
            actual="closing",
            hint="try again",
            error_code=ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
        )
    return entry


def _check_buffers(entry: ChannelEndpoint, channel: UdpChannel) -> None:
    for key, wanted, existing in (
        ("so-rcvbuf", channel.socket_rcvbuf_length, entry.so_rcvbuf),
        ("so-sndbuf", channel.socket_sndbuf_length, entry.so_sndbuf),
    ):
        if wanted not in {0, existing}:
            raise conflict(channel, entry.channel.original, key, existing or "the OS default")
