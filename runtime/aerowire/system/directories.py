"""Facts of names, and directories that are held, as the operating system has them."""

from __future__ import annotations

import os
import stat

from aerowire.base.errors import file_error
from aerowire.base.file_facts import FileFacts, FileKind
from aerowire.system.file_locks import lock, unlock_and_close

_KINDS = ((stat.S_ISREG, FileKind.FILE), (stat.S_ISDIR, FileKind.DIRECTORY), (stat.S_ISLNK, FileKind.LINK))


class OpenDirectory:
    """The HeldDirectory of the operating system: a descriptor that has the lock."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def facts(self) -> FileFacts:
        return _facts(os.fstat(self._in_use()))

    def facts_of(self, name: str) -> FileFacts | None:
        return facts_of(name, self._in_use())

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        return _leads_to(path, self._in_use())

    def release(self) -> None:
        if self._descriptor is not None:
            unlock_and_close(self._descriptor)
            self._descriptor = None

    def _in_use(self) -> int:
        if self._descriptor is None:
            raise ValueError("the directory is held no more")
        return self._descriptor


def hold_directory(path: str | os.PathLike[str]) -> OpenDirectory | None:
    """Open and lock a directory, as FilePort.hold_directory says. Raises FileError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error("cannot open a directory", os.fsdecode(path), error.errno or 0) from None
    is_held = False
    try:
        lock(descriptor)
        is_held = _leads_to(path, descriptor)
    except BlockingIOError:
        is_held = False
    except OSError as error:
        raise file_error("cannot lock a directory", os.fsdecode(path), error.errno or 0) from None
    finally:
        if not is_held:
            os.close(descriptor)
    return OpenDirectory(descriptor) if is_held else None


def facts_of(path: str | os.PathLike[str], directory: int | None = None) -> FileFacts | None:
    """Return the facts of a path, or of a name in an open directory; None where there is nothing. Raises FileError."""
    try:
        found = os.stat(path, dir_fd=directory, follow_symlinks=False)
        target = os.readlink(path, dir_fd=directory) if stat.S_ISLNK(found.st_mode) else None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error("cannot look at a file", os.fsdecode(path), error.errno or 0) from None
    return _facts(found, target)


def _facts(found: os.stat_result, target: str | None = None) -> FileFacts:
    kind = next((kind for is_of, kind in _KINDS if is_of(found.st_mode)), FileKind.OTHER)
    length = found.st_size if kind is FileKind.FILE else 0
    return FileFacts(kind, length, found.st_dev, found.st_ino, stat.S_IMODE(found.st_mode), found.st_uid, target)


def _leads_to(path: str | os.PathLike[str], descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116 - the path may be of any kind
    except FileNotFoundError:
        return False
