"""Opens UDP sockets for ports: binding, connecting, options, and what went wrong in words.

Addresses are numeric (host, port) pairs; names are resolved before they come here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from aerowire.base.address import AddressTuple, address_text
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
    peer: AddressTuple = None,
    send_buffer_length: int = 0,
    receive_buffer_length: int = 0,
    timestamps: bool = False,
    cut: bool = True,
    join: bool = False,
) -> UdpPort:
    """Open a socket bound to `bind` (port 0: any free one) and return it as a port.

    peer: connect to it; only its datagrams arrive.  Buffer lengths in bytes, 0 leaves the system's default.  timestamps: let the kernel
    stamp what arrives.  cut, join: see UdpPort.  Raises PortInUseError, or SocketError for anything else the system refuses.
    """
    sock = make_socket(bind[0], where=bind, send_buffer_length=send_buffer_length, receive_buffer_length=receive_buffer_length)
    try:
        attempt("cannot bind UDP socket", bind, lambda: sock.bind(bind))
        if peer is not None:
            attempt("cannot connect UDP socket", peer, lambda: sock.connect(peer))
        return UdpPort(sock, timestamps=timestamps, cut=cut, join=join)
    except BaseException:
        sock.close()
        raise


def make_socket(host: str, *, where: object, send_buffer_length: int = 0, receive_buffer_length: int = 0) -> socket.socket:
    """Make an unbound UDP socket of the family of `host`; buffer lengths as for `open_udp`. Raises SocketError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = attempt("cannot make a UDP socket", where, lambda: socket.socket(family, socket.SOCK_DGRAM))
    options = []
    if family == socket.AF_INET6:
        options.append((socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0))  # whatever net.ipv6.bindv6only says: [::] hears IPv4 too
    if send_buffer_length > 0:
        options.append((socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_length))
    if receive_buffer_length > 0:
        options.append((socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_length))
    try:
        for option in options:
            attempt(f"cannot set socket option {option}", where, partial(sock.setsockopt, *option))
    except BaseException:
        sock.close()
        raise
    return sock


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


def attempt(what: str, where: object, operation: Callable[[], T]) -> T:
    """Run one system call; raises PortInUseError or SocketError that say `what` went wrong `where`."""
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
