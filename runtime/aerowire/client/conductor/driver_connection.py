"""Meeting the driver: waits for its cnc file, checks that it is one and that the driver lives. Aeron: Aeron.Context.connectToDriver.

Each look is short and none waits, so that a caller can do other things between two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import (
    AerowireError,
    ClosedError,
    DamagedBufferError,
    DriverDirectoryMissingError,
    DriverNotReadyError,
    DriverShutdownError,
    DriverTimeoutError,
    StorageError,
    TruncatedFileError,
)
from aerowire.client.conductor.driver_checks import check_driver
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.flyweights.commands import NULL_CORRELATION_ID
from aerowire.ipc.cnc import CncFile
from aerowire.system.driver_life import DriverLife

if TYPE_CHECKING:
    from aerowire.base.ports import RegionPort
    from aerowire.system.ports import Ports

T = TypeVar("T")

# Looking up the file costs a microsecond. A new driver needs to be noticed no sooner than after this time.
REPLACEMENT_CHECK_NS = 50_000_000

# What a driver cures by itself, or the start of another one.
_PASSING = (DamagedBufferError, DriverNotReadyError, DriverShutdownError, DriverTimeoutError, TruncatedFileError)


class ConnectState(Enum):
    """What a connection waits for."""

    AWAIT_FILE = auto()
    AWAIT_VERSION = auto()
    AWAIT_HEARTBEAT = auto()
    CONNECTED = auto()
    FAILED = auto()


class DriverFile:
    """A driver's cnc file, and whether the file of that name is still the same: a driver that starts again makes a new one."""

    def __init__(self, cnc: CncFile, path: Path, identity: Hashable, regions: RegionPort) -> None:
        self.cnc = cnc
        self._path = path
        self._identity = identity
        self._regions = regions
        self._check_ns = 0

    def is_replaced(self, now_ns: int) -> bool:
        """Return whether another file has taken the name; False while there is none, and between two looks."""
        if now_ns - self._check_ns < REPLACEMENT_CHECK_NS:
            return False
        self._check_ns = now_ns
        try:
            return self._regions.identity(self._path) != self._identity
        except OSError:
            return False


class DriverConnection:
    """The way to the cnc file of one directory's driver, by a heartbeat at most `timeout_ns` old.

    `invoke` is called before each look, for a driver that has no threads of its own. Changed by `look`.
    """

    def __init__(
        self, aeron_dir: str, timeout_ns: int, *, ports: Ports, is_shared: bool = False, invoke: Callable[[], int] | None = None
    ) -> None:
        self.state = ConnectState.AWAIT_FILE
        self.problem: AerowireError | None = None
        self._aeron_dir = aeron_dir
        self._path = Path(aeron_dir) / CNC_FILE_NAME
        self._timeout_ns = timeout_ns
        self._is_shared = is_shared
        self._regions = ports.regions
        self._clock = ports.clock
        self._invoke = invoke
        self._life = DriverLife(
            self._path.parent, ports.clock, timeout_ns, is_lock_held=ports.regions.is_locked, is_running=ports.processes.is_running
        )
        self._deadline_ns = ports.clock.now_ns() + timeout_ns

    def look(self) -> DriverFile | None:
        """Return the file once it is complete and its driver lives; None while `problem` stands in the way and there is time.

        Raises the last problem when the time is over: DriverDirectoryMissingError where there is no cnc file, DriverTimeoutError when its
        driver is dead, DriverShutdownError when it has ended in order; and at once ForeignDirectoryError when the file is something else,
        or another user's unless the directory is shared.
        """
        is_over = self._clock.now_ns() >= self._deadline_ns  # BEFORE the look: the last one comes after the deadline
        try:
            found = self._look()
            if found is None and is_over:
                assert self.problem is not None
                raise self.problem
        except BaseException:
            self.state = ConnectState.FAILED
            raise
        return found

    def _look(self) -> DriverFile | None:
        if self._invoke is not None:
            self._invoke()
        cnc: CncFile | None = None
        state = ConnectState.AWAIT_FILE
        try:
            identity = self._regions.identity(self._path)
            if not self._is_shared:
                self._regions.check_owner(self._path)
            state = ConnectState.AWAIT_VERSION
            cnc = CncFile.map(self._path, regions=self._regions)
            if self._regions.identity(self._path) != identity:
                raise DriverNotReadyError("the media driver is just being started", where=self._path)
            state = ConnectState.AWAIT_HEARTBEAT
            check_driver(cnc, self._life.is_alive(cnc), self._clock, self._timeout_ns)
            cnc.to_clients_receiver()
        except FileNotFoundError:
            self.problem = self._missing()
            self.state = ConnectState.AWAIT_FILE
            return None
        except (NotADirectoryError, PermissionError) as error:
            raise StorageError(
                "the driver's file cannot be reached",
                where=self._path,
                expected="a driver's directory that this user may enter",
                actual=error.strerror,
                hint="check the spelling, and owner and permissions of the directory",
            ) from None
        except _PASSING as error:
            self.problem = error
            self.state = state
            if cnc is not None:
                cnc.close()
            return None
        self.state = ConnectState.CONNECTED
        return DriverFile(cnc, self._path, identity, self._regions)

    def _missing(self) -> DriverDirectoryMissingError:
        return DriverDirectoryMissingError(
            "there is no media driver here",
            where=self._path,
            expected="the cnc file of a running driver",
            actual="no such file",
            hint=f"start one with `aerowire driver --dir {self._aeron_dir}`, or say where it is: --dir, aeron.dir or AERON_DIR",
        )


class AsyncConnect(Pending[T]):
    """A connection under way: `poll()` it until it returns true, then take its `result()`, the client. From `Aeron.async_connect`.

    `state` is what it waits for, and `problem` the error that it would end with now. Belongs to one thread.
    """

    __slots__ = ("_connection", "_make")

    def __init__(self, aeron_dir: str, connection: DriverConnection, make: Callable[[DriverFile], T]) -> None:
        """`make` turns the driver's file into the result."""
        super().__init__(NULL_CORRELATION_ID, f"connect to the driver in {aeron_dir}", self._look, AsyncConnect._give_up)
        self._connection = connection
        self._make = make

    @property
    def state(self) -> ConnectState:
        """What the connection waits for."""
        return self._connection.state

    @property
    def problem(self) -> AerowireError | None:
        """Why the client was not connected at the last look; None before it."""
        return self._connection.problem

    def _look(self) -> None:
        try:
            found = self._connection.look()
            if found is not None:
                self.complete(self._make(found))
        except Exception as error:
            self.fail(error)

    @staticmethod
    def _give_up(pending: Pending[T]) -> None:
        pending.fail(ClosedError(f"given up: {pending.what}"))
