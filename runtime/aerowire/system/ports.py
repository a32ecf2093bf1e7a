"""All that a driver or a client takes from outside, as one argument: the operating system's, or a simulator's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from aerowire.system.clock import SystemClock
from aerowire.system.file_system import FileSystem
from aerowire.system.processes import ProcessPort, SystemProcesses
from aerowire.system.random import SeededRandom, SystemSecrets
from aerowire.system.regions import FileRegionPort
from aerowire.system.threads import SystemThreads, ThreadPort
from aerowire.system.waiting import SystemWaiting, WaitPort
from aerowire.system.wakeup import Wakeup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerowire.base.file_port import FilePort
    from aerowire.base.ports import ClockPort, DatagramPort, RandomPort, RegionPort, WakeupPort
    from aerowire.base.socket_address import SocketAddress
    from aerowire.system.interfaces import InterfaceAddress, InterfaceLister
    from aerowire.system.names import NameResolver


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketSpec:
    """The socket that an endpoint needs. Lengths of 0 leave the system's default; `cut` and `join` allow UDP segmentation offload.

    With a `group`, the multicast group to hear, datagrams come and go through `interface`, and `bind` names no more than the port;
    a `ttl` of 0 leaves the system's.
    """

    bind: SocketAddress
    connect: SocketAddress | None
    so_sndbuf: int
    so_rcvbuf: int
    cut: bool = False
    join: bool = False
    group: SocketAddress | None = None
    interface: InterfaceAddress | None = None
    ttl: int = 0


SocketOpener = Callable[[SocketSpec], "DatagramPort"]

# What only a driver uses is imported when it does: a client starts without.


class SecretsPort(Protocol):
    """Numbers whose knowledge is a permission, as tokens are."""

    def u64(self) -> int:
        """Return a uniform integer of 64 bits that cannot be guessed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Clock, randomness, secrets, files, sockets, names, interfaces, processes, waiting, threads and wake-ups of one component."""

    clock: ClockPort
    random: RandomPort
    secrets: SecretsPort
    files: FilePort
    regions: RegionPort
    open_socket: SocketOpener
    resolver: NameResolver
    interfaces: InterfaceLister
    processes: ProcessPort
    waiting: WaitPort
    threads: ThreadPort
    new_wakeup: Callable[[], WakeupPort]

    @classmethod
    def system(cls) -> Ports:
        """Return the operating system's."""
        return cls(
            clock=SystemClock(),
            random=SeededRandom(),
            secrets=SystemSecrets(),
            files=FileSystem(),
            regions=FileRegionPort(),
            open_socket=open_udp_socket,
            resolver=_resolve,
            interfaces=_list_interfaces,
            processes=SystemProcesses(),
            waiting=SystemWaiting(),
            threads=SystemThreads(),
            new_wakeup=Wakeup,
        )


def _list_interfaces() -> Sequence[InterfaceAddress]:
    from aerowire.system.interfaces import list_interfaces

    return list_interfaces()


def _resolve(host: str, /) -> str | None:
    from aerowire.system.names import resolve_with_system

    return resolve_with_system(host)


def open_udp_socket(spec: SocketSpec) -> DatagramPort:
    """Open, bind and connect a UDP socket, or join a multicast group; raises PortInUseError or SocketError."""
    peer = None if spec.connect is None else _pair(spec.connect)
    if spec.group is not None and spec.interface is not None:
        from aerowire.system.multicast import open_multicast

        return open_multicast(
            group=_pair(spec.group),
            interface=(spec.interface.address, spec.interface.index),
            peer=peer,
            ttl=spec.ttl,
            send_buffer_length=spec.so_sndbuf,
            receive_buffer_length=spec.so_rcvbuf,
            cut=spec.cut,
            join=spec.join,
        )
    from aerowire.system.udp import open_udp

    return open_udp(
        bind=_pair(spec.bind),
        peer=peer,
        send_buffer_length=spec.so_sndbuf,
        receive_buffer_length=spec.so_rcvbuf,
        cut=spec.cut,
        join=spec.join,
    )


def _pair(address: SocketAddress) -> tuple[str, int]:
    host = f"{address.host}%{address.scope_id}" if address.scope_id else address.host
    return host, address.port
