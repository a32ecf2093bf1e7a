"""A process of a simulated host: something that has turns, sockets of its own and an end of its own."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from aerowire.base.arguments import whole_number
from aerowire.base.errors import ClosedError
from aerowire.base.units import INT64_MAX
from aerowire.simulation.link_faults import TIME_NS_MAX
from aerowire.simulation.network import Inbox

if TYPE_CHECKING:
    from aerowire.simulation.disk.simulated_files import SimulatedFiles
    from aerowire.simulation.host_clock import HostClock
    from aerowire.simulation.network import SimulatedPort
    from aerowire.simulation.processes import SimulatedProcess
    from aerowire.simulation.schedule import Schedule

Work = Callable[[], int]
"""One duty cycle: returns how much was done, 0 for nothing."""
Deadline = Callable[[], int]
"""When there may be work again without a datagram; NEVER_NS for never."""
NEVER_NS = INT64_MAX
"""The deadline of what waits for nothing but datagrams and others."""


class ProcessState(Enum):
    """What a process can do."""

    NEW = "new"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


class Process:
    """What runs on a host: a driver, a client, or an actor of a scenario.

    Changed by start(), pause(), resume(), slow(), kill() and end(). Invariant: a process that has ended has no sockets, files and turns.
    """

    def __init__(
        self,
        schedule: Schedule,
        name: str,
        *,
        host: int,
        clock: HostClock | None = None,
        identity: SimulatedProcess | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """`host` is the number of its host in the schedule, `clock` the one that its deadlines are by, None for true time.

        `identity` is what its host's table of processes has of it; `note` keeps an event of the host.
        """
        self.name = name
        self.inbox = Inbox()
        self._schedule = schedule
        self._host = host
        self._clock = clock
        self._identity = identity
        self._note = note
        self._number = -1
        self._sockets: list[SimulatedPort] = []
        self._files: list[SimulatedFiles] = []
        self._on_kill: list[Callable[[], object]] = []
        self._state = ProcessState.NEW
        self._turns_at_end = 0

    @property
    def state(self) -> ProcessState:
        """Whether it runs."""
        return self._state

    @property
    def turns(self) -> int:
        """How many turns it has had."""
        is_scheduled = self._state in (ProcessState.RUNNING, ProcessState.PAUSED)
        return self._schedule.turns(self._number) if is_scheduled else self._turns_at_end

    def start(self, work: Work, next_deadline_ns: Deadline | None = None, *, inbox: Inbox | None = None, looks: bool = True) -> None:
        """Let it have turns from now on. Without deadlines it has one whenever time has passed.

        `inbox` takes the place of its own, where the sockets it uses are not its own. One that does not look has no turn because another
        process of its host has had one without work.
        """
        self._check(ProcessState.NEW)
        inbox = self.inbox if inbox is None else inbox
        self._number = self._schedule.add(self, work, next_deadline_ns, host=self._host, inbox=inbox, clock=self._clock, looks=looks)
        self._state = ProcessState.RUNNING

    def add_socket(self, socket: SimulatedPort) -> None:
        """Close a socket with the process."""
        self._sockets = [other for other in self._sockets if not other.is_closed] + [socket]

    def add_files(self, files: SimulatedFiles) -> None:
        """Close a files port, with what it has open and its locks, with the process."""
        self._files.append(files)

    def kill_after(self, file_operations: int) -> None:
        """Let the n-th operation of its files from now on be done in part, and all later ones fail; `kill` has to follow."""
        for files in self._files:
            files.kill_after(file_operations)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The addresses that its sockets are bound to."""
        found = (socket.local_address for socket in self._sockets if not socket.is_closed)
        return [address for address in found if address is not None]

    def on_kill(self, forget: Callable[[], object]) -> None:
        """Call `forget` when the process is killed, in place of an orderly end of what it runs."""
        self._on_kill.append(forget)

    def wake(self) -> None:
        """Give it a turn, though nothing is due."""
        self._check(ProcessState.RUNNING, ProcessState.PAUSED)
        self._schedule.wake(self._number)

    def pause(self) -> None:
        """Stop it until it is resumed: its clock goes on, and datagrams fill its sockets."""
        self._check(ProcessState.RUNNING)
        self._state = ProcessState.PAUSED
        self._schedule.pause(self._number)
        self._tell("is paused")

    def resume(self) -> None:
        """Let it go on after a pause."""
        self._check(ProcessState.PAUSED)
        self._state = ProcessState.RUNNING
        self._schedule.resume(self._number)
        self._tell("is resumed")

    def undisturb(self) -> None:
        """End a pause and slowness, where there are any."""
        if self._state is ProcessState.PAUSED:
            self.resume()
        if self._state is ProcessState.RUNNING:
            self.slow(0)

    def slow(self, turn_ns: int) -> None:
        """Let each of its turns with work take `turn_ns` of true time; 0 for none."""
        self._check(ProcessState.RUNNING, ProcessState.PAUSED)
        self._schedule.slow(self._number, whole_number("turn_ns", turn_ns, 0, TIME_NS_MAX, where=self.name))

    def kill(self) -> None:
        """End it at once: nothing of its orderly end runs, its sockets are closed, and what it wrote to memory and files stays."""
        if self._state is ProcessState.ENDED:
            return
        self._tell("is killed")
        if self._identity is not None:
            self._identity.kill()
        self._leave()
        for forget in self._on_kill:
            forget()

    def end(self) -> None:
        """End it in good order: what it runs is called as at a process's exit, then it has no more turns and sockets. Idempotent."""
        if self._identity is not None:
            self._identity.end()
        self._leave()

    @property
    def identity(self) -> SimulatedProcess:
        """What its host's table of processes has of it: the ProcessPort of what it runs."""
        if self._identity is None:
            raise ClosedError("the process belongs to no host", where=self.name, expected="one of a host", actual="an actor of the world")
        return self._identity

    def _leave(self) -> None:
        if self._state in (ProcessState.RUNNING, ProcessState.PAUSED):
            self._turns_at_end = self._schedule.turns(self._number)
            self._schedule.remove(self._number)
        self._state = ProcessState.ENDED
        for socket in self._sockets:
            socket.close()
        self._sockets.clear()
        for files in self._files:
            files.kill()
        self._files.clear()

    def _tell(self, event: str) -> None:
        if self._note is not None:
            self._note(f"{self.name} {event}")

    def __repr__(self) -> str:
        return f"Process({self.name!r}, {self._state.value})"

    def _check(self, *states: ProcessState) -> None:
        if self._state not in states:
            expected = " or ".join(state.value for state in states)
            raise ClosedError("the process is in the wrong state", where=self.name, expected=expected, actual=self._state.value)
