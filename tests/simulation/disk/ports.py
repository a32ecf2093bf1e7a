"""Files ports that the tests here run on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aerowire.base.file_port import FilePort
from aerowire.simulation.disk.disk import CAPACITY, SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from aerowire.system.file_system import FileSystem, FileWorkers

KINDS = ("system", "workers", "simulated")


def disk_of(seed: int = 1, *, capacity: int = CAPACITY, **faults: float) -> tuple[SimulatedDisk, SimulatedFiles, ManualClock]:
    """Return a disk, the files of a process and the clock of both."""
    clock = ManualClock(now_ns=1_000)
    disk = SimulatedDisk(clock, seed=seed, capacity=capacity, faults=DiskFaults(**faults))  # type: ignore[arg-type]
    return disk, SimulatedFiles(disk), clock


@contextmanager
def port_of(kind: str, folder: Path) -> Iterator[tuple[FilePort, str]]:
    """Give a files port and a directory in which there is nothing."""
    if kind == "simulated":
        files = disk_of()[1]
        files.make_directory("/directory")
        yield files, "/directory"
        files.close()
    else:
        port: FilePort = FileSystem() if kind == "system" else FileWorkers(FileSystem(), 2)
        yield port, str(folder)
        port.close()
