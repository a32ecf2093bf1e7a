"""Whole drivers in virtual time: the composition that the driver's command uses, with a simulated clock, network and disk.

One thread runs every host in order; time stands still while anybody works and then jumps to the next thing that is due. A test may add
hosts of its own kind beside the drivers, and open ports of the network to send and receive datagrams that no driver would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from aerowire.driver.context import Context
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.simulation.clients import SimulatedClient
from aerowire.simulation.network import SimulatedNetwork, SimulatedPort
from aerowire.simulation.one_thread import SimulatedThreads, SimulatedWaiting, SimulatedWakeup
from aerowire.simulation.processes import ProcessTable
from aerowire.simulation.regions import AnonymousRegions
from aerowire.system.clock import ManualClock
from aerowire.system.interfaces import InterfaceAddress
from aerowire.system.ports import Ports, SocketSpec
from aerowire.system.random import SeededRandom

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.base.ports import DatagramPort

EPOCH_MS = 1_700_000_000_000
START_NS = 1_000_000_000
CYCLES_AT_ONE_TIME = 1_000  # more without rest means that somebody works without end
STEP_NS = 1_000  # time passes by at least this
AGAIN_NS = 100_000  # and by at most this while a datagram waits unread, or a deadline is past, and nobody works
_WILDCARDS = ("0.0.0.0", "::")


class Host(Protocol):
    """Whatever takes part in a world: its work is done in virtual time."""

    def work(self) -> int:
        """Run one duty cycle; return how much was done, and 0 for nothing."""

    def next_deadline_ns(self) -> int:
        """Return the time at which there may be work again without a datagram; 2^63-1 for never."""

    def close(self) -> None:
        """Stop."""


HostT = TypeVar("HostT", bound=Host)


class SimulatedHost:
    """One machine: an address, a disk and a media driver in the caller's thread."""

    def __init__(self, world: SimulatedWorld, address: str, directory: Path, seed: int, options: dict[str, Any]) -> None:
        self._world = world
        self.address = address
        self.regions = AnonymousRegions()
        self.processes = ProcessTable()
        self.clients: list[SimulatedClient] = []
        self._sockets: list[SimulatedPort] = []
        self.ports = Ports(
            clock=world.clock,
            random=SeededRandom(seed),
            regions=self.regions,
            open_socket=self._open_socket,
            resolver=world.names.get,
            interfaces=self._interfaces,
            processes=self.processes.begin(world.clock.now_ms()),
            waiting=SimulatedWaiting(world.clock),
            threads=SimulatedThreads(),
            new_wakeup=SimulatedWakeup,
        )
        context = Context(aeron_dir=str(directory), threading_mode="INVOKER", **options)
        self.driver = MediaDriver.launch(context, ports=self.ports)
        self.cnc = CncFile.map(directory / "cnc.dat", regions=self.regions)

    def connect(
        self, *, work: Callable[[], int] | None = None, next_deadline_ns: Callable[[], int] | None = None, **options: Any
    ) -> SimulatedClient:
        """Start an application with a client of this host's driver; `options` are those of its ClientContext."""
        client = SimulatedClient(
            aeron_dir=self.driver.aeron_dir,
            ports=self.ports,
            processes=self.processes,
            run=lambda duration_ns, until: self._world.run(duration_ns, until=until),
            work=work,
            next_deadline_ns=next_deadline_ns,
            on_end=self._remove,
            **options,
        )
        self.clients.append(client)
        return self._world.add(client)

    def _remove(self, client: SimulatedClient) -> None:
        self.clients.remove(client)
        self._world.hosts.remove(client)

    def work(self) -> int:
        """Run one duty cycle."""
        return self.driver.invoker.invoke()

    def next_deadline_ns(self) -> int:
        """Return when the driver is to work again."""
        return self.driver.invoker.next_deadline_ns()

    def close(self) -> None:
        """Stop the driver."""
        self.driver.close()

    def kill(self) -> None:
        """Let the machine lose its power: nothing more comes from it, and what it had is gone."""
        for socket in self._sockets:
            socket.cut()
        for client in list(self.clients):
            client.kill()
        self._world.hosts.remove(self)
        self.driver.close()

    def _open_socket(self, spec: SocketSpec) -> DatagramPort:
        host = self.address if spec.bind.host in _WILDCARDS else spec.bind.host
        peer = None if spec.connect is None else (spec.connect.host, spec.connect.port)
        if spec.group is None:
            socket = self._world.network.open_port((host, spec.bind.port), peer)
        else:
            # Ends of groups share their port number, and are told apart by their groups alone.
            socket = self._world.network.open_port((self.address, 0), peer, (spec.group.host, spec.group.port))
        self._sockets.append(socket)
        return socket

    def _interfaces(self) -> list[InterfaceAddress]:
        return [InterfaceAddress("sim0", 1, self.address)]


class SimulatedWorld:
    """A clock, a network and hosts. Everything follows from the seed and what is done with it.

    Only drivers need the `directory`, for their locks: everything else of theirs is in memory.
    """

    def __init__(self, directory: Path | None = None, *, seed: int) -> None:
        self.clock = ManualClock(now_ns=START_NS, epoch_ms=EPOCH_MS)
        self.network = SimulatedNetwork(self.clock, seed=seed)
        self.names: dict[str, str] = {}  # what a name server would say
        self.hosts: list[Host] = []
        self.actors: list[Callable[[], int]] = []
        self.steps = 0
        self._host_count = 0
        self._directory = directory
        self._seed = seed

    def add_host(self, address: str, **options: Any) -> SimulatedHost:
        """Start a driver on a host of its own; `options` are those of the driver's Context."""
        if self._directory is None:
            raise ValueError("directory: a world with drivers needs one")
        directory = self._directory / f"host-{self._host_count}"
        host = SimulatedHost(self, address, directory, self._seed * 1_000 + self._host_count, options)
        self._host_count += 1
        return self.add(host)

    def add(self, host: HostT) -> HostT:
        """Let a host of any kind take part; returns it."""
        self.hosts.append(host)
        return host

    def add_actor(self, work: Callable[[], int]) -> None:
        """Call `work` in every cycle: a client; it returns how much it did."""
        self.actors.append(work)

    def run(self, duration_ns: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass; return True as soon as `until` holds, False when the time is over."""
        end = self.clock.now_ns() + duration_ns
        while True:
            self.settle()
            if until is not None and until():
                return True
            now = self.clock.now_ns()
            if now >= end:
                return False
            self.clock.advance(min(max(self._next_ns() - now, STEP_NS), end - now))
            self.steps += 1

    def settle(self) -> None:
        """Let all work until nobody has more to do at this time."""
        for _ in range(CYCLES_AT_ONE_TIME):
            if sum(host.work() for host in self.hosts) + sum(work() for work in self.actors) == 0:
                return
        raise RuntimeError(f"no rest after {CYCLES_AT_ONE_TIME} cycles at {self.clock.now_ns()} ns")

    def close(self) -> None:
        """Stop every host."""
        for host in reversed(list(self.hosts)):  # clients before their drivers
            host.close()

    def _next_ns(self) -> int:
        now = self.clock.now_ns()
        deadlines = (host.next_deadline_ns() for host in self.hosts)
        return min([self.network.next_delivery_ns(AGAIN_NS), *(deadline if deadline > now else now + AGAIN_NS for deadline in deadlines)])
