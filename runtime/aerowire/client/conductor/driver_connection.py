"""Meeting the driver: waits for its cnc file, checks that it is one and that the driver lives. Aeron: Aeron.Context.connectToDriver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import (
    AerowireError,
    DamagedBufferError,
    DriverDirectoryMissingError,
    DriverNotReadyError,
    DriverShutdownError,
    DriverTimeoutError,
    StorageError,
    TruncatedFileError,
)
from aerowire.client.conductor.driver_checks import check_driver
from aerowire.client.handles.waiting import wait_for
from aerowire.ipc.cnc import CncFile
from aerowire.system.clock import SystemClock
from aerowire.system.driver_life import DriverLife
from aerowire.system.files import identity_of
from aerowire.system.ownership import check_owner

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort

# How often a file that is not there yet is looked for.
RETRY_SLEEP_MAX_S = 10e-3
# Looking up the file costs a microsecond. A new driver needs to be noticed no sooner than after this time.
REPLACEMENT_CHECK_NS = 50_000_000

# What a driver cures by itself, or the start of another one.
_PASSING = (DamagedBufferError, DriverNotReadyError, DriverShutdownError, DriverTimeoutError, TruncatedFileError)


class DriverFile:
    """A driver's cnc file, and whether the file of that name is still the same: a driver that starts again makes a new one."""

    def __init__(self, cnc: CncFile, path: Path, identity: tuple[int, int]) -> None:
        self.cnc = cnc
        self._path = path
        self._identity = identity
        self._check_ns = 0

    def is_replaced(self, now_ns: int) -> bool:
        """Return whether another file has taken the name; False while there is none, and between two looks."""
        if now_ns - self._check_ns < REPLACEMENT_CHECK_NS:
            return False
        self._check_ns = now_ns
        try:
            return identity_of(self._path) != self._identity
        except OSError:
            return False


def connect_to_driver(
    aeron_dir: str,
    timeout_ns: int,
    invoke: Callable[[], int] | None = None,
    *,
    is_shared: bool = False,
    clock: ClockPort | None = None,
) -> DriverFile:
    """Map the driver's cnc file once it is complete and its driver lives, by a heartbeat at most `timeout_ns` old; wait as long for that.

    `invoke` is called before each attempt, for a driver that has no threads of its own. Raises DriverDirectoryMissingError when there is
    no cnc file in time, DriverTimeoutError when its driver is dead, DriverShutdownError when it has ended in order, and at once
    ForeignDirectoryError when the file is something else, or another user's unless the directory `is_shared`.
    """
    clock = SystemClock() if clock is None else clock
    path = Path(aeron_dir) / CNC_FILE_NAME
    life = DriverLife(path.parent, clock, timeout_ns)
    found: DriverFile | None = None
    problem: AerowireError | None = None

    def attempt() -> bool:
        nonlocal found, problem
        if invoke is not None:
            invoke()
        cnc: CncFile | None = None
        try:
            identity = identity_of(path)
            if not is_shared:
                check_owner(path)
            cnc = CncFile.map(path)
            if identity_of(path) != identity:
                raise DriverNotReadyError("the media driver is just being started", where=path)
            check_driver(cnc, life.is_alive(cnc), clock, timeout_ns)
            cnc.to_clients_receiver()
        except FileNotFoundError:
            problem = DriverDirectoryMissingError(
                "there is no media driver here",
                where=path,
                expected="the cnc file of a running driver",
                actual="no such file",
                hint=f"start one with `aerowire driver --dir {aeron_dir}`, or say where it is: --dir, aeron.dir or AERON_DIR",
            )
            return False
        except (NotADirectoryError, PermissionError) as error:
            raise StorageError(
                "the driver's file cannot be reached",
                where=path,
                expected="a driver's directory that this user may enter",
                actual=error.strerror,
                hint="check the spelling, and owner and permissions of the directory",
            ) from None
        except _PASSING as error:
            problem = error
            if cnc is not None:
                cnc.close()
            return False
        found = DriverFile(cnc, path, identity)
        return True

    wait_for(attempt, timeout_ns, sleep_max_s=RETRY_SLEEP_MAX_S)
    if found is None:
        assert problem is not None
        raise problem
    return found
