"""Whole drivers in virtual time: the composition that the driver's command uses, with a simulated clock, network and disk.

One thread runs every process; which one is next is drawn. Time stands still while any of them has something to do and then jumps to what is
due next. A test may add actors of its own kind beside the drivers, and open sockets of the network to send and receive datagrams that no
driver would.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from aerowire.simulation.disk.disk import CAPACITY
from aerowire.simulation.events import EventLog
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.network import SimulatedNetwork
from aerowire.simulation.process import Deadline, Process, Work
from aerowire.simulation.schedule import ANY_HOST, Schedule
from aerowire.system.clock import ManualClock
from aerowire.system.random import SeededRandom

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from aerowire.simulation.disk.disk_faults import DiskFaults
    from aerowire.simulation.host_clock import HostClock
    from aerowire.simulation.processes import SimulatedProcess

EPOCH_MS = 1_700_000_000_000
START_NS = 1_000_000_000


class Participant(Protocol):
    """Whatever takes part in a world without being a process of one of its hosts: its work is done in virtual time."""

    def work(self) -> int:
        """Run one duty cycle; return how much was done, and 0 for nothing."""

    def next_deadline_ns(self) -> int:
        """Return the true time at which there may be work again without a datagram; NEVER_NS for never."""

    def close(self) -> None:
        """Stop."""


ParticipantT = TypeVar("ParticipantT", bound=Participant)


class SimulatedWorld:
    """A clock that tells the true time, a network, and hosts with disks. Everything follows from the seed and what is done with it.

    A world is closed at the end of a `with`. `events` keeps the last events of each host, and whatever else is noted there.
    """

    def __init__(self, *, seed: int) -> None:
        self.clock = ManualClock(now_ns=START_NS, epoch_ms=EPOCH_MS)
        self.network = SimulatedNetwork(self.clock, seed=seed)
        self.events = EventLog(self.clock, lambda: self.steps)
        self.names: dict[str, str] = {}  # what a name server would say
        self.hosts: list[SimulatedHost] = []
        self.steps = 0
        self._seeds = SeededRandom(seed)
        self._schedule = Schedule(self.clock, self.network, seed=self.draw_seed())
        self._participants: list[tuple[Participant, Process]] = []
        self._hosts_made = 0
        self._removed_hash = 0

    # -- Hosts and processes -------------------------------------------------------------------------------------------

    def add_host(self, address: str, **options: Any) -> SimulatedHost:
        """Start a driver on a host of its own; `options` are those of the driver's Context."""
        host = self.add_empty_host(address)
        host.start_driver(**options)
        return host

    def add_empty_host(self, address: str, *, capacity: int = CAPACITY, faults: DiskFaults | None = None) -> SimulatedHost:
        """Add a host without processes, with a blank disk of `capacity` bytes, and the faults that happen to it: none unless given."""
        host = SimulatedHost(self, address, self._hosts_made, capacity=capacity, faults=faults)
        self._hosts_made += 1
        self.hosts.append(host)
        return host

    def remove_host(self, host: SimulatedHost) -> None:
        """Take the power from a host for ever, and forget it and its disk."""
        host.lose_power()
        self.hosts.remove(host)
        self._removed_hash = _digest(self._removed_hash, host.clock.trace_hash, host.disk.hash)

    def add(self, participant: ParticipantT) -> ParticipantT:
        """Let something take part that uses sockets opened by the caller, and sees the memory of every host; returns it."""
        process = self.new_process(type(participant).__name__, ANY_HOST)
        process.start(participant.work, participant.next_deadline_ns, inbox=self.network.unowned)
        self._participants.append((participant, process))
        return participant

    def remove(self, participant: Participant) -> None:
        """Let a participant have no more turns."""
        for each in [each for each in self._participants if each[0] is participant]:
            each[1].end()
            self._participants.remove(each)

    def add_actor(self, work: Work, next_deadline_ns: Deadline | None = None) -> Process:
        """Let `work` have turns: a client, or anything else that sees the memory of every host. Deadlines are in true time.

        Without deadlines it has a turn whenever time has passed.
        """
        process = self.new_process("actor", ANY_HOST)
        process.start(work, next_deadline_ns, inbox=self.network.unowned)
        return process

    def new_process(
        self,
        name: str,
        host: int,
        clock: HostClock | None = None,
        identity: SimulatedProcess | None = None,
        note: Callable[[str], None] | None = None,
    ) -> Process:
        """Make a process that has no turns yet, with deadlines by a host's clock; hosts call it."""
        return Process(self._schedule, name, host=host, clock=clock, identity=identity, note=note)

    def draw_seed(self) -> int:
        """Draw the seed of a further generator."""
        return self._seeds.u64()

    # -- Time ----------------------------------------------------------------------------------------------------------

    def run(self, duration_ns: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass; return True as soon as `until` holds, False when the time is over."""
        end = self.clock.now_ns() + duration_ns
        self._schedule.wake_all()
        while True:
            self._schedule.settle()
            if until is not None and until():
                return True
            now = self.clock.now_ns()
            if now >= end:
                return False
            self.clock.advance(max(min(self._schedule.next_ns(), end) - now, 1))
            self.steps += 1

    def settle(self) -> None:
        """Let processes run until none has anything to do at this time."""
        self._schedule.wake_all()
        self._schedule.settle()

    def close(self) -> None:
        """Stop every host and every participant."""
        for host in self.hosts:
            host.close()
        for participant, process in self._participants:
            participant.close()
            process.end()
        self._participants.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    @property
    def trace_hash(self) -> int:
        """Digest of every packet, of who ran when, of every time that was read from a host's clock, and of what was done to disks."""
        hosts = [value for host in self.hosts for value in (host.clock.trace_hash, host.disk.hash)]
        return _digest(self.network.trace_hash, self._schedule.trace_hash, self._removed_hash, *hosts)


def _digest(*values: int) -> int:
    octets = b"".join(value.to_bytes(8, "little") for value in values)
    return int.from_bytes(blake2b(octets, digest_size=8).digest(), "little")
