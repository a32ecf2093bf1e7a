"""Network interfaces of this machine."""

from __future__ import annotations

import ctypes
import functools
import ipaddress
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_IFF_UP = 0x1
_IFF_LOOPBACK = 0x8
_IFF_MULTICAST = 0x1000

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class InterfaceAddress:
    """One address of one interface."""

    name: str
    index: int
    address: str
    prefix_length: int = 0
    is_up: bool = True
    is_loopback: bool = False
    supports_multicast: bool = True

    @property
    def ip(self) -> IpAddress:
        return ipaddress.ip_address(self.address)


InterfaceLister = Callable[[], Sequence[InterfaceAddress]]


class _SockAddr(ctypes.Structure):
    _fields_ = [("family", ctypes.c_ushort), ("data", ctypes.c_ubyte * 26)]


class _IfAddrs(ctypes.Structure):
    pass


_IfAddrs._fields_ = [
    ("next", ctypes.POINTER(_IfAddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.POINTER(_SockAddr)),
    ("netmask", ctypes.POINTER(_SockAddr)),
]


def list_interfaces() -> Sequence[InterfaceAddress]:
    """Return the addresses of this host's interfaces, in the system's order."""
    libc = _libc()
    head = ctypes.POINTER(_IfAddrs)()
    if libc.getifaddrs(ctypes.byref(head)) != 0:
        return ()
    try:
        return tuple(_walk(head))
    finally:
        libc.freeifaddrs(head)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _walk(node: ctypes._Pointer[_IfAddrs]) -> Iterator[InterfaceAddress]:
    while node:
        item = node.contents
        text = _address_text(item.address.contents) if item.address else None
        if text is not None:
            name = item.name.decode()
            flags = item.flags
            mask = _address_text(item.netmask.contents) if item.netmask else None
            yield InterfaceAddress(
                name,
                socket.if_nametoindex(name),
                text,
                0 if mask is None else int(ipaddress.ip_address(mask)).bit_count(),
                bool(flags & _IFF_UP),
                bool(flags & _IFF_LOOPBACK),
                bool(flags & _IFF_MULTICAST),
            )
        node = item.next


def _address_text(address: _SockAddr) -> str | None:
    data = bytes(address.data)
    if address.family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, data[2:6])
    if address.family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, data[6:22])
    return None


def interface_index(name: str) -> int:
    """Return the index of the interface with a name. Raises OSError if there is none."""
    return socket.if_nametoindex(name)
