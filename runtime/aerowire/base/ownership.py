"""Users who may change a directory or a file that this process is going to trust.

A driver's directory holds shared memory. A user who may replace a file in it, or the directory, controls what driver and clients map.
"""

from __future__ import annotations

import os
import stat
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import FileError, ForeignDirectoryError, file_error
from aerowire.base.file_facts import FileKind

if TYPE_CHECKING:
    from aerowire.base.file_facts import FileFacts, HeldDirectory
    from aerowire.base.file_port import FilePort

_OTHERS_WRITE = stat.S_IWOTH
_GROUP_WRITES = stat.S_IWGRP
_HINT = "choose another aeron.dir, or set aeron.dir.shared=true where all of its users trust one another"


def check_directory(files: FilePort, directory: Path, held: HeldDirectory, *, is_shared: bool) -> None:
    """Raise ForeignDirectoryError if a user other than this one and root can replace a held directory or files in it.

    With `is_shared` it may belong to another user, and its group may write to it.
    """
    found = held.facts()
    if not is_shared:
        _check_owner(files, directory, found)
    if found.mode & (_OTHERS_WRITE if is_shared else _OTHERS_WRITE | _GROUP_WRITES) and not found.mode & stat.S_ISVTX:
        raise ForeignDirectoryError(
            "others may replace files in the directory",
            where=directory,
            expected="a directory that only its owner may write to"
            if not is_shared
            else "a directory that only its owner and group may write to",
            actual=f"mode {found.mode:04o}",
            hint=f"chmod {'o-w' if is_shared else 'go-w'} {directory}" + ("" if is_shared else f"; or {_HINT}"),
        )
    if not is_shared:
        for parent in Path(files.real_path(directory)).parents:
            _check_parent(files, directory, parent)


def check_private_folder(files: FilePort, folder: Path) -> None:
    """Raise ForeignDirectoryError for a folder that is a link, another user's, or one that others may write to; MissingFileError."""
    found = _facts(files, folder)
    if found.kind is FileKind.LINK:
        raise _link_error(folder, found)
    if not _is_trusted(files, found.owner) or found.mode & (_OTHERS_WRITE | _GROUP_WRITES):
        raise ForeignDirectoryError(
            "others may put files into the folder",
            where=folder,
            expected=f"a folder of user {files.user_id()} that only its owner may write to",
            actual=f"owner {found.owner}, mode {found.mode:04o}",
            hint=f"chmod go-w {folder}, or choose another folder",
        )


def check_entry(files: FilePort, directory: Path, held: HeldDirectory, name: str) -> None:
    """Raise ForeignDirectoryError unless `name` in a held directory is this user's or root's own, and no link; MissingFileError."""
    found = held.facts_of(name)
    if found is None:
        raise _missing(directory / name)
    if found.kind is FileKind.LINK:
        raise _link_error(directory / name, found)
    _check_owner(files, directory / name, found)


def check_not_link(files: FilePort, path: Path) -> None:
    """Raise ForeignDirectoryError for a symbolic link, whose owner may turn it elsewhere."""
    found = files.facts(path)
    if found is not None and found.kind is FileKind.LINK:
        raise _link_error(path, found)


def check_owner(files: FilePort, path: str | os.PathLike[str]) -> None:
    """Raise ForeignDirectoryError unless a file belongs to this user or to root, and is no link; MissingFileError."""
    found = _facts(files, path)
    if found.kind is FileKind.LINK:
        raise _link_error(Path(path), found)
    _check_owner(files, path, found)


def _check_parent(files: FilePort, directory: Path, parent: Path) -> None:
    found = _facts(files, parent)
    is_open = found.mode & _OTHERS_WRITE and not found.mode & stat.S_ISVTX
    if is_open or not _is_trusted(files, found.owner):
        raise ForeignDirectoryError(
            "others may replace the directory",
            where=directory,
            expected=f"{parent} to be this user's or root's, and not writable by others unless it is sticky",
            actual=f"owner {found.owner}, mode {found.mode:04o}",
            hint=_HINT,
        )


def _check_owner(files: FilePort, path: str | os.PathLike[str], found: FileFacts) -> None:
    if not _is_trusted(files, found.owner):
        raise ForeignDirectoryError(
            "another user owns what this process would trust",
            where=path,
            expected=f"user {files.user_id()}, or root, as its owner",
            actual=f"user {found.owner}",
            hint=_HINT,
        )


def _is_trusted(files: FilePort, owner: int) -> bool:
    # Root has another number in a user namespace: that of the root directory's owner.
    return owner in (files.user_id(), 0) or owner == _facts(files, "/").owner


def _facts(files: FilePort, path: str | os.PathLike[str]) -> FileFacts:
    found = files.facts(path)
    if found is None:
        raise _missing(path)
    return found


def _missing(path: str | os.PathLike[str]) -> FileError:
    return file_error("a file is missing", os.fspath(path), ENOENT)


def _link_error(path: Path, found: FileFacts) -> ForeignDirectoryError:
    return ForeignDirectoryError(
        "a symbolic link where a driver's own file or directory belongs",
        where=path,
        expected="a directory or a file, or nothing",
        actual=f"a link to {found.target}",
        hint="name the place that the link leads to",
    )
