"""The driver's directory: who may start in it, what is removed from it, and what is made. Aeron: MediaDriver.ensureDirectoryIsRecreated.

Only entries that a driver makes are ever deleted. A directory that holds something else and no cnc file is not ours to touch.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.agents.directory_lock import DirectoryOwner, directory_lock, make_directory
from aerowire.agents.lock_file import LockFile
from aerowire.base.directory import (
    CNC_FILE_NAME,
    EVENT_LOG_FILE_NAME,
    IMAGES_DIRECTORY,
    LOCK_FILE_NAME,
    LOSS_REPORT_FILE_NAME,
    PUBLICATIONS_DIRECTORY,
)
from aerowire.base.errors import ActiveDriverError, DriverDirectoryMissingError, ForeignDirectoryError
from aerowire.codecs.flyweights import cnc as cnc_layout
from aerowire.codecs.tables.options import OPTIONS
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from aerowire.ipc.error_report import error_report
from aerowire.system import directories
from aerowire.system.driver_life import BEAT_NS_MAX, beats, is_locked
from aerowire.system.files import read_start
from aerowire.system.ownership import check_directory, check_entry, check_not_link, write_error_log
from aerowire.system.processes import own_process_id, process_is_running

if TYPE_CHECKING:
    from aerowire.base.ports import ClockPort
    from aerowire.driver.context import Context

DRIVER = DirectoryOwner(name="driver", option=OPTIONS["dir"].property, active_error=ActiveDriverError)

_ENTRIES = (CNC_FILE_NAME, EVENT_LOG_FILE_NAME, LOCK_FILE_NAME, LOSS_REPORT_FILE_NAME, PUBLICATIONS_DIRECTORY, IMAGES_DIRECTORY)
_LOOK_S = 0.01


@contextmanager
def directory_for_start(context: Context, clock: ClockPort) -> Iterator[LockFile]:
    """Make the directory ready for a new driver: check whose it is, save what the last one said, remove its files, and lock it.

    No other driver of this implementation starts in it before the block has ended, by when the cnc file must be published.
    Where the last one was of another implementation and its process is gone, waits for the rest of the driver timeout at most.
    The lock is the new driver's to release, but for a block that raises.
    Raises ActiveDriverError when a live driver owns it, ForeignDirectoryError when nothing says that it is a driver's.
    """
    directory = Path(context.aeron_dir)
    is_there = directories.is_directory(directory)
    if is_there is False:
        raise ForeignDirectoryError(
            "the driver directory is a file",
            where=directory,
            expected="a directory, or nothing",
            actual="a file",
            hint="choose another aeron.dir",
        )
    if is_there and context.dir_warn_if_exists:
        print(f"WARNING: {directory} exists", file=sys.stderr)
    check_not_link(directory)
    is_shared = context.dir_shared
    with directory_lock(directory, clock, owner=DRIVER, timeout_ns=context.driver_timeout_ns) as descriptor:
        check_directory(directory, descriptor, is_shared=is_shared)
        _check_ours(directory)
        if not context.dir_delete_on_start:
            _check_unused(directory, context, clock)
        _delete_files(directory)
        make_directory(directory / PUBLICATIONS_DIRECTORY, DRIVER)
        make_directory(directory / IMAGES_DIRECTORY, DRIVER)
        for name in (PUBLICATIONS_DIRECTORY, IMAGES_DIRECTORY):
            check_entry(directory, descriptor, name)
        lock = LockFile(directory / LOCK_FILE_NAME, DRIVER)
        try:
            yield lock
            _check_same(directory, descriptor)
        except BaseException:
            lock.release()
            raise


def _check_same(directory: Path, descriptor: int) -> None:
    """Raise ForeignDirectoryError unless the path still leads to the open directory, and to this process's cnc file in it."""
    if not directories.leads_to(directory, descriptor):
        raise ForeignDirectoryError(
            "the directory was replaced while the driver started",
            where=directory,
            expected="the directory that the driver holds",
            actual="another one of that name",
            hint="choose an aeron.dir that others cannot replace",
        )
    check_entry(directory, descriptor, CNC_FILE_NAME)


def delete_directory(directory: Path) -> None:
    """Delete what drivers make in `directory`, and the directory itself when nothing else is in it."""
    _delete_files(directory)
    directories.delete_if_empty(directory)


