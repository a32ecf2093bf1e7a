"""Files: made, read, told apart, closed, where a FilePort does not do."""

from __future__ import annotations

import os
import stat
from io import FileIO
from pathlib import Path

# What st_blocks counts, whatever the file system's own blocks are.
_BLOCK_LENGTH = 512


def open_output(path: str, overwrites: bool) -> int:
    """Return a descriptor of a new file, or of a pipe or device that is there; a file is replaced if it may be, and no link is followed."""
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        mode = os.lstat(path).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            return os.open(path, flags)
        if not overwrites or not stat.S_ISREG(mode):
            raise
    Path(path).unlink()
    return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)


def read_start(path: Path, length: int) -> bytes:
    """Return up to `length` bytes from the start of a file, none where there is no file. A link is not followed, a pipe not waited for."""
    try:
        with FileIO(path, opener=_open_plain) as file:
            return file.read(length)
    except FileNotFoundError:
        return b""


def allocated_length(facts: os.stat_result) -> int:
    """Return the bytes that a file takes on the disk: of a sparse one what was written."""
    return facts.st_blocks * _BLOCK_LENGTH


def identity_of(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return what no other file of this machine has, whatever its path."""
    found = os.stat(path)  # noqa: PTH116 - a Path takes longer to make than the call
    return found.st_dev, found.st_ino


def close(descriptor: int) -> None:
    """Close what is open."""
    os.close(descriptor)


class LogFile(FileIO):
    """A log's file as raw_poll hands it out. Several handlers may hold it, and none knows who is the last: its last reference closes it."""

    def __del__(self) -> None:
        self.close()


def _open_plain(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
