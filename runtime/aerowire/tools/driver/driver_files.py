"""A driver's directory as the tools see it: never written to, and looked at anew when another driver has come to it.

Knows where files are and whose they are; nothing of what is shown of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from aerowire.base.directory import CNC_FILE_NAME, default_aeron_dir
from aerowire.base.errors import DriverError, DriverNotReadyError, ForeignDirectoryError
from aerowire.base.options import resolve_options
from aerowire.codecs.flyweights.cnc import (
    CONSUMER_HEARTBEAT_CLOSED,
    cnc_header_version_major,
    cnc_header_version_minor,
    cnc_header_version_patch,
)
from aerowire.ipc.cnc import CncFile
from aerowire.system.bus_error import explain_bus_errors
from aerowire.system.clock import SystemClock
from aerowire.system.driver_life import DriverLife
from aerowire.system.waiting import sleep
from aerowire.tools.arguments import properties_of
from aerowire.tools.exit_codes import USAGE
from aerowire.tools.terminal.figures import age_text

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort

ALIVE, ENDED, SILENT, STARTING = "alive", "ended", "silent", "starting"


class DriverState(NamedTuple):
    """What a driver says of itself, at one moment. `age_ms` is that of its heartbeat; None where there is none."""

    aeron_dir: str
    cnc_version: int
    pid: int
    start_timestamp_ms: int
    heartbeat_ms: int
    client_liveness_timeout_ns: int
    age_ms: int | None
    state: str

    @property
    def version_text(self) -> str:
        """The version of the cnc file, as the official tools write it."""
        raw = self.cnc_version
        return f"{cnc_header_version_major(raw)}.{cnc_header_version_minor(raw)}.{cnc_header_version_patch(raw)}"

    @property
    def heartbeat_text(self) -> str:
        """Whether it lives, in words."""
        if self.state == ENDED:
            return "the driver has ended"
        if self.state == STARTING:
            return "the driver has not begun to beat"
        return f"heartbeat {age_text(self.age_ms or 0)} ago" + (": dead or stalled" if self.state == SILENT else "")


class DriverFiles:
    """The files of the driver in `aeron_dir`.

    Invariant: what `cnc()` returned last is mapped until the next call or `close()`, whatever happens to the file.
    """

    def __init__(
        self, aeron_dir: str, driver_timeout_ns: int, clock: ClockPort | None = None, sleep: Callable[[int], object] = sleep
    ) -> None:
        self.aeron_dir = aeron_dir
        self._clock = SystemClock() if clock is None else clock
        self._life = DriverLife(Path(aeron_dir), self._clock, driver_timeout_ns, sleep)
        self._timeout_ms = driver_timeout_ns // 1_000_000
        self._cnc: CncFile | None = None
        self._identity: tuple[int, int] | None = None
        explain_bus_errors(USAGE)

    @property
    def driver_timeout_ns(self) -> int:
        """How old a heartbeat may be."""
        return self._timeout_ms * 1_000_000

    @property
    def directory(self) -> Path:
        """The directory."""
        return Path(self.aeron_dir)

    def cnc(self) -> CncFile:
        """Return the cnc file of the driver that is there now. Raises what CncFile.map does."""
        path = self.directory / CNC_FILE_NAME
        try:
            found = path.stat()
            identity = (found.st_dev, found.st_ino)
        except OSError:
            identity = None  # mapping it says why
        if self._cnc is None or identity is None or identity != self._identity:
            self.close()
            self._cnc = CncFile.map(path, writable=False)
            self._identity = identity
        return self._cnc

    def state(self) -> DriverState:
        """Return what the driver says of itself now.

        A heartbeat that makes no sense by the wall clock, which may have been set, is watched for up to 1.2 s; once.
        """
        cnc = self.cnc()
        header = cnc.header
        is_alive = self._life.await_life(cnc)
        heartbeat_ms = cnc.heartbeat_ms
        age_ms = None if heartbeat_ms <= 0 else self._clock.now_ms() - heartbeat_ms
        if heartbeat_ms == CONSUMER_HEARTBEAT_CLOSED:
            state = ENDED
        elif age_ms is None:
            state = STARTING
        else:
            state = ALIVE if is_alive else SILENT
        return DriverState(
            self.aeron_dir,
            cnc.version,
            header["pid"],
            header["start_timestamp_ms"],
            heartbeat_ms,
            header["client_liveness_timeout_ns"],
            age_ms,
            state,
        )

    def close(self) -> None:
        """Unmap."""
        if self._cnc is not None:
            self._cnc.close()
            self._cnc = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


def driver_files(arguments: argparse.Namespace) -> DriverFiles:
    """Return the files of the driver that --dir and -D name. Raises ForeignDirectoryError where that is a file."""
    options = resolve_options({"client"}, {}, properties_of(arguments))
    timeout_ns = options["driver_timeout_ns"]
    assert isinstance(timeout_ns, int)
    aeron_dir = str(options["dir"] or default_aeron_dir())
    _check_is_no_file(Path(aeron_dir))
    return DriverFiles(aeron_dir, timeout_ns)


def _check_is_no_file(path: Path) -> None:
    if path.is_file():
        is_of_driver = (path.parent / CNC_FILE_NAME).exists()
        hint = f"give the directory that it is in: {path.parent}" if is_of_driver else "give a driver's directory"
        raise ForeignDirectoryError("the driver's directory is a file", where=path, expected="a directory", actual="a file", hint=hint)


def is_absence(error: DriverError) -> bool:
    """Return whether an error of `cnc()` says no more than that no driver is there yet, or any more."""
    return isinstance(error, (DriverNotReadyError, FileNotFoundError))
