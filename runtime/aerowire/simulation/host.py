"""A machine of a simulated world: an address, a clock, a disk, and processes that share its memory."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import ClosedError, ConfigurationError
from aerowire.codecs.flyweights.commands import NULL_CORRELATION_ID
from aerowire.driver.context import Context
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.simulation.clients import SimulatedClient
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_regions import SimulatedRegions
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.simulation.driver_cycle import DriverCycle
from aerowire.simulation.host_clock import HostClock
from aerowire.simulation.one_thread import SimulatedThreads, SimulatedWaiting, SimulatedWakeup
from aerowire.simulation.process import Deadline, Process, ProcessState, Work
from aerowire.simulation.processes import ProcessTable
from aerowire.system.interfaces import InterfaceAddress
from aerowire.system.ports import Ports, SocketSpec
from aerowire.system.random import SeededRandom

if TYPE_CHECKING:
    from aerowire.base.ports import DatagramPort
    from aerowire.client.handles.waiting import Pending
    from aerowire.simulation.archives import SimulatedArchive
    from aerowire.simulation.disk.disk_faults import DiskFaults
    from aerowire.simulation.world import SimulatedWorld

# What Linux gives a socket that asks for nothing (net.core.rmem_default).
_RECEIVE_BUFFER_LENGTH = 212_992
# What is below it is in memory, and lost with the power, as on every Linux.
MEMORY = "/dev/shm"
AERON_DIR = f"{MEMORY}/aeron"
ARCHIVE_DIR = "/archive"
ARCHIVE_PORT = 8010
PartT = TypeVar("PartT")


class SimulatedHost:
    """Made by SimulatedWorld.add_host and add_empty_host.

    Changed by its processes, and by lose_power(), restart() and move_to(). Invariant: a host without power has no processes.
    `disk` is all that it stores, /dev/shm included; `files` and `regions` look at it without being a process's.
    """

    def __init__(self, world: SimulatedWorld, address: str, number: int, *, capacity: int, faults: DiskFaults | None) -> None:
        """`capacity` and `faults` are the disk's; SimulatedWorld.add_empty_host says what they are."""
        self.clock = HostClock(world.clock)
        self.disk = SimulatedDisk(world.clock, seed=world.draw_seed(), capacity=capacity, faults=faults, memory_in=(MEMORY,))
        self.disk.on_begin = self._start_disk
        self._look_at_disk()
        self._world = world
        self._address = address
        self._number = number
        self._has_power = True
        self._processes: list[Process] = []
        self._left: list[tuple[Pending[Any], object]] = []
        self.process_table = ProcessTable()
        self.clients: list[SimulatedClient] = []
        self.archives: list[SimulatedArchive] = []
        self._driver: MediaDriver | None = None
        self._driver_process: Process | None = None
        self._cnc: CncFile | None = None
        self._driver_regions: SimulatedRegions | None = None
        self._own_counters: frozenset[int] = frozenset()  # of the driver, from its start

    @property
    def address(self) -> str:
        """The address that others reach it at."""
        return self._address

    @property
    def has_power(self) -> bool:
        """Whether processes can run."""
        return self._has_power

    @property
    def has_driver(self) -> bool:
        """Whether a driver runs here, paused or not."""
        return self._driver_process is not None and self._driver_process.state is not ProcessState.ENDED

    @property
    def driver(self) -> MediaDriver:
        """The driver that was started here last, unless it was killed."""
        return self._present(self._driver)

    @property
    def driver_process(self) -> Process:
        """The process of the driver."""
        return self._present(self._driver_process)

    @property
    def cnc(self) -> CncFile:
        """The driver's cnc file."""
        return self._present(self._cnc)

    def mapped_by_driver(self) -> list[str]:
        """Return the paths of files that the driver has mapped, each as often as it has."""
        return self._present(self._driver_regions).mapped

    def counters_left(self) -> list[str]:
        """Return the labels of counters of clients, streams and channels: those of the driver, and static ones, stay without clients."""
        counters = self.cnc.counters_reader().for_each()
        return [info.label for info in counters if info.counter_id not in self._own_counters and info.owner_id != NULL_CORRELATION_ID]

    @property
    def processes(self) -> tuple[Process, ...]:
        """The processes that have not ended, in the order of their starts."""
        return tuple(process for process in self._processes if process.state is not ProcessState.ENDED)

    # -- Processes -----------------------------------------------------------------------------------------------------

    def start_driver(self, **options: Any) -> Process:
        """Start a media driver; `options` are those of its Context, which takes none from the environment. Return its process.

        Its directory is /dev/shm/aeron unless `aeron_dir` is among them. It takes over that of one that was killed. Raises ClosedError when
        the host has a driver or no power, ConfigurationError for `capture`, whose file would be one of the machine that runs the world.
        """
        if self.has_driver:
            raise ClosedError("the host has a driver", where=self._address, expected="one that has ended, or none", actual="running")
        if options.get("capture") is not None:
            hint = "world.network.add_trace(PacketCapture(path, world.clock)) writes all packets of a world"
            raise ConfigurationError("a simulated driver writes no capture", where="capture", actual=str(options["capture"]), hint=hint)
        context = Context(**{"aeron_dir": AERON_DIR, "environ": {}, **options, "threading_mode": "INVOKER"})
        process = self.new_process("driver")
        try:
            ports = self.ports_for(process)
            driver = MediaDriver.launch(context, ports=ports)
        except BaseException:
            process.end()
            raise
        process.on_kill(partial(self._forget_driver, driver))
        cycle = DriverCycle(driver, self.clock)
        process.start(cycle.work, cycle.next_deadline_ns)
        assert isinstance(ports.regions, SimulatedRegions)
        self._driver, self._driver_process, self._driver_regions = driver, process, ports.regions
        self._cnc = CncFile.map(Path(context.aeron_dir) / CNC_FILE_NAME, regions=self.regions)
        self._own_counters = frozenset(info.counter_id for info in self._cnc.counters_reader().for_each())
        self._note("a driver starts")
        return process

    def add_process(self, work: Work, next_deadline_ns: Deadline | None = None, *, name: str = "client") -> Process:
        """Let something take part that shares the memory of this host: a client, for instance. Return its process.

        Deadlines are by this host's clock; without them it has a turn whenever time has passed.
        """
        process = self.new_process(name)
        process.start(work, next_deadline_ns)
        return process

    def connect(
        self,
        *,
        work: Work | None = None,
        next_deadline_ns: Deadline | None = None,
        aeron_dir: Path | str | None = None,
        **options: Any,
    ) -> SimulatedClient:
        """Start an application with a client of this host's driver, or of the one that is to come in `aeron_dir`.

        `work()` is called in each of its turns and returns how much it did, 0 for nothing; it does not wait. `next_deadline_ns()` returns
        when it has work without a message having come (ns of this host's clock), NEVER_NS for never. `SimulatedClient.start` gives both
        later. `options` are those of its ClientContext. Raises ClosedError when the host has no power, or no driver and no `aeron_dir`.
        """
        process = self.new_process("client")
        client = SimulatedClient(
            aeron_dir=self.driver.aeron_dir if aeron_dir is None else aeron_dir,
            ports=self.ports_for(process),
            process=process,
            run=lambda duration_ns, until: self._world.run(duration_ns, until=until),
            work=work,
            next_deadline_ns=next_deadline_ns,
            **options,
        )
        process.start(client.work, client.next_deadline_ns)
        self.clients = [other for other in self.clients if not other.has_ended] + [client]
        return client

    def start_archive(self, *, aeron_dir: Path | str | None = None, sleeps: bool = False, **options: Any) -> SimulatedArchive:
        """Start an archive of this host's driver; `options` are those of its ArchiveContext. Its process is in `process` of the result.

        Its directory is /archive on the disk unless `archive_dir` is among them; it takes requests at port 8010 of this host, and through
        IPC. If it `sleeps`, its conductor has a cycle when it is woken or due, as in a thread of its own, and not in each turn. Raises
        ClosedError when the host has no power, or no driver and no `aeron_dir`, and what is wrong with the options.
        """
        from aerowire.simulation.archives import SimulatedArchive

        defaults = {
            "archive_dir": ARCHIVE_DIR,
            "control_channel": f"aeron:udp?endpoint={self._address}:{ARCHIVE_PORT}",
            "replication_channel": f"aeron:udp?endpoint={self._address}:0",
            "aeron_dir": self.driver.aeron_dir if aeron_dir is None else aeron_dir,
        }
        process = self.new_process("archive")
        try:
            archive = SimulatedArchive(ports=self.ports_for(process), process=process, sleeps=sleeps, **{**defaults, **options})
        except BaseException:
            process.end()
            raise
        process.start(archive.work, archive.next_deadline_ns, looks=not sleeps)
        self.archives = [other for other in self.archives if not other.has_ended] + [archive]
        return archive

    def new_process(self, name: str) -> Process:
        """Make a process that has no turns until it is started, for what takes its ports before it can work."""
        if not self._has_power:
            raise ClosedError("the host has no power", where=self._address, expected="restart() before", actual="a new process")
        identity = self.process_table.begin(self.clock.now_ms())
        process = self._world.new_process(f"{name} at {self._address}", self._number, self.clock, identity, self._note)
        self._processes = [*self.processes, process]
        return process

    def keep_until_the_end(self, launching: Pending[Any], running: object) -> None:
        """Keep what a killed process has left, as long as the world: what it had begun would be ended in order with its garbage."""
        self._left.append((launching, running))

    def discard_left(self) -> None:
        """Discard what killed processes have left. The world has come to its end."""
        for launching, _ in self._left:
            with suppress(Exception):  # of things that have gone before
                launching.abandon()
        self._left.clear()

    def ports_for(self, process: Process) -> Ports:
        """Return what a process of this host takes from outside, with randomness and sockets of its own."""
        files = SimulatedFiles(self.disk)
        process.add_files(files)
        random = SeededRandom(self._world.draw_seed())
        return Ports(
            clock=self.clock,
            random=random,
            secrets=random,
            files=files,
            regions=SimulatedRegions(files),
            open_socket=partial(self._open_socket, process),
            resolver=self._world.names.get,
            interfaces=self._interfaces,
            processes=process.identity,
            waiting=SimulatedWaiting(self.clock),
            threads=SimulatedThreads(),
            new_wakeup=SimulatedWakeup,
        )

    def close(self) -> None:
        """Stop the driver in good order, and every other process. Archives, which take a while to end, are killed."""
        for archive in self.archives:
            archive.kill()
        for client in self.clients:
            client.close()
        if self._driver is not None and self.driver_process.state is not ProcessState.ENDED:
            self._driver.close()
        for process in self._processes:
            process.end()
        self._processes.clear()

    # -- Misfortunes ---------------------------------------------------------------------------------------------------

    def lose_power(self) -> None:
        """Kill all processes, and let nothing in or out. The disk keeps what was synced, and of the rest some; memory loses all."""
        for process in self._processes:
            process.kill()
        self._processes.clear()
        self.disk.lose_power()
        self._look_at_disk()
        self._note("the power fails")
        self._has_power = False
        self._world.network.disconnect(self._address)

    def restart(self, *, blank_disk: bool = False) -> None:
        """Switch it on again, with its disk as it is or with a blank one; processes are the caller's to start.

        Monotonic time begins again, the wall clock has gone on.
        """
        if self._has_power:
            raise ClosedError("the host has power", where=self._address, expected="one that has lost it", actual="running")
        self._has_power = True
        self.clock.restart()
        if blank_disk:
            self.disk.wipe()
            self._look_at_disk()
        self._world.network.reconnect(self._address)
        self._note("the power is back")

    def move_to(self, address: str) -> None:
        """Take a new address. Sockets bound to a wildcard follow; the names that lead here are the caller's to change."""
        self._world.network.move_host(self._address, address)
        self._address = address

    # -- What processes ask for ----------------------------------------------------------------------------------------

    def _open_socket(self, process: Process, spec: SocketSpec) -> DatagramPort:
        peer = None if spec.connect is None else (spec.connect.host, spec.connect.port)
        # Ends of groups share their port number, and are told apart by their groups alone.
        group = None if spec.group is None else (spec.group.host, spec.group.port)
        socket = self._world.network.open_port(
            (spec.bind.host, spec.bind.port) if group is None else ("0.0.0.0", 0),
            peer,
            group,
            host=self._address,
            inbox=process.inbox,
            receive_buffer_length=spec.so_rcvbuf or _RECEIVE_BUFFER_LENGTH,
        )
        process.add_socket(socket)
        return socket

    def _look_at_disk(self) -> None:
        self.files = SimulatedFiles(self.disk)
        self.regions = SimulatedRegions(self.files)

    def _start_disk(self) -> None:
        # Most hosts never begin an operation that takes time: their disk has no turns.
        self.disk.on_begin = None
        process = self._world.new_process(f"disk at {self._address}", self._number)
        process.start(self.disk.complete_due, self.disk.next_completion_ns)

    def _interfaces(self) -> list[InterfaceAddress]:
        return [InterfaceAddress("sim0", 1, self._address)]

    def _note(self, event: str) -> None:
        self._world.events.note(self._address, event)

    def _forget_driver(self, driver: MediaDriver) -> None:
        if self._driver is driver:
            self._driver = self._driver_process = self._driver_regions = self._cnc = None

    def _present(self, part: PartT | None) -> PartT:
        if part is None:
            raise ClosedError(
                "the host has no driver", where=self._address, expected="start_driver() before", actual="none, or one that was killed"
            )
        return part
