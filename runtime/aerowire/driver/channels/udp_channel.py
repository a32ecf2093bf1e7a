"""What a UDP channel URI means to a driver: addresses, control mode and the canonical form by which endpoints are shared.

Aeron: media/UdpChannel.
"""

from __future__ import annotations

import enum
import ipaddress
import itertools
from dataclasses import dataclass
from functools import partial

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError, ChannelValueError
from aerowire.base.socket_address import ANY_IPV4, ANY_IPV6, SocketAddress
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.channels.channel_values import ChannelValues
from aerowire.driver.channels.interfaces import interface_host, resolve_interface
from aerowire.driver.channels.socket_address import is_numeric, parse_address
from aerowire.system.interfaces import InterfaceAddress, InterfaceLister, list_interfaces
from aerowire.system.names import NameResolver, resolve_with_system

# Offset of the reserved value from the start of a message, which is what `reserved` asks timestamps to be written to.
RESERVED_VALUE_OFFSET = transport.DataHeaderEncoder.RESERVED_VALUE_OFFSET - transport.DataHeaderEncoder.ENCODED_LENGTH
TIMESTAMP_OFFSET_NONE = -1
# A hop limit has one octet.
TTL_MAX = 255

# Wildcard channels are never shared: each gets the next number behind its canonical form.
_unique_canonical_number = itertools.count()


