"""What a driver's directory tells, and takes, without a client of it. Aeron: CommonContext."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import (
    DriverDirectoryMissingError,
    DriverNotReadyError,
    DriverShutdownError,
    DriverTimeoutError,
    MappedFileMissingError,
    TruncatedFileError,
)
from aerowire.client.conductor.driver_checks import check_driver
from aerowire.client.conductor.driver_proxy import DriverProxy
from aerowire.client.context import ClientContext, ConcludedContext
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from aerowire.ipc.error_report import error_report, save_error_report
from aerowire.system.driver_life import DriverLife
from aerowire.system.ports import Ports

Directory = str | os.PathLike[str] | None

# What the file of a driver that does not run, or not yet, makes of a look at it.
_INACTIVE = (
    DriverDirectoryMissingError,
    DriverNotReadyError,
    DriverShutdownError,
    DriverTimeoutError,
    MappedFileMissingError,
    TruncatedFileError,
)


def is_driver_active(
    aeron_dir: Directory = None, *, timeout_ns: int | None = None, watches: bool = True, ports: Ports | None = None
) -> bool:
    """Return whether a driver lives in `aeron_dir` (default as in `Aeron.connect`): its heartbeat is at most `timeout_ns` old.

    None is `driver_timeout_ns`. The heartbeat of a driver that may live nonetheless, because the wall clock was set, is watched for up to
    1.2 s; unless `watches` is false, then the call does not wait, and such a driver counts as dead. `ports` (default: the operating
    system's) are where the directory is. Raises ForeignDirectoryError where the file is not a driver's, and BlockingCallError in a
    simulated world, where only `watches=False` is possible.
    """
    try:
        with _running("is_driver_active", aeron_dir, ports, timeout_ns=timeout_ns, watches=watches):
            return True
    except _INACTIVE:
        return False


def request_driver_termination(
    aeron_dir: Directory = None, token: bytes = b"", *, watches: bool = True, ports: Ports | None = None
) -> None:
    """Ask the driver in `aeron_dir` (default as in `Aeron.connect`) to end; does not wait until it has.

    The driver ends only if its termination validator (`aeron.driver.termination.validator`) accepts the token: by default it accepts none.
    `watches` and `ports` as in `is_driver_active`. Raises DriverDirectoryMissingError where there is no driver, DriverTimeoutError or
    DriverShutdownError where it lives no more, and RingBufferFullError when it takes no commands.
    """
    with _running("request_driver_termination", aeron_dir, ports, watches=watches) as cnc:
        DriverProxy(cnc.to_driver).terminate_driver(token)


def next_correlation_id(aeron_dir: Directory = None, *, watches: bool = True, ports: Ports | None = None) -> int:
    """Return a number that no command or client of the driver has or gets. Raises as `request_driver_termination`."""
    with _running("next_correlation_id", aeron_dir, ports, watches=watches) as cnc:
        return cnc.to_driver.next_correlation_id()


def driver_file_page_size(aeron_dir: Directory = None, *, watches: bool = True, ports: Ports | None = None) -> int:
    """Return to how many bytes the driver rounds the length of its files. Raises as `request_driver_termination`."""
    with _running("driver_file_page_size", aeron_dir, ports, watches=watches) as cnc:
        return cnc.file_page_size


def print_error_log(aeron_dir: Directory = None, out: TextIO | None = None, *, ports: Ports | None = None) -> int:
    """Write the driver's distinct errors to `out` (default: standard output), whether it lives or not; return how many there are."""
    settled = ClientContext(aeron_dir=aeron_dir, ports=ports).conclude()
    with CncFile.map(_cnc_path(settled), regions=settled.ports.regions) as cnc:
        errors = read_errors(cnc.error_log_buffer)
    (out or sys.stdout).write(error_report(errors))
    return len(errors)


def save_error_log(aeron_dir: Directory = None, directory: Directory = None, *, ports: Ports | None = None) -> Path | None:
    """Write the driver's distinct errors to a file in `directory` (default: beside the driver's); return its path, None without errors.

    `ports` as in `is_driver_active`. Raises StorageError.
    """
    settled = ClientContext(aeron_dir=aeron_dir, ports=ports).conclude()
    found, path = settled.ports, _cnc_path(settled)
    with CncFile.map(path, regions=found.regions) as cnc:
        errors = read_errors(cnc.error_log_buffer)
    if not errors:
        return None
    folder = path.parent.parent if directory is None else Path(directory)
    return save_error_report(
        errors, found.files, folder, path.parent.name, epoch_ms=found.clock.now_ms(), process_id=found.processes.own_id()
    )


@contextmanager
def _running(
    call: str, aeron_dir: Directory, ports: Ports | None, *, timeout_ns: int | None = None, watches: bool = True
) -> Iterator[CncFile]:
    settled = ClientContext(aeron_dir=aeron_dir, ports=ports).conclude()
    found = settled.ports
    if watches:
        found.waiting.require(call, f"{call}(watches=False)")
    limit_ns = settled.driver_timeout_ns if timeout_ns is None else timeout_ns
    path = _cnc_path(settled)
    with CncFile.map(path, regions=found.regions) as cnc:
        life = DriverLife(
            path.parent,
            found.clock,
            limit_ns,
            found.waiting.sleep,
            is_lock_held=found.regions.is_locked,
            is_running=found.processes.is_running,
        )
        check_driver(cnc, life.await_life(cnc) if watches else life.is_alive(cnc), found.clock, limit_ns)
        yield cnc


def _cnc_path(settled: ConcludedContext) -> Path:
    return Path(settled.aeron_dir) / CNC_FILE_NAME
