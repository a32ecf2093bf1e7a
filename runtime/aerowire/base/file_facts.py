"""Facts of a file or directory: what the file system says of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import Protocol


class FileKind(Enum):
    """What a name leads to."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "device, pipe or socket"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the file system says of a name; links are not followed.

    `length` is in bytes and 0 for a directory. `device` and `inode` together are the identity of a file: no other file of the machine has
    both. `mode` holds the permission bits, `owner` the user id, and `target` the path in a link.
    """

    kind: FileKind
    length: int
    device: int
    inode: int
    mode: int
    owner: int
    target: str | None = None


class HeldDirectory(Protocol):
    """A directory that its holder has open, with its exclusive lock; made by FilePort.hold_directory."""

    def facts(self) -> FileFacts:
        """Return the facts of the directory, whatever its path leads to by now."""
        ...

    def facts_of(self, name: str) -> FileFacts | None:
        """Return the facts of a name in it, None where there is nothing of that name."""
        ...

    def is_at(self, path: str | PathLike[str]) -> bool:
        """Return whether a path leads to it."""
        ...

    def release(self) -> None:
        """Release the lock and close the directory. Idempotent."""
        ...
