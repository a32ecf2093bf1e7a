"""Whether the component of a mark file lives, decided without a wait wherever that is possible.

A component of this implementation holds its lock file, which names its process and its start, until it ends, however that happens. Others
show a process id and an activity timestamp. An id that no process has here may be of another PID namespace: only if its timestamp is
recent, the next one is waited for, a little longer than a living component takes for it. Aeron: MarkFile.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aerowire.base.errors import AerowireError, MissingFileError
from aerowire.recordings.versions import major_version, version_text

if TYPE_CHECKING:
    from aerowire.agents.mark_kind import HeaderT, MarkKind
    from aerowire.base.file_port import FilePort, OpenFile
    from aerowire.system.ports import Ports

NULL_TIMESTAMP_MS: Final = -1  # of a component that has ended in an orderly way
_BEAT_NS = 1_200_000_000
_LOOK_NS = 10_000_000
_LOCK_RETRY_NS, _LOCK_ATTEMPTS = 1_000_000, 100
_OWNER_LENGTH = 64


def take_lock(kind: MarkKind[Any], directory: Path, ports: Ports) -> OpenFile:
    """Make and lock the lock file of a mark file's directory, which is held; return it, open. Raises the owner's error, FileError."""
    path = directory / kind.lock_file_name
    file = ports.files.open(path, writable=True, create=True)
    try:
        for _ in range(_LOCK_ATTEMPTS):
            if file.lock():
                return file
            owner = _owner_in(file)
            if owner is None or ports.processes.is_running(owner[0]):
                raise _active(kind, path, "another process holds it" if owner is None else f"process {owner[0]} holds it")
            ports.waiting.sleep(_LOCK_RETRY_NS)  # a process that looks whether it is locked holds it for a moment
        raise _active(kind, path, "another process holds it")
    except BaseException:
        file.close()
        raise


def leave_lock(lock: OpenFile, files: FilePort) -> None:
    """Delete a lock file, unless another component is about to take it, and release its lock. Raises FileError."""
    path = Path(lock.path)
    held = files.hold_directory(files.real_path(path.parent))
    try:
        if held is not None:
            files.delete(path)
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


def check_ended(kind: MarkKind[HeaderT], path: Path, lock: OpenFile, ports: Ports) -> HeaderT | None:
    """Return the header of a component that has ended, None where there is none to read; `lock` is held by the caller.

    Raises the owner's error where it lives, the kind's where the file is damaged or of another version, FileError.
    """
    header = kind.read_header(ports.files, path)
    if header is None:
        return None
    is_versioned = header.version not in (0, kind.failed_version)
    if is_versioned and major_version(header.version) != major_version(kind.version):
        raise kind.file_error(
            "the mark file is of another version",
            where=f"{path}, offset {header.offset}",
            expected=f"{version_text(kind.version)} or another {major_version(kind.version)}.x",
            actual=version_text(header.version),
            hint=kind.other_version_hint,
        )
    if _is_alive(kind, path, header, lock, ports):
        age = f"last activity {ports.clock.now_ms() - header.activity_timestamp_ms} ms ago"
        raise _active(kind, path, f"process {header.pid}, {age if header.version else 'which is starting'}")
    return header


def check_unused(kind: MarkKind[Any], component_directory: Path, ports: Ports) -> None:
    """Raise the owner's error where a component lives in a directory, as far as that can be told at once; it may start at any time.

    Raises FileError, the kind's error where its mark file is damaged.
    """
    path = kind.path(ports.files, component_directory)
    lock_path = path.with_name(kind.lock_file_name)
    if ports.regions.is_locked(lock_path):
        raise _active(kind, path, _holder(ports.files, lock_path))
    header = kind.read_header(ports.files, path)
    if header is None or header.activity_timestamp_ms == NULL_TIMESTAMP_MS or header.pid <= 0:
        return
    is_recent = ports.clock.now_ms() - header.activity_timestamp_ms < kind.liveness_timeout_ms
    if is_recent and ports.processes.is_running(header.pid, begun_by_ms=header.start_timestamp_ms or None):
        raise _active(kind, path, f"process {header.pid}")


def _is_alive(kind: MarkKind[HeaderT], path: Path, header: HeaderT, lock: OpenFile, ports: Ports) -> bool:
    processes, now_ms = ports.processes, ports.clock.now_ms()
    if header.version and header.activity_timestamp_ms == NULL_TIMESTAMP_MS:
        return False
    owner = _owner_in(lock)
    if header.pid in (0, processes.own_id()) or (owner is not None and header.start_timestamp_ms <= owner[1]):
        return False  # of this implementation, which would hold the lock, or of another before it
    is_recent = now_ms - header.activity_timestamp_ms < kind.liveness_timeout_ms
    if processes.is_running(header.pid, begun_by_ms=header.start_timestamp_ms or None):
        return is_recent or not header.version
    return is_recent and bool(header.version) and _beats(kind, path, header, ports)


def _beats(kind: MarkKind[HeaderT], path: Path, header: HeaderT, ports: Ports) -> bool:
    """Return whether another activity timestamp appears in time."""
    deadline_ns = ports.clock.now_ns() + _BEAT_NS
    while ports.clock.now_ns() < deadline_ns:
        ports.waiting.sleep(_LOOK_NS)
        found = kind.read_header(ports.files, path)
        if found is None or found.activity_timestamp_ms != header.activity_timestamp_ms:
            return found is not None and found.activity_timestamp_ms != NULL_TIMESTAMP_MS
    return False


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


def _active(kind: MarkKind[Any], path: Path, actual: str) -> AerowireError:
    name = kind.owner.name
    return kind.owner.active_error(
        f"a live {name} owns the directory",
        where=path,
        expected=f"no {name}, or one that has ended",
        actual=actual,
        hint=f"stop it, or choose another {kind.owner.option}",
    )
