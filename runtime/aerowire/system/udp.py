"""Opens UDP sockets for ports: binding, connecting, options, multicast, and what went wrong in words.

Addresses are numeric (host, port) pairs; names are resolved before they come here.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from aerowire.base.address import SocketAddress, address_text
from aerowire.base.errors import PortInUseError, SocketError
from aerowire.system.datagrams import UdpPort

T = TypeVar("T")

BUFFER_PROBE_LENGTH = (1 << 31) - 1

_HINTS = {
    errno.EADDRNOTAVAIL: "the address is not one of this machine's; check the endpoint, control or interface of the channel",
    errno.EACCES: "ports below 1024 and broadcast addresses need privileges",
    errno.ENETUNREACH: "there is no route to that network",
    errno.ENODEV: "no such network interface, or it does not do multicast",
    errno.EMFILE: "too many open files; raise the limit (ulimit -n)",
    errno.EAFNOSUPPORT: "this machine has no support for that address family (IPv6 may be off)",
}


class SocketBuffers(NamedTuple):
    """What the operating system gives a UDP socket, in bytes as it reports them."""

    send_default: int
    send_max: int
    receive_default: int
    receive_max: int


def open_udp(
    *,
    bind: tuple[str, int],
    peer: SocketAddress = None,
    group: str | None = None,
    interface: str | None = None,
    ttl: int | None = None,
    send_buffer_length: int = 0,
    receive_buffer_length: int = 0,
    reuse_address: bool = False,
    timestamps: bool = False,
) -> UdpPort:
    """Open a socket bound to `bind` (port 0: any free one) and return it as a port.

    peer: connect to it; only its datagrams arrive.  group: join this multicast group on `interface` (an address of this machine, or an
    interface's name).  ttl: of multicast datagrams.  Buffer lengths in bytes, 0 leaves the system's default.  reuse_address: several
    sockets may share the port, as receivers of one group do.  timestamps: let the kernel stamp what arrives.
    Raises PortInUseError, or SocketError for anything else the system refuses.
    """
    family = _family(bind[0])
    sock = _attempt("cannot make a UDP socket", bind, lambda: socket.socket(family, socket.SOCK_DGRAM))
    try:
        _set_options(sock, family, bind, reuse_address, send_buffer_length, receive_buffer_length)
        if ttl is not None:
            _set_ttl(sock, family, bind, ttl)
        _attempt("cannot bind UDP socket", bind, lambda: sock.bind(bind))
        if interface is not None and (group is not None or _is_multicast(peer)):
            _set_interface(sock, family, bind, interface)
        if group is not None:
            _join(sock, family, bind, group, interface)
        if peer is not None:
            _attempt("cannot connect UDP socket", peer, lambda: sock.connect(peer))
        return UdpPort(sock, timestamps=timestamps)
    except BaseException:
        sock.close()
        raise


def probe_socket_buffers() -> SocketBuffers:
    """Ask the operating system for the default and the largest buffers of a UDP socket."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        send_default = probe.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        receive_default = probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            with contextlib.suppress(OSError):
                probe.setsockopt(socket.SOL_SOCKET, option, BUFFER_PROBE_LENGTH)
        return SocketBuffers(
            send_default,
            probe.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            receive_default,
            probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        )


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _is_multicast(address: SocketAddress) -> bool:
    return address is not None and ipaddress.ip_address(address[0].partition("%")[0]).is_multicast


def _set_options(
    sock: socket.socket,
    family: socket.AddressFamily,
    bind: tuple[str, int],
    reuse_address: bool,
    send_buffer_length: int,
    receive_buffer_length: int,
) -> None:
    options = []
    if family == socket.AF_INET6:
        options.append((socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1))
    if reuse_address:
        options.append((socket.SOL_SOCKET, socket.SO_REUSEADDR, 1))
    if send_buffer_length > 0:
        options.append((socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_length))
    if receive_buffer_length > 0:
        options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_length))
    for option in options:
        _attempt(f"cannot set socket option {option}", bind, partial(sock.setsockopt, *option))


def _set_ttl(sock: socket.socket, family: socket.AddressFamily, bind: tuple[str, int], ttl: int) -> None:
    level, name = (
        (socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS) if family == socket.AF_INET6 else (socket.IPPROTO_IP, socket.IP_MULTICAST_TTL)
    )
    _attempt(f"cannot set multicast TTL to {ttl}", bind, lambda: sock.setsockopt(level, name, ttl))


def _set_interface(sock: socket.socket, family: socket.AddressFamily, bind: tuple[str, int], interface: str) -> None:
    if family == socket.AF_INET6:
        index = _interface_index(interface, bind)
        _attempt("cannot select interface", interface, lambda: sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index))
    else:
        packed = _interface_ip4(interface)
        _attempt("cannot select interface", interface, lambda: sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, packed))


def _join(sock: socket.socket, family: socket.AddressFamily, bind: tuple[str, int], group: str, interface: str | None) -> None:
    if family == socket.AF_INET6:
        index = 0 if interface is None else _interface_index(interface, bind)
        request = socket.inet_pton(socket.AF_INET6, group.partition("%")[0]) + struct.pack("@I", index)
        level, name = socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP
    else:
        local = b"\0\0\0\0" if interface is None else _interface_ip4(interface)
        request = socket.inet_aton(group) + local
        level, name = socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP
    _attempt(f"cannot join multicast group {group}", interface, lambda: sock.setsockopt(level, name, request))


def _interface_ip4(interface: str) -> bytes:
    try:
        return socket.inet_aton(interface)
    except OSError:
        raise SocketError("not an interface address", where=interface, expected="an IPv4 address of this machine") from None


def _interface_index(interface: str, bind: tuple[str, int]) -> int:
    name = interface.partition("%")[2] or interface
    if name.isdigit():
        return int(name)
    if ":" in name:
        return _index_of_ip6(name, bind)
    return _attempt("no such interface", interface, lambda: socket.if_nametoindex(name))


def _index_of_ip6(address: str, bind: tuple[str, int]) -> int:
    """Index of the interface that holds an IPv6 address, from the kernel's table."""
    wanted = socket.inet_pton(socket.AF_INET6, address).hex()
    with contextlib.suppress(OSError), Path("/proc/net/if_inet6").open(encoding="ascii") as table:
        for line in table:
            fields = line.split()
            if fields[0] == wanted:
                return int(fields[1], 16)
    raise SocketError("no interface has this address", where=address, actual=f"bind to {address_text(bind)}")


def _attempt(what: str, where: object, operation: Callable[[], T]) -> T:
    try:
        return operation()
    except OSError as error:
        place = address_text(where) if isinstance(where, tuple) else where
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(
                what,
                where=place,
                actual="address already in use",
                hint="another process or channel is bound to that port; choose another, or port 0 for any free one",
            ) from None
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SocketError(what, where=place, actual=reason, hint=_HINTS.get(error.errno or 0)) from None
    except (OverflowError, ValueError) as error:
        raise SocketError(what, where=where, actual=str(error)) from None
