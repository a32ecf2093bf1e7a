"""What a UDP channel URI means to a driver: addresses, control mode and the canonical form by which endpoints are shared.

Aeron: media/UdpChannel.
"""

from __future__ import annotations

import enum
import itertools
from dataclasses import dataclass

from aerowire.base import units
from aerowire.base.channel_uri import RESERVED_OFFSET, ChannelUri
from aerowire.base.errors import ChannelError, ChannelValueError
from aerowire.codecs.flyweights import transport
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.interfaces import InterfaceAddress, InterfaceLister, list_interfaces, resolve_interface
from aerowire.driver.socket_address import ANY_IPV4, ANY_IPV6, NameResolver, SocketAddress, parse_address, resolve_with_system

# Offset of the reserved value from the start of a message, which is what `reserved` asks timestamps to be written to.
_RESERVED_VALUE_MESSAGE_OFFSET = transport.DataHeaderEncoder.RESERVED_VALUE_OFFSET - transport.DataHeaderEncoder.ENCODED_LENGTH
TIMESTAMP_OFFSET_NONE = -1

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
    """A parsed and resolved UDP channel.

    Invariant: two channels with equal `canonical_form` can share one socket.
    """

    uri: ChannelUri
    original: str
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
    def is_multi_destination(self) -> bool:
        return self.control_mode.is_multi_destination

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

    def matches_tag(self, other: UdpChannel) -> bool:
        """Return whether a new channel `other` refers to this one by tag; raises ChannelValueError when they disagree."""
        if self.tag is None or self.tag != other.tag:
            return False
        if other.control_mode not in {ControlMode.NONE, self.control_mode}:
            raise _value_error(other.original, "tags", "tag matches a channel of another control-mode", self.original)
        is_wildcard = other.remote_data.is_any and other.remote_data.port == 0 and other.local_data.is_any and other.local_data.port == 0
        if not is_wildcard and (self.remote_data, self.local_data) != (other.remote_data, other.local_data):
            raise _value_error(other.original, "tags", "tag matches a channel of another endpoint or control", self.original)
        return True

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        resolver: NameResolver = resolve_with_system,
        interfaces: InterfaceLister = list_interfaces,
        is_destination: bool = False,
    ) -> UdpChannel:
        """Parse `text`; may block in `resolver`. Raises a ChannelError with the code that the client is told."""
        uri = ChannelUri.parse(text)
        if not uri.is_udp:
            raise _value_error(text, "media", "channel is not a UDP channel", "aeron:udp")
        endpoint = _address(uri, text, "endpoint", resolver)
        control = _address(uri, text, "control", resolver)
        control_mode = ControlMode(uri.get("control-mode"))
        _check_has_identity(uri, text, endpoint, control, control_mode)
        suffix = "" if is_destination else _suffix(uri, endpoint, control)
        remote = endpoint or (ANY_IPV6 if control is not None and control.is_ipv6 else ANY_IPV4)
        if control is not None and control.is_ipv6 != remote.is_ipv6:
            raise _value_error(text, "control", "control and endpoint differ in family", "addresses of one family")
        remote_control, local, interface, canonical = _resolve_local(uri, text, remote, control, interfaces)
        ttl = uri.get("ttl")
        return cls(
            uri=uri,
            original=text,
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
            multicast_ttl=int(ttl) if ttl is not None and remote.is_multicast else None,
            socket_rcvbuf_length=_size(uri, "so-rcvbuf"),
            socket_sndbuf_length=_size(uri, "so-sndbuf"),
            receiver_window_length=_size(uri, "rcv-wnd"),
            group_tag=_optional_int(uri, "gtag"),
            nak_delay_ns=_optional_duration(uri, "nak-delay"),
            channel_rcv_timestamp_offset=_timestamp_offset(uri, "channel-rcv-ts-offset"),
            channel_snd_timestamp_offset=_timestamp_offset(uri, "channel-snd-ts-offset"),
        )


def names_to_resolve(uri: ChannelUri) -> list[str]:
    """Return the `host:port` texts of a channel, for a caller that wants to know whether parsing can block."""
    return [text for text in (uri.get("endpoint"), uri.get("control")) if text is not None]


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
    uri: ChannelUri, text: str, remote: SocketAddress, control: SocketAddress | None, interfaces: InterfaceLister
) -> tuple[SocketAddress, SocketAddress, InterfaceAddress | None, str]:
    """Return (remote control, local address, interface, canonical form without suffix)."""
    interface_text = uri.get("interface")
    if remote.is_multicast:
        local, interface = resolve_interface(text, interface_text, is_multicast=True, is_ipv6=remote.is_ipv6, lister=interfaces)
        return _multicast_control(text, remote), local, interface, _canonicalise(None, local, None, remote)
    if control is not None:
        return remote, control, None, _canonicalise(uri.get("control"), control, uri.get("endpoint"), remote)
    local, interface = resolve_interface(text, interface_text, is_multicast=False, is_ipv6=remote.is_ipv6, lister=interfaces)
    return remote, local, interface, _canonicalise(None, local, uri.get("endpoint"), remote)


def _multicast_control(text: str, data: SocketAddress) -> SocketAddress:
    ip = data.ip
    if ip.packed[-1] % 2 == 0:
        raise _value_error(text, "endpoint", "multicast data address is even", "an odd last byte; control uses the next address")
    return SocketAddress(str(ip + 1), data.port, data.scope_id)


def _canonicalise(local_text: str | None, local: SocketAddress, remote_text: str | None, remote: SocketAddress) -> str:
    # Parameter text goes in as written, so that a name and its address are two channels; resolved addresses have no brackets.
    return f"UDP-{local_text or f'{local.host}:{local.port}'}-{remote_text or f'{remote.host}:{remote.port}'}"


def _size(uri: ChannelUri, key: str) -> int:
    text = uri.get(key)
    return 0 if text is None else units.parse_size(key, text)


def _optional_int(uri: ChannelUri, key: str) -> int | None:
    text = uri.get(key)
    return None if text is None else int(text)


def _optional_duration(uri: ChannelUri, key: str) -> int | None:
    text = uri.get(key)
    return None if text is None else units.parse_duration_ns(key, text)


def _timestamp_offset(uri: ChannelUri, key: str) -> int:
    text = uri.get(key)
    if text is None:
        return TIMESTAMP_OFFSET_NONE
    return _RESERVED_VALUE_MESSAGE_OFFSET if text == RESERVED_OFFSET else int(text)


def _value_error(text: str, key: str, what: str, expected: str) -> ChannelValueError:
    actual = ChannelUri.parse(text).get(key)
    return ChannelValueError(
        what, where=text, expected=expected, actual=None if actual is None else f"{key}={actual}", error_code=ErrorCode.INVALID_CHANNEL
    )
