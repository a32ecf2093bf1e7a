"""The record of the update in place that is under way: what a process that dies in the midst of it leaves can be completed.

    archive.catalog.update:  CRC-32 of the rest | offset in the catalog | length | bytes before the update | bytes after it

The file is there while a catalog is open. Bytes of the catalog that are neither those before nor those after, but some of both, are half
an update. Other implementations, which map the file, have no such record and delete none.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from aerowire.archive.files.sealed_record import CRC_LENGTH, seal, unseal
from aerowire.base.errors import FileError, MissingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.base.file_port import FilePort, OpenFile

UPDATE_SUFFIX: Final = ".update"  # behind the name of the file that is updated
_HEAD = struct.Struct("<qI")
_BYTES_MAX = 4096
_LENGTH_MAX = CRC_LENGTH + _HEAD.size + 2 * _BYTES_MAX


def record_path(path: Path) -> Path:
    """Return the path of the record of a file's updates."""
    return path.with_name(path.name + UPDATE_SUFFIX)


class Update(NamedTuple):
    """Bytes that were to take the place of others."""

    offset: int
    before: bytes
    after: bytes

    def is_half_done(self, found: bytes | bytearray) -> bool:
        """Return whether the bytes that are found there are some of those before and some of those after."""
        if len(found) != len(self.after) or found in (self.before, self.after):
            return False
        return all(byte in pair for byte, *pair in zip(found, self.before, self.after, strict=True))


class UpdateRecord:
    """Keeps one update at a time in a file. Synced BEFORE the update begins, where updates are."""

    def __init__(self, files: FilePort, path: Path, sync_level: int) -> None:
        """`path` is that of the file that is updated."""
        self._files = files
        self._path = record_path(path)
        self._sync_level = sync_level
        self._file: OpenFile | None = None

    def half_done(self, content: bytes | bytearray) -> Update | None:
        """Return the update that is half done in the content of the file, or None if there is none. Raises FileError."""
        update = self._read()
        if update is None or not update.is_half_done(content[update.offset : update.offset + len(update.after)]):
            return None
        return update

    def reserve(self) -> OpenFile:
        """Make the file, with room for any update: on a full disk a recording's end can still be written. Raises FileError."""
        if self._file is None:
            file = self._files.open(self._path, writable=True, create=True)
            try:
                file.preallocate(_LENGTH_MAX)
                if self._sync_level > 0:  # its name too: updates sync their bytes alone
                    file.sync()
                    self._files.sync_directory(self._path.parent)
            except FileError:
                file.close()
                raise
            self._file = file
        return self._file

    def write(self, update: Update) -> None:
        """Record an update that is to begin. Raises FileError."""
        file = self.reserve()
        file.write_all(0, seal(_HEAD.pack(update.offset, len(update.after)) + update.before + update.after))
        if self._sync_level > 0:
            file.sync(data_only=True)

    def remove(self) -> None:
        """Remove the record: no update is under way. Raises FileError."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._files.delete(self._path)

    def _read(self) -> Update | None:
        """Return the update that was recorded last, or None if there is none, or not all of it. Raises FileError."""
        try:
            with self._files.open(self._path) as file:
                data = file.read(0, _LENGTH_MAX)
        except MissingFileError:
            return None
        if len(data) < CRC_LENGTH + _HEAD.size:
            return None
        offset, length = _HEAD.unpack_from(data, CRC_LENGTH)
        end = CRC_LENGTH + _HEAD.size + 2 * length
        body = unseal(data[:end]) if length <= _BYTES_MAX and end <= len(data) else None
        middle = _HEAD.size + length
        return None if body is None else Update(offset, body[_HEAD.size : middle], body[middle:])
