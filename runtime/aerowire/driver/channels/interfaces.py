"""The `interface=` parameter of channels: `addr[:port][/prefix]`, `host[:port][/prefix]` or `{name}[:port]`.

Aeron: InterfaceSearchAddress, NamedInterface.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from aerowire.base.errors import ChannelValueError
from aerowire.base.socket_address import ANY_IPV4, ANY_IPV6, SocketAddress
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.system.interfaces import InterfaceAddress, InterfaceLister, IpAddress, list_interfaces
from aerowire.system.names import NameResolver, resolve_with_system

_NAMED = re.compile(r"\{(?P<name>.+)\}(?::(?P<port>[0-9]+))?", re.ASCII)
_HOST = r"\[(?P<ipv6>[0-9a-fA-F:.]+)(?:%(?P<scope>[0-9a-zA-Z_.~-]+))?\]|(?P<host>[^:/\[\]]+)"
_SEARCH = re.compile(rf"(?:{_HOST})(?::(?P<port>[0-9]+))?(?:/(?P<prefix>[0-9]+))?", re.ASCII)


def interface_host(text: str | None) -> str | None:
    """Return the host of `interface=text` whose address is to be looked up; None for an address, the name of an interface, or nonsense."""
    match = None if text is None or _NAMED.fullmatch(text) else _SEARCH.fullmatch(text)
    host = match["host"] if match is not None else None
    return None if host is None or _as_ip(host) is not None else host


def resolve_interface(
    uri: str,
    text: str | None,
    *,
    is_multicast: bool,
    is_ipv6: bool,
    lister: InterfaceLister = list_interfaces,
    resolver: NameResolver = resolve_with_system,
) -> tuple[SocketAddress, InterfaceAddress | None]:
    """Return the local address that `interface=text` selects and, unless it is a wildcard, its interface.

    A host's name is looked up with `resolver`. Raises ChannelValueError when the text is malformed or nothing on this host matches.
    """
    if text is None:
        wildcard = ANY_IPV6 if is_ipv6 else ANY_IPV4
        if not is_multicast:
            return wildcard, None
        return _search(uri, None, wildcard, 0, lister())
    named = _NAMED.fullmatch(text)
    if named is not None:
        return _by_name(uri, text, named["name"], _port(uri, text, named["port"]), is_ipv6, lister)
    match = _SEARCH.fullmatch(text)
    if match is None:
        raise _error(uri, text, "interface is malformed", "address[/prefix], address:port/prefix or {name}")
    host = match["ipv6"] or match["host"]
    ip = _as_ip(host) or _as_ip(resolver(host) or "")
    if ip is None:
        raise _error(uri, text, "interface is not an address", "an IPv4 or IPv6 address, a host's name, or {name}")
    if (ip.version == 6) != is_ipv6:
        raise _error(uri, text, "interface and endpoint differ in family", "addresses of one family")
    prefix = int(match["prefix"]) if match["prefix"] else ip.max_prefixlen
    if prefix > ip.max_prefixlen:
        raise _error(uri, text, "interface has an impossible prefix", f"at most {ip.max_prefixlen}")
    wanted = SocketAddress(str(ip), _port(uri, text, match["port"]))
    if wanted.is_any and not is_multicast:
        return wanted, None
    scope = match["scope"]
    return _search(uri, text, wanted, prefix, [item for item in lister() if scope in {None, item.name, str(item.index)}])


def _as_ip(text: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _by_name(
    uri: str, text: str, name: str, port: int, is_ipv6: bool, lister: InterfaceLister
) -> tuple[SocketAddress, InterfaceAddress | None]:
    candidates = [item for item in lister() if item.name == name]
    if not candidates:
        raise _error(uri, text, "interface is unknown", "one of " + ", ".join(sorted({item.name for item in lister()})))
    for item in candidates:
        if (item.ip.version == 6) == is_ipv6:
            return SocketAddress(item.address, port, item.index if item.ip.is_link_local else 0), item
    raise _error(uri, text, "interface has no address of the endpoint's family", "IPv6" if is_ipv6 else "IPv4")


def _search(
    uri: str, text: str | None, wanted: SocketAddress, prefix: int, candidates: Sequence[InterfaceAddress]
) -> tuple[SocketAddress, InterfaceAddress | None]:
    network = ipaddress.ip_network(f"{wanted.host}/{prefix}", strict=False)
    matching = [item for item in candidates if item.ip.version == network.version and item.ip in network]
    # The narrowest network comes first, and a loopback interface only when nothing better matches. Aeron: NetworkUtil.filterBySubnet.
    for item in sorted(matching, key=lambda item: (item.is_loopback, -item.prefix_length)):
        if item.is_up and (item.supports_multicast or item.is_loopback):
            return SocketAddress(item.address, wanted.port, item.index if item.ip.is_link_local else 0), item
    raise _error(uri, text or "", "no interface matches", f"an interface with an address in {network}")


def _port(uri: str, text: str, digits: str | None) -> int:
    port = int(digits) if digits else 0
    if port > 65535:
        raise _error(uri, text, "interface has an impossible port", "at most 65535")
    return port


def _error(uri: str, text: str, what: str, expected: str) -> ChannelValueError:
    return ChannelValueError(what, where=uri, expected=expected, actual=f"interface={text}", error_code=ErrorCode.INVALID_CHANNEL)
