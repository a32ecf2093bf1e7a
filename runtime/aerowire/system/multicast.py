"""Opens the sockets of a multicast group. Aeron: UdpChannelTransport.openDatagramChannel, aeron_udp_channel_transport_init.

A receiving end has one socket, bound to the group's port and member of the data group, which sends to the control group. A sending end
has two: one connected to the data group, and one bound to its port that is a member of the control group.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from functools import partial
from typing import TYPE_CHECKING

from aerowire.base.errors import SocketError
from aerowire.system.datagrams import UdpPort
from aerowire.system.split_port import SplitPort
from aerowire.system.udp import attempt, make_socket

if TYPE_CHECKING:
    from aerowire.base.ports import DatagramPort

# Of linux/in.h and linux/in6.h: 0 keeps groups that other sockets of this machine joined out of this one. Python does not name them.
_IP_MULTICAST_ALL = 49
_IPV6_MULTICAST_ALL = 29


def open_multicast(
    *,
    group: tuple[str, int],
    interface: tuple[str, int],
    peer: tuple[str, int] | None = None,
    ttl: int = 0,
    send_buffer_length: int = 0,
    receive_buffer_length: int = 0,
    cut: bool = True,
    join: bool = False,
) -> DatagramPort:
    """Join `group` (host, port) and return a port that hears it, and sends to `peer` if that is given.

    interface: an address of this machine and the index of the interface that has it; groups are joined and datagrams sent there.
    ttl: of datagrams sent, 0 leaves the system's.  Buffer lengths in bytes, 0 leaves the system's default.
    cut, join: see UdpPort.  Raises PortInUseError, or SocketError for anything else the system refuses.
    """
    sending_length = send_buffer_length if peer is None else 0
    member = make_socket(group[0], where=group, send_buffer_length=sending_length, receive_buffer_length=receive_buffer_length)
    try:
        _join(member, group, interface)
        if peer is None:
            _send_through(member, interface, ttl)
            return UdpPort(member, cut=cut, join=join)
        return SplitPort(_open_sender(peer, interface, ttl, send_buffer_length, cut=cut), UdpPort(member))
    except BaseException:
        member.close()
        raise


def _open_sender(peer: tuple[str, int], interface: tuple[str, int], ttl: int, send_buffer_length: int, *, cut: bool) -> UdpPort:
    sock = make_socket(peer[0], where=peer, send_buffer_length=send_buffer_length)
    try:
        _send_through(sock, interface, ttl)
        attempt("cannot connect UDP socket", peer, lambda: sock.connect(peer))
        return UdpPort(sock, cut=cut)
    except BaseException:
        sock.close()
        raise


def _join(sock: socket.socket, group: tuple[str, int], interface: tuple[str, int]) -> None:
    host, port = group
    level, option, membership, any_host = (
        (socket.IPPROTO_IPV6, _IPV6_MULTICAST_ALL, socket.IPV6_JOIN_GROUP, "::")
        if sock.family == socket.AF_INET6
        else (socket.IPPROTO_IP, _IP_MULTICAST_ALL, socket.IP_ADD_MEMBERSHIP, "0.0.0.0")
    )
    for reuse in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        attempt("cannot share the port", group, partial(sock.setsockopt, socket.SOL_SOCKET, reuse, 1))
    try:
        sock.setsockopt(level, option, 0)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:  # an older kernel: others' groups come too, and are dropped as unknown streams
            raise SocketError("cannot limit a socket to its groups", where=host, actual=str(error)) from None
    attempt("cannot bind UDP socket", (any_host, port), lambda: sock.bind((any_host, port)))
    address, index = interface
    request = _packed(host) + (struct.pack("@I", index) if sock.family == socket.AF_INET6 else _packed(address))
    where = f"{address} (interface {index})"
    attempt(f"cannot join multicast group {host}", where, lambda: sock.setsockopt(level, membership, request))


def _send_through(sock: socket.socket, interface: tuple[str, int], ttl: int) -> None:
    address, index = interface
    if sock.family == socket.AF_INET6:
        level, select, hops = socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.IPV6_MULTICAST_HOPS
        attempt("cannot select interface", address, lambda: sock.setsockopt(level, select, index))
    else:
        level, select, hops = socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.IP_MULTICAST_TTL
        attempt("cannot select interface", address, lambda: sock.setsockopt(level, select, _packed(address)))
    if ttl:
        attempt(f"cannot set multicast TTL to {ttl}", address, lambda: sock.setsockopt(level, hops, ttl))


def _packed(host: str) -> bytes:
    with contextlib.suppress(OSError):
        return socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host.partition("%")[0])
    raise SocketError("not an address", where=host, expected="a numeric IPv4 or IPv6 address")
