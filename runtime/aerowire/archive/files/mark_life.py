"""Whether the Archive of a mark file lives, decided without a wait wherever that is possible.

An Archive of this implementation holds its lock file, which names its process and its start, until it ends, however that happens. Others
show a process id and an activity timestamp. An id that no process has here may be of another PID namespace: only if its timestamp is
recent, the next one is waited for, a little longer than a living Archive takes for it. Aeron: MarkFile.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.agents.directory_lock import DirectoryOwner
from aerowire.archive.files.mark_header import MarkHeader, decode_mark_header, mark_path
from aerowire.base.errors import ActiveArchiveError, ArchiveFileError, MissingFileError
from aerowire.codecs.flyweights.archive_files import CATALOG_VERSION, MARK_FILE_HEADER_LENGTH, MARK_FILE_LIVENESS_TIMEOUT_MS
from aerowire.codecs.tables.archive_options import OPTIONS
from aerowire.recordings.versions import major_version, version_text

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort, OpenFile
    from aerowire.system.ports import Ports

ARCHIVE = DirectoryOwner(name="archive", option=OPTIONS["archive_dir"].property, active_error=ActiveArchiveError)
LOCK_FILE_NAME = "archive.lock"
NULL_TIMESTAMP_MS = -1  # of an Archive that has ended in an orderly way
_BEAT_NS = 1_200_000_000
_LOOK_NS = 10_000_000
_LOCK_RETRY_NS, _LOCK_ATTEMPTS = 1_000_000, 100
_OWNER_LENGTH = 64


def take_lock(directory: Path, ports: Ports) -> OpenFile:
    """Make and lock the lock file of a mark file's directory, which is held; return it, open. Raises ActiveArchiveError, FileError."""
    path = directory / LOCK_FILE_NAME
    file = ports.files.open(path, writable=True, create=True)
    try:
        for _ in range(_LOCK_ATTEMPTS):
            if file.lock():
                return file
            owner = _owner_in(file)
            if owner is None or ports.processes.is_running(owner[0]):
                raise _active(path, "another process holds it" if owner is None else f"process {owner[0]} holds it")
            ports.waiting.sleep(_LOCK_RETRY_NS)  # a process that looks whether it is locked holds it for a moment
        raise _active(path, "another process holds it")
    except BaseException:
        file.close()
        raise


def leave_lock(directory: Path, lock: OpenFile, files: FilePort) -> None:
    """Delete a lock file, unless another Archive is about to take it, and release its lock. Raises FileError."""
    held = files.hold_directory(files.real_path(directory))
    try:
        if held is not None:
            files.delete(directory / LOCK_FILE_NAME)
        lock.unlock()
        lock.close()
    finally:
        if held is not None:
            held.release()


def name_owner(lock: OpenFile, files: FilePort, pid: int, start_timestamp_ms: int) -> None:
    """Write into a lock file whose it is, and sync it BEFORE the owner's mark file says so. Raises FileError."""
    lock.write_all(0, f"{pid} {start_timestamp_ms}\n".encode().ljust(_OWNER_LENGTH, b" "))
    lock.sync()
    files.sync_directory(Path(lock.path).parent)


def check_ended(path: Path, lock: OpenFile, ports: Ports) -> MarkHeader | None:
    """Return the header of an Archive that has ended, None where there is none to read; `lock` is held by the caller.

    Raises ActiveArchiveError where it lives, ArchiveFileError where the file is of another version, FileError.
    """
    header = read_mark(ports.files, path)
    if header is None:
        return None
    if header.version and major_version(header.version) != major_version(CATALOG_VERSION):
        raise ArchiveFileError(
            "the mark file is of another version",
            where=f"{path}, offset {header.offset}",
            expected=f"{version_text(CATALOG_VERSION)} or another {major_version(CATALOG_VERSION)}.x",
            actual=version_text(header.version),
            hint="migrate older files by: aerowire archive migrate DIR",
        )
    if _is_alive(path, header, lock, ports):
        age = f"last activity {ports.clock.now_ms() - header.activity_timestamp_ms} ms ago"
        raise _active(path, f"process {header.pid}, {age if header.version else 'which is starting'}")
    return header


def check_unused(archive_directory: Path, ports: Ports) -> None:
    """Raise ActiveArchiveError where an Archive lives in a directory, as far as that can be told at once; it may start at any time.

    Raises FileError, ArchiveFileError where its mark file is damaged.
    """
    path = mark_path(ports.files, archive_directory)
    if ports.regions.is_locked(path.with_name(LOCK_FILE_NAME)):
        raise _active(path, _holder(ports.files, path.with_name(LOCK_FILE_NAME)))
    header = read_mark(ports.files, path)
    if header is None or header.activity_timestamp_ms == NULL_TIMESTAMP_MS or header.pid <= 0:
        return
    is_recent = ports.clock.now_ms() - header.activity_timestamp_ms < MARK_FILE_LIVENESS_TIMEOUT_MS
    if is_recent and ports.processes.is_running(header.pid, begun_by_ms=header.start_timestamp_ms or None):
        raise _active(path, f"process {header.pid}")


def _is_alive(path: Path, header: MarkHeader, lock: OpenFile, ports: Ports) -> bool:
    processes, now_ms = ports.processes, ports.clock.now_ms()
    if header.version and header.activity_timestamp_ms == NULL_TIMESTAMP_MS:
        return False
    owner = _owner_in(lock)
    if header.pid in (0, processes.own_id()) or (owner is not None and header.start_timestamp_ms <= owner[1]):
        return False  # of this implementation, which would hold the lock, or of another before it
    is_recent = now_ms - header.activity_timestamp_ms < MARK_FILE_LIVENESS_TIMEOUT_MS
    if processes.is_running(header.pid, begun_by_ms=header.start_timestamp_ms or None):
        return is_recent or not header.version
    return is_recent and bool(header.version) and _beats(path, header, ports)


def _beats(path: Path, header: MarkHeader, ports: Ports) -> bool:
    """Return whether another activity timestamp appears in time."""
    deadline_ns = ports.clock.now_ns() + _BEAT_NS
    while ports.clock.now_ns() < deadline_ns:
        ports.waiting.sleep(_LOOK_NS)
        found = read_mark(ports.files, path)
        if found is None or found.activity_timestamp_ms != header.activity_timestamp_ms:
            return found is not None and found.activity_timestamp_ms != NULL_TIMESTAMP_MS
    return False


def read_mark(files: FilePort, path: Path) -> MarkHeader | None:
    """Return the header of a mark file; None where there is no file, or one of an Archive that died before it had written anything."""
    try:
        with files.open(path) as file:
            data = file.read(0, MARK_FILE_HEADER_LENGTH)
    except MissingFileError:
        return None
    return decode_mark_header(data, path) if any(data) else None


def _holder(files: FilePort, lock_path: Path) -> str:
    """Return in words which process holds a lock file."""
    try:
        with files.open(lock_path) as lock:
            owner = _owner_in(lock)
    except MissingFileError:
        owner = None
    return "a process holds its lock" if owner is None else f"process {owner[0]} holds its lock"


def _owner_in(lock: OpenFile) -> tuple[int, int] | None:
    words = lock.read(0, _OWNER_LENGTH).split()
    return (int(words[0]), int(words[1])) if len(words) == 2 and all(word.isdigit() for word in words) else None


def _active(path: Path, actual: str) -> ActiveArchiveError:
    return ActiveArchiveError(
        "a live archive owns the directory",
        where=path,
        expected="no archive, or one that has ended",
        actual=actual,
        hint=f"stop it, or choose another {ARCHIVE.option}",
    )
