"""Which processes use a driver's files: what /proc says of their mappings. Linux only; elsewhere nothing is known.

A file is known by its device and inode, as a process in another mount namespace has it under another path.
"""

from __future__ import annotations

import os
from pathlib import Path

FileIdentity = tuple[int, int]

_PROCESSES = Path("/proc")
# Of a line of /proc/PID/maps: the device as two hexadecimal numbers, and the inode.
_DEVICE_FIELD, _INODE_FIELD = 3, 4


def file_identity(path: Path) -> FileIdentity | None:
    """Return what a file is known by; None when it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def users_of(cnc: Path, processes: Path = _PROCESSES) -> dict[int, frozenset[FileIdentity]]:
    """Return the processes that map `cnc`, this one aside, and all the files that each of them maps."""
    identity = file_identity(cnc)
    found: dict[int, frozenset[FileIdentity]] = {}
    if identity is None:
        return found
    for entry in processes.glob("[0-9]*/maps"):
        pid = int(entry.parent.name)
        try:
            text = entry.read_text(errors="replace")
        except OSError:
            continue  # it has ended, or is somebody else's
        files = _mapped_files(text)
        if identity in files and pid != os.getpid():
            found[pid] = files
    return found


def _mapped_files(maps: str) -> frozenset[FileIdentity]:
    files = set()
    for line in maps.splitlines():
        fields = line.split(maxsplit=_INODE_FIELD + 1)
        if len(fields) <= _INODE_FIELD or fields[_INODE_FIELD] == "0":
            continue
        major, _, minor = fields[_DEVICE_FIELD].partition(":")
        files.add((os.makedev(int(major, 16), int(minor, 16)), int(fields[_INODE_FIELD])))
    return frozenset(files)
