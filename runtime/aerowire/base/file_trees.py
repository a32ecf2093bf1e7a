"""Directories with those above them, and with all that is in them, by a files port."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import ExistingFileError, FileError, MissingFileError
from aerowire.base.file_facts import FileKind

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort


def make_directories(files: FilePort, directory: Path, mode: int, *, is_synced: bool = False) -> None:
    """Make a directory, unless it or a link is there, and those above it. The umask takes from `mode`.

    With `is_synced` its name is durable, and those of the ones above it that are made; that of one which was there is as far as its parent
    may be opened. Raises FileError, which is ExistingFileError where the name is something else's.
    """
    for attempts_left in (2, 1, 0):  # what is there, or was just made above, may be deleted meanwhile
        try:
            files.make_directory(directory, mode)
        except ExistingFileError:
            found = files.facts(directory)
            if found is None and attempts_left:
                continue
            if found is None or found.kind not in (FileKind.DIRECTORY, FileKind.LINK):
                raise
            if is_synced:
                with suppress(FileError):
                    files.sync_directory(directory.parent)
            return
        except MissingFileError:
            if not attempts_left or directory.parent == directory:
                raise
            make_directories(files, directory.parent, mode, is_synced=is_synced)
            continue
        if is_synced:
            files.sync_directory(directory.parent)
        return


def delete_tree(files: FilePort, path: Path) -> None:
    """Delete a file or a link, or a directory with all that is in it, where there is one.

    What of a directory cannot be deleted stays. Raises FileError for a file.
    """
    found = files.facts(path)
    if found is None:
        return
    if found.kind is not FileKind.DIRECTORY:
        files.delete(path)
        return
    with suppress(FileError):
        for name in files.names(path):
            with suppress(FileError):
                delete_tree(files, path / name)
        files.delete_directory(path)
