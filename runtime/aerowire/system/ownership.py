"""Who may change a directory or a file that this process is going to trust, and files that are made where others may write.

A driver's directory holds shared memory. A user who may replace a file in it, or the directory, controls what driver and clients map.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from aerowire.base.errors import ForeignDirectoryError, StorageError

_OTHERS_WRITE = stat.S_IWOTH
_GROUP_WRITES = stat.S_IWGRP
_NAMES_MAX = 100
_HINT = "choose another aeron.dir, or set aeron.dir.shared=true where all of its users trust one another"


def check_directory(directory: Path, descriptor: int, *, is_shared: bool) -> None:
    """Raise ForeignDirectoryError if a user other than this one and root can replace an open directory or files in it.

    With `is_shared` it may belong to another user, and its group may write to it.
    """
    found = os.fstat(descriptor)
    if not is_shared:
        _check_owner(directory, found)
    if stat.S_IMODE(found.st_mode) & (_OTHERS_WRITE if is_shared else _OTHERS_WRITE | _GROUP_WRITES) and not found.st_mode & stat.S_ISVTX:
        raise ForeignDirectoryError(
            "others may replace files in the directory",
            where=directory,
            expected="a directory that only its owner may write to"
            if not is_shared
            else "a directory that only its owner and group may write to",
            actual=f"mode {stat.S_IMODE(found.st_mode):04o}",
            hint=f"chmod {'o-w' if is_shared else 'go-w'} {directory}" + ("" if is_shared else f"; or {_HINT}"),
        )
    if not is_shared:
        for parent in Path(os.path.realpath(directory)).parents:
            _check_parent(directory, parent)


def check_private_folder(folder: Path) -> None:
    """Raise ForeignDirectoryError for a folder that is a link, another user's, or one that others may write to; FileNotFoundError."""
    found = folder.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise _link_error(folder)
    if not _is_trusted(found.st_uid) or stat.S_IMODE(found.st_mode) & (_OTHERS_WRITE | _GROUP_WRITES):
        raise ForeignDirectoryError(
            "others may put files into the folder",
            where=folder,
            expected=f"a folder of user {os.geteuid()} that only its owner may write to",
            actual=f"owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}",
            hint=f"chmod go-w {folder}, or choose another folder",
        )


def check_entry(directory: Path, descriptor: int, name: str) -> None:
    """Raise ForeignDirectoryError unless `name` in an open directory is this user's or root's own, and no link."""
    try:
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return  # of a machine that is simulated
    if stat.S_ISLNK(found.st_mode):
        raise _link_error(directory / name)
    _check_owner(directory / name, found)


def check_not_link(path: Path) -> None:
    """Raise ForeignDirectoryError for a symbolic link, whose owner may turn it elsewhere."""
    if path.is_symlink():
        raise _link_error(path)


def check_owner(path: str | os.PathLike[str]) -> None:
    """Raise ForeignDirectoryError unless a file belongs to this user or to root, and is no link; FileNotFoundError."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise _link_error(Path(path))
    _check_owner(path, found)


def write_error_log(folder: Path, name: str, text: str) -> Path:
    """Write a file that was not there, called after `name`, time and process, and return its path. Raises StorageError."""
    stem = f"{name}-{time.strftime('%Y-%m-%d-%H-%M-%S', time.localtime())}-{os.getpid()}"
    for number in range(1, _NAMES_MAX + 1):
        chosen = folder / f"{stem}{'' if number == 1 else f'-{number}'}-error.log"
        try:
            descriptor = os.open(chosen, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError("cannot create file", where=chosen, actual=error.strerror) from None
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return chosen
    raise StorageError(
        "cannot create file",
        where=folder / f"{stem}-error.log",
        expected="a name that is not taken",
        actual=f"{_NAMES_MAX} files of such names",
    )


def _check_parent(directory: Path, parent: Path) -> None:
    found = parent.stat()
    is_open = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
    if is_open or not _is_trusted(found.st_uid):
        raise ForeignDirectoryError(
            "others may replace the directory",
            where=directory,
            expected=f"{parent} to be this user's or root's, and not writable by others unless it is sticky",
            actual=f"owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}",
            hint=_HINT,
        )


def _check_owner(path: str | os.PathLike[str], found: os.stat_result) -> None:
    if not _is_trusted(found.st_uid):
        raise ForeignDirectoryError(
            "another user owns what this process would trust",
            where=path,
            expected=f"user {os.geteuid()}, or root, as its owner",
            actual=f"user {found.st_uid}",
            hint=_HINT,
        )


def _is_trusted(uid: int) -> bool:
    # Root has another number in a user namespace: that of the root directory's owner.
    return uid in (os.geteuid(), 0) or uid == Path("/").stat().st_uid


def _link_error(path: Path) -> ForeignDirectoryError:
    return ForeignDirectoryError(
        "a symbolic link where a driver's own file or directory belongs",
        where=path,
        expected="a directory or a file, or nothing",
        actual=f"a link to {path.readlink()}",
        hint="name the place that the link leads to",
    )
