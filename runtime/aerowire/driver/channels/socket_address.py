"""Addresses in channels: `host:port`, `1.2.3.4:port`, `[::1%scope]:port`, and how names become addresses.

Resolution goes through a `NameResolver`, so that a simulator decides what names mean. Aeron: SocketAddressParser.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Protocol, runtime_checkable

from aerowire.base.errors import ChannelValueError, UnknownHostError
from aerowire.base.socket_address import SocketAddress
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.system.interfaces import interface_index
from aerowire.system.names import NameResolver

_IPV4 = re.compile(r"(?P<host>[^:\[\]]*):(?P<port>[0-9]+)", re.ASCII)
_IPV6 = re.compile(r"\[(?P<host>[0-9a-fA-F:]*)(?:%(?P<scope>[0-9a-zA-Z_.~-]*))?\]:(?P<port>[0-9]+)", re.ASCII)

_PORT_MAX = 65535
# What `:port` means: the loopback interface, as with the official driver.
_NO_HOST = "127.0.0.1"


@runtime_checkable
class LookupResolver(NameResolver, Protocol):
    """A resolver that is asked for the whole text of an address before it is asked for a host. Aeron: NameResolver.lookup."""

    def lookup(self, text: str, /) -> str:
        """Return the `host:port` that `text` stands for."""
        ...


def is_numeric(text: str) -> bool:
    """Return whether `text` (host:port) holds an address that needs no resolution."""
    match = _IPV4.fullmatch(text)
    if match is None:
        return True  # IPv6 is always numeric, and what is neither form fails without a look-up
    return _as_ipv4(match["host"]) is not None


def parse_address(uri: str, key: str, text: str, resolver: NameResolver) -> SocketAddress:
    """Parse the `host:port` that parameter `key` of `uri` holds, resolving a name.

    Raises ChannelValueError for malformed text, UnknownHostError for a name nobody knows.
    """
    if isinstance(resolver, LookupResolver):
        text = resolver.lookup(text)
    match = _IPV6.fullmatch(text) or _IPV4.fullmatch(text)
    if match is None:
        raise _malformed(uri, key, text, "host:port, 1.2.3.4:port or [::1]:port")
    port = int(match["port"])
    if port > _PORT_MAX:
        raise _malformed(uri, key, text, f"a port of at most {_PORT_MAX}")
    groups = match.groupdict()
    host = groups["host"]
    if match.re is _IPV6:
        return _ipv6(uri, key, text, host, port, groups["scope"])
    literal = _as_ipv4(host)
    if literal is not None:
        return SocketAddress(literal, port)
    resolved = resolver(host)
    if resolved is None:
        raise UnknownHostError(
            "host name does not resolve",
            where=uri,
            expected="a host name that the system knows, or an address",
            actual=f"{key}={text}",
            hint="check the name and the name server",
            error_code=ErrorCode.UNKNOWN_HOST,
        )
    return SocketAddress(resolved, port)


def _ipv6(uri: str, key: str, text: str, host: str, port: int, scope: str | None) -> SocketAddress:
    try:
        address = str(ipaddress.IPv6Address(host))
        scope_id = 0 if not scope else int(scope) if scope.isdecimal() else interface_index(scope)
    except ValueError:
        raise _malformed(uri, key, text, "an IPv6 address in brackets") from None
    except OSError:
        raise _malformed(uri, key, text, "a scope that names an interface") from None
    return SocketAddress(address, port, scope_id)


def _as_ipv4(host: str) -> str | None:
    try:
        return str(ipaddress.IPv4Address(host or _NO_HOST))
    except ValueError:
        return None


def _malformed(uri: str, key: str, text: str, expected: str) -> ChannelValueError:
    return ChannelValueError(
        f"{key} is not an address", where=uri, expected=expected, actual=f"{key}={text}", error_code=ErrorCode.INVALID_CHANNEL
    )