class ControlMode(enum.Enum):
    """How the destinations of a channel come to be known."""

    NONE = None
    DYNAMIC = "dynamic"
    MANUAL = "manual"
    RESPONSE = "response"

    @property
    def is_multi_destination(self) -> bool:
        return self in {ControlMode.DYNAMIC, ControlMode.MANUAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpChannel:
    """A UDP channel and the addresses that it names.

    Invariant: two channels with equal `canonical_form` can share one socket.
    """

    uri: ChannelUri
    canonical_form: str
    control_mode: ControlMode
    remote_data: SocketAddress
    remote_control: SocketAddress
    local_data: SocketAddress
    local_control: SocketAddress
    interface: InterfaceAddress | None
    has_explicit_endpoint: bool
    has_explicit_control: bool
    is_multicast: bool
    tag: int | None
    multicast_ttl: int | None
    socket_rcvbuf_length: int
    socket_sndbuf_length: int
    receiver_window_length: int
    group_tag: int | None
    nak_delay_ns: int | None
    channel_rcv_timestamp_offset: int
    channel_snd_timestamp_offset: int

    @property
    def original(self) -> str:
        """The channel as a client wrote it."""
        return self.uri.original

    @property
    def is_multi_destination(self) -> bool:
        return self.control_mode.is_multi_destination

    @property
    def has_one_peer(self) -> bool:
        """Whether what is sent goes to the one address that the channel names."""
        return self.control_mode is ControlMode.NONE

    @property
    def has_named_peer(self) -> bool:
        """Whether the one peer was given by a name, which may come to mean another address."""
        endpoint = self.uri.get("endpoint")
        return self.has_one_peer and not self.is_multicast and endpoint is not None and not is_numeric(endpoint)

    @property
    def has_named_control(self) -> bool:
        """Whether the explicit control address was given by a name, which may come to mean another address."""
        control = self.uri.get("control")
        return self.has_explicit_control and control is not None and not is_numeric(control)

    @property
    def has_wildcard_port(self) -> bool:
        """Whether the port is for the system, or the driver's range, to choose."""
        return self.remote_data.port == 0

    @property
    def has_group_semantics(self) -> bool:
        return self.is_multicast or self.is_multi_destination

    def socket_rcvbuf_length_or(self, default: int) -> int:
        """Return the channel's SO_RCVBUF, or the driver's when it has none."""
        return self.socket_rcvbuf_length or default

    def socket_sndbuf_length_or(self, default: int) -> int:
        """Return the channel's SO_SNDBUF, or the driver's when it has none."""
        return self.socket_sndbuf_length or default

    def matches_tag(self, other: UdpChannel, *, local: SocketAddress | None = None, remote: SocketAddress | None = None) -> bool:
        """Return whether a new channel `other` refers to this one by tag; raises ChannelValueError when they disagree.

        `local` and `remote` are where this channel's names have moved to since it was parsed.
        """
        if self.tag is None or self.tag != other.tag:
            return False
        if other.control_mode not in {ControlMode.NONE, self.control_mode}:
            raise _value_error(other.uri, "tags", "tag matches a channel of another control-mode", self.original, ErrorCode.GENERIC_ERROR)
        is_wildcard = other.remote_data.is_any and other.remote_data.port == 0 and other.local_data.is_any and other.local_data.port == 0
        if not is_wildcard and (remote or self.remote_data, local or self.local_data) != (other.remote_data, other.local_data):
            raise _value_error(
                other.uri, "tags", "tag matches a channel of another endpoint or control", self.original, ErrorCode.GENERIC_ERROR
            )
        return True

    @classmethod
    def resolve(
        cls,
        uri: ChannelUri,
        *,
        resolver: NameResolver = resolve_with_system,
        interfaces: InterfaceLister = list_interfaces,
        is_destination: bool = False,
    ) -> UdpChannel:
        """Find the addresses that `uri` names; may block in `resolver`. Raises a ChannelError with the error code for the client."""
        text = uri.original
        if not uri.is_udp:
            raise _value_error(uri, "media", "channel is not a UDP channel", "aeron:udp")
        endpoint = _address(uri, text, "endpoint", resolver)
        control = _address(uri, text, "control", resolver)
        control_mode = _control_mode(uri.get("control-mode"))
        values = ChannelValues(uri, ErrorCode.INVALID_CHANNEL, ErrorCode.INVALID_CHANNEL)
        _check_has_identity(uri, text, endpoint, control, control_mode)
        suffix = "" if is_destination else _suffix(uri, endpoint, control)
        remote = endpoint or (ANY_IPV6 if control is not None and control.is_ipv6 else ANY_IPV4)
        if control is not None and control.is_ipv6 != remote.is_ipv6:
            raise _value_error(uri, "control", "control and endpoint differ in family", "addresses of one family")
        remote_control, local, interface, canonical = _resolve_local(uri, text, remote, control, interfaces, resolver)
        return cls(
            uri=uri,
            canonical_form=canonical + suffix,
            control_mode=control_mode,
            remote_data=remote,
            remote_control=remote_control,
            local_data=local,
            local_control=local,
            interface=interface,
            has_explicit_endpoint=endpoint is not None,
            has_explicit_control=control is not None and not remote.is_multicast,
            is_multicast=remote.is_multicast,
            tag=uri.channel_tag,
            multicast_ttl=_ttl(values) if "ttl" in uri and remote.is_multicast else None,
            socket_rcvbuf_length=values.size("so-rcvbuf", 0),
            socket_sndbuf_length=values.size("so-sndbuf", 0),
            receiver_window_length=values.size("rcv-wnd", 0),
            group_tag=values.optional_long("gtag"),
            nak_delay_ns=values.optional_duration("nak-delay"),
            channel_rcv_timestamp_offset=_timestamp_offset(values, "channel-rcv-ts-offset"),
            channel_snd_timestamp_offset=_timestamp_offset(values, "channel-snd-ts-offset"),
        )


def names_to_resolve(uri: ChannelUri) -> list[str]:
    """Return the `host:port` texts of a channel, for a caller that wants to know whether parsing can block."""
    host = interface_host(uri.get("interface"))
    return [text for text in (uri.get("endpoint"), uri.get("control"), None if host is None else f"{host}:0") if text is not None]


def _address(uri: ChannelUri, text: str, key: str, resolver: NameResolver) -> SocketAddress | None:
    value = uri.get(key)
    return None if value is None else parse_address(text, key, value, resolver)


def _check_has_identity(
    uri: ChannelUri, text: str, endpoint: SocketAddress | None, control: SocketAddress | None, control_mode: ControlMode
) -> None:
    if control_mode is ControlMode.DYNAMIC and control is None:
        raise ChannelError(
            "dynamic control mode needs an explicit control address",
            where=text,
            expected="control=host:port",
            actual="no control",
            error_code=ErrorCode.INVALID_CHANNEL,
        )
    has_identity = endpoint is not None or control is not None or uri.channel_tag is not None
    if not has_identity and control_mode not in {ControlMode.MANUAL, ControlMode.RESPONSE}:
        raise ChannelError(
            "UDP channel does not say where it is",
            where=text,
            expected="endpoint, control, tags, or control-mode=manual|response",
            actual="none of them",
            hint="for example aeron:udp?endpoint=localhost:40123",
            error_code=ErrorCode.INVALID_CHANNEL,
        )


def _suffix(uri: ChannelUri, endpoint: SocketAddress | None, control: SocketAddress | None) -> str:
    is_wildcard = (
        (endpoint is None and control is None)
        or (endpoint is not None and endpoint.port == 0)
        or (control is not None and control.port == 0)
    )
    if not is_wildcard or (endpoint is not None and endpoint.is_multicast):
        return ""
    return f"#{uri.channel_tag}" if uri.channel_tag is not None else f"-{next(_unique_canonical_number)}"


def _resolve_local(
    uri: ChannelUri,
    text: str,
    remote: SocketAddress,
    control: SocketAddress | None,
    interfaces: InterfaceLister,
    resolver: NameResolver,
) -> tuple[SocketAddress, SocketAddress, InterfaceAddress | None, str]:
    """Return (remote control, local address, interface, canonical form without suffix)."""
    select = partial(resolve_interface, text, uri.get("interface"), is_ipv6=remote.is_ipv6, lister=interfaces, resolver=resolver)
    if remote.is_multicast:
        local, interface = select(is_multicast=True)
        return _multicast_control(uri, remote), local, interface, _canonicalise(None, local, None, remote)
    if control is not None:
        return remote, control, None, _canonicalise(uri.get("control"), control, uri.get("endpoint"), remote)
    local, interface = select(is_multicast=False)
    return remote, local, interface, _canonicalise(None, local, uri.get("endpoint"), remote)


def _multicast_control(uri: ChannelUri, data: SocketAddress) -> SocketAddress:
    octets = data.ip.packed
    if octets[-1] % 2 == 0:
        raise _value_error(uri, "endpoint", "multicast data address is even", "an odd last byte; control uses the next address")
    # The last byte alone counts on, from 255 to 0.
    control = ipaddress.ip_address(octets[:-1] + bytes([(octets[-1] + 1) % 256]))
    return SocketAddress(str(control), data.port, data.scope_id)


def _canonicalise(local_text: str | None, local: SocketAddress, remote_text: str | None, remote: SocketAddress) -> str:
    # Parameter text goes in as written, so that a name and its address are two channels; resolved addresses have no brackets.
    return f"UDP-{local_text or f'{local.host}:{local.port}'}-{remote_text or f'{remote.host}:{remote.port}'}"


def _control_mode(text: str | None) -> ControlMode:
    # A mode that nobody knows is none.
    return next((mode for mode in ControlMode if mode.value == text), ControlMode.NONE)


def _ttl(values: ChannelValues) -> int:
    ttl = values.integer("ttl", 0)
    if not 0 <= ttl <= TTL_MAX:
        raise _value_error(values.uri, "ttl", "ttl is impossible", f"0 to {TTL_MAX}", ErrorCode.GENERIC_ERROR)
    return ttl


def _timestamp_offset(values: ChannelValues, key: str) -> int:
    return values.timestamp_offset(key, none=TIMESTAMP_OFFSET_NONE, reserved=RESERVED_VALUE_OFFSET)


def _value_error(
    uri: ChannelUri, key: str, what: str, expected: str, error_code: ErrorCode = ErrorCode.INVALID_CHANNEL
) -> ChannelValueError:
    actual = uri.get(key)
    return ChannelValueError(
        what, where=uri.original, expected=expected, actual=None if actual is None else f"{key}={actual}", error_code=error_code
    )
