"""The driver's directory: who may start in it, what is removed from it, and what is made. Aeron: MediaDriver.ensureDirectoryIsRecreated.

Only entries that a driver makes are ever deleted. A directory that holds something else and no cnc file is not ours to touch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
from aerowire.base.errors import ActiveDriverError, DriverDirectoryMissingError, FileError, ForeignDirectoryError, MissingFileError
from aerowire.base.file_facts import FileKind
from aerowire.base.file_trees import delete_tree
from aerowire.base.ownership import check_directory, check_entry, check_not_link
from aerowire.codecs.flyweights import cnc as cnc_layout
from aerowire.codecs.tables.options import OPTIONS
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from aerowire.ipc.error_report import save_error_report
from aerowire.system.driver_life import BEAT_NS_MAX, beats

if TYPE_CHECKING:
    from aerowire.base.file_facts import HeldDirectory
    from aerowire.base.file_port import FilePort
    from aerowire.driver.context import Context
    from aerowire.system.ports import Ports

DRIVER = DirectoryOwner(name="driver", option=OPTIONS["dir"].property, active_error=ActiveDriverError)

_ENTRIES = (CNC_FILE_NAME, EVENT_LOG_FILE_NAME, LOCK_FILE_NAME, LOSS_REPORT_FILE_NAME, PUBLICATIONS_DIRECTORY, IMAGES_DIRECTORY)
_LOOK_NS = 10_000_000


@contextmanager
def directory_for_start(context: Context, ports: Ports) -> Iterator[LockFile]:
    """Make the directory ready for a new driver: check whose it is, save what the last one said, remove its files, and lock it.

    No other driver of this implementation starts in it before the block has ended, by when the cnc file must be published.
    Where the last one was of another implementation and its process is gone, waits for the rest of the driver timeout at most.
    The lock is the new driver's to release, but for a block that raises.
    Raises ActiveDriverError when a live driver owns it, ForeignDirectoryError when nothing says that it is a driver's.
    """
    directory = Path(context.aeron_dir)
    files = ports.files
    check_not_link(files, directory)
    found = files.facts(directory)
    if found is not None and found.kind is not FileKind.DIRECTORY:
        raise ForeignDirectoryError(
            "the driver directory is a file",
            where=directory,
            expected="a directory, or nothing",
            actual="a file",
            hint="choose another aeron.dir",
        )
    if found is not None and context.dir_warn_if_exists:
        print(f"WARNING: {directory} exists", file=sys.stderr)
    is_shared = context.dir_shared
    with directory_lock(directory, ports, owner=DRIVER, timeout_ns=context.driver_timeout_ns) as held:
        check_directory(files, directory, held, is_shared=is_shared)
        _check_ours(files, directory)
        if not context.dir_delete_on_start:
            _check_unused(directory, context, ports)
        _delete_files(files, directory)
        for name in (PUBLICATIONS_DIRECTORY, IMAGES_DIRECTORY):
            make_directory(directory / name, files, DRIVER)
            check_entry(files, directory, held, name)
        lock = LockFile(directory / LOCK_FILE_NAME, DRIVER, ports)
        try:
            yield lock
            _check_same(files, directory, held)
        except BaseException:
            lock.release()
            raise


def _check_same(files: FilePort, directory: Path, held: HeldDirectory) -> None:
    """Raise ForeignDirectoryError unless the path still leads to the held directory, and to this process's cnc file in it."""
    if not held.is_at(directory):
        raise ForeignDirectoryError(
            "the directory was replaced while the driver started",
            where=directory,
            expected="the directory that the driver holds",
            actual="another one of that name",
            hint="choose an aeron.dir that others cannot replace",
        )
    check_entry(files, directory, held, CNC_FILE_NAME)


def delete_directory(files: FilePort, directory: Path) -> None:
    """Delete what drivers make in `directory`, and the directory itself when nothing else is in it."""
    _delete_files(files, directory)
    with suppress(FileError):
        files.delete_directory(directory)


def _delete_files(files: FilePort, directory: Path) -> None:
    for name in _ENTRIES:
        delete_tree(files, directory / name)


def _check_ours(files: FilePort, directory: Path) -> None:
    entries = set(files.names(directory))
    strangers = sorted(entries - set(_ENTRIES))
    if strangers and CNC_FILE_NAME not in entries:
        raise ForeignDirectoryError(
            "the directory is not a driver's",
            where=directory,
            expected=f"{CNC_FILE_NAME}, or an empty directory",
            actual=", ".join(strangers[:3]),
            hint="choose another aeron.dir; nothing was deleted",
        )