def _delete_files(directory: Path) -> None:
    for name in _ENTRIES:
        directories.delete_entry(directory / name)


def _check_ours(directory: Path) -> None:
    entries = directories.entries_of(directory)
    strangers = sorted(entries - set(_ENTRIES))
    if strangers and CNC_FILE_NAME not in entries:
        raise ForeignDirectoryError(
            "the directory is not a driver's",
            where=directory,
            expected=f"{CNC_FILE_NAME}, or an empty directory",
            actual=", ".join(strangers[:3]),
            hint="choose another aeron.dir; nothing was deleted",
        )


def _check_unused(directory: Path, context: Context, clock: ClockPort) -> None:
    path = directory / CNC_FILE_NAME
    _wait_until_finished(path, context, clock)
    if _is_unfinished(path):
        return
    try:
        file = CncFile.map(path, writable=False)
    except DriverDirectoryMissingError:
        return
    try:
        if _is_alive(directory, file, context, clock):
            raise ActiveDriverError(
                "a live driver owns the directory",
                where=directory,
                expected="no driver, or one that has ended",
                actual=f"pid {file.pid}, heartbeat {clock.now_ms() - file.heartbeat_ms} ms ago",
                hint="stop it, choose another aeron.dir, or set aeron.dir.delete.on.start=true",
            )
        _save_errors(directory, file)
    finally:
        file.close()


def _is_alive(directory: Path, file: CncFile, context: Context, clock: ClockPort) -> bool:
    """The lock file tells of a driver of this implementation, the heartbeat of another one, as it does all of Aeron's drivers."""
    heartbeat_ms = file.heartbeat_ms
    if heartbeat_ms <= 0:
        return False
    is_held = is_locked(directory)
    if is_held is not None:
        return is_held
    now_ms, timeout_ms = clock.now_ms(), context.driver_timeout_ns // 1_000_000
    if now_ms - heartbeat_ms > timeout_ms:
        # The wall clock may have been set since the last heartbeat: a process that is there has time for another.
        return process_is_running(file.pid) and beats(file, heartbeat_ms, clock, BEAT_NS_MAX)
    if process_is_running(file.pid, begun_by_ms=file.start_timestamp_ms):
        return True
    # Dead, or in another PID namespace, where its timer may be slow: the next heartbeat tells, or that there was none in time.
    deadline_ns = clock.now_ns() + 1_000_000 * (min(heartbeat_ms, now_ms) + timeout_ms - now_ms)
    return beats(file, heartbeat_ms, clock, deadline_ns - clock.now_ns())


def _wait_until_finished(path: Path, context: Context, clock: ClockPort) -> None:
    """Let another driver finish its start. One that died while it made its files leaves a short file, or one without a version."""
    deadline_ns = clock.now_ns() + context.driver_timeout_ns
    while _is_unfinished(path):
        pid = _header_of(path).pid
        if pid <= 0 or pid == own_process_id() or is_locked(path.parent) is False:
            return
        if clock.now_ns() > deadline_ns:
            if not process_is_running(pid):
                return
            raise ActiveDriverError(
                "a driver is being started in the directory",
                where=path.parent,
                expected=f"a complete {CNC_FILE_NAME} within {context.driver_timeout_ns / 1e9:g} s",
                actual=f"pid {pid}, not ready",
                hint="stop it, choose another aeron.dir, or set aeron.dir.delete.on.start=true",
            )
        time.sleep(_LOOK_S)


def _is_unfinished(path: Path) -> bool:
    return _header_of(path).version == cnc_layout.CNC_NOT_READY


def _header_of(path: Path) -> cnc_layout.CncHeaderDecoder:
    """Return what stands in the file's header, with zeros for what does not."""
    length = cnc_layout.CncHeaderDecoder.ENCODED_LENGTH
    return cnc_layout.CncHeaderDecoder(read_start(path, length).ljust(length, b"\0"))


def _save_errors(directory: Path, file: CncFile) -> None:
    errors = read_errors(file.error_log_buffer)
    if not errors:
        return
    target = write_error_log(directory.parent, directory.name, error_report(errors))
    print(f"WARNING: existing errors saved to: {target}", file=sys.stderr)
