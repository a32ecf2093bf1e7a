"""Facts of a file or directory: what the file system says of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
    both. `mode` holds the permission bits, and `owner` the user id.
    """

    kind: FileKind
    length: int
    device: int
    inode: int
    mode: int
    owner: int