def _check_unused(directory: Path, context: Context, ports: Ports) -> None:
    path = directory / CNC_FILE_NAME
    _wait_until_finished(path, context, ports)
    if _is_unfinished(path, ports.files):
        return
    try:
        file = CncFile.map(path, writable=False, regions=ports.regions)
    except DriverDirectoryMissingError:
        return
    try:
        if _is_alive(directory, file, context, ports):
            raise ActiveDriverError(
                "a live driver owns the directory",
                where=directory,
                expected="no driver, or one that has ended",
                actual=f"pid {file.pid}, heartbeat {ports.clock.now_ms() - file.heartbeat_ms} ms ago",
                hint="stop it, choose another aeron.dir, or set aeron.dir.delete.on.start=true",
            )
        _save_errors(directory, file, ports)
    finally:
        file.close()


def _is_alive(directory: Path, file: CncFile, context: Context, ports: Ports) -> bool:
    """The lock file tells of a driver of this implementation, the heartbeat of another one, as it does all of Aeron's drivers."""
    heartbeat_ms = file.heartbeat_ms
    if heartbeat_ms <= 0:
        return False
    is_held = ports.regions.is_locked(directory / LOCK_FILE_NAME)
    if is_held is not None:
        return is_held
    clock, processes, sleep = ports.clock, ports.processes, ports.waiting.sleep
    now_ms, timeout_ms = clock.now_ms(), context.driver_timeout_ns // 1_000_000
    if now_ms - heartbeat_ms > timeout_ms:
        # The wall clock may have been set since the last heartbeat: a process that is there has time for another.
        return processes.is_running(file.pid) and beats(file, heartbeat_ms, clock, BEAT_NS_MAX, sleep)
    if processes.is_running(file.pid, begun_by_ms=file.start_timestamp_ms):
        return True
    # Dead, or in another PID namespace, where its timer may be slow: the next heartbeat tells, or that there was none in time.
    deadline_ns = clock.now_ns() + 1_000_000 * (min(heartbeat_ms, now_ms) + timeout_ms - now_ms)
    return beats(file, heartbeat_ms, clock, deadline_ns - clock.now_ns(), sleep)


def _wait_until_finished(path: Path, context: Context, ports: Ports) -> None:
    """Let another driver finish its start. One that died while it made its files leaves a short file, or one without a version."""
    deadline_ns = ports.clock.now_ns() + context.driver_timeout_ns
    while _is_unfinished(path, ports.files):
        pid = _header_of(path, ports.files).pid
        if pid <= 0 or pid == ports.processes.own_id() or ports.regions.is_locked(path.with_name(LOCK_FILE_NAME)) is False:
            return
        if ports.clock.now_ns() > deadline_ns:
            if not ports.processes.is_running(pid):
                return
            raise ActiveDriverError(
                "a driver is being started in the directory",
                where=path.parent,
                expected=f"a complete {CNC_FILE_NAME} within {context.driver_timeout_ns / 1e9:g} s",
                actual=f"pid {pid}, not ready",
                hint="stop it, choose another aeron.dir, or set aeron.dir.delete.on.start=true",
            )
        ports.waiting.sleep(_LOOK_NS)


def _is_unfinished(path: Path, files: FilePort) -> bool:
    return _header_of(path, files).version == cnc_layout.CNC_NOT_READY


def _header_of(path: Path, files: FilePort) -> cnc_layout.CncHeaderDecoder:
    """Return what stands in the file's header, with zeros for what does not."""
    length = cnc_layout.CncHeaderDecoder.ENCODED_LENGTH
    try:
        with files.open(path) as file:
            start = file.read(0, length)
    except MissingFileError:
        start = b""
    return cnc_layout.CncHeaderDecoder(start.ljust(length, b"\0"))


def _save_errors(directory: Path, file: CncFile, ports: Ports) -> None:
    errors = read_errors(file.error_log_buffer)
    if not errors:
        return
    target = save_error_report(
        errors, ports.files, directory.parent, directory.name, epoch_ms=ports.clock.now_ms(), process_id=ports.processes.own_id()
    )
    print(f"WARNING: existing errors saved to: {target}", file=sys.stderr)
