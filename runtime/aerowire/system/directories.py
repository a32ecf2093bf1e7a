"""Directories and what is in them: made, opened, compared, listed and deleted."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def is_directory(path: Path) -> bool | None:
    """Return whether a directory is there, or None where nothing is."""
    return path.is_dir() if path.exists() else None


def make_directory(directory: Path, mode: int) -> None:
    """Make a directory, unless it is there, and those above it. The umask takes from `mode`."""
    while True:
        try:
            directory.mkdir(mode, parents=True, exist_ok=True)
        except FileExistsError:
            # mkdir looks twice. What was there at first and is gone now was deleted in between: once more.
            if directory.exists():
                raise
        else:
            return


def open_directory(directory: Path) -> int:
    """Return a descriptor of a directory, which is no link."""
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def leads_to(directory: Path, descriptor: int) -> bool:
    """Return whether the path leads to the open directory. Raises FileNotFoundError."""
    return os.path.samestat(directory.stat(), os.fstat(descriptor))


def entries_of(directory: Path) -> set[str]:
    """Return the names in a directory."""
    return {entry.name for entry in directory.iterdir()}


def delete_if_empty(directory: Path) -> None:
    """Delete a directory in which there is nothing, and leave another."""
    with contextlib.suppress(OSError):
        directory.rmdir()


def delete_entry(path: Path) -> None:
    """Delete a file or a link, or a directory with all that is in it, where there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
