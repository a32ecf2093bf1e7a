"""A file that is changed in place, and appended to, by one process at a time.

An update in place is recorded beside the file before it begins, so that what a process leaves that dies in the midst of it is completed.
The record is there from the first update until the file is closed; other implementations do not know it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.archive.files.update_record import Update, UpdateRecord
from aerowire.base.errors import FileError

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort


class UpdatedFile:
    """An open file. Sync levels: 0 none, 1 data, 2 data and metadata, at each `force`.

    From level 1 on a record is synced BEFORE its update, and the update before, if it was not, BEFORE the record. `read` comes first: it
    completes what a former process left.
    """

    def __init__(self, files: FilePort, path: Path, *, writable: bool, create: bool, sync_level: int) -> None:
        """Open the file, or make it. Raises FileError, MissingFileError."""
        self.path = path
        self.sync_level = sync_level
        self._is_writable = writable
        self._file = files.open(path, writable=writable, create=create)
        self._record = UpdateRecord(files, path, sync_level)
        self._failed: Update | None = None  # of which the file may have a part
        self._is_read = False  # and so complete
        self._is_update_unsynced = False

    def length(self) -> int:
        return self._file.length()

    def read(self, length: int) -> bytes:
        """Return the start of the file, in which an update that was under way is complete; a writable file has it so, too."""
        data = self._file.read(0, length)
        update = self._record.half_done(data)
        if update is not None:
            data = data[: update.offset] + update.after + data[update.offset + len(update.after) :]
            if self._is_writable:
                self._file.write_all(update.offset, update.after)
                self._file.sync()  # at any level: the process that began the update may have had another
        self._is_read = True
        return data

    def write_all(self, offset: int, data: bytes) -> None:
        """Write bytes of which a crash may leave a part. Raises FileError."""
        self._file.write_all(offset, data)

    def update(self, offset: int, after: bytes) -> None:
        """Write bytes in the place of others, so that after a crash they are as before or as after.

        Raises FileError: then they count as before, and the next update puts the file right.
        """
        # BEFORE the record is of another update: until then it completes the one before.
        if self._failed is not None:
            self._file.write_all(self._failed.offset, self._failed.before)
            self._failed, self._is_update_unsynced = None, True
        if self._is_update_unsynced:
            self.force()
        update = Update(offset, self._file.read(offset, len(after)), after)
        self._record.write(update)
        try:
            self._is_update_unsynced = True
            self._file.write_all(offset, after)
        except FileError:
            self._failed = update
            raise

    def truncate(self, length: int) -> None:
        self._file.truncate(length)

    def force(self) -> None:
        """Sync what was written, as the level says. Raises FileError."""
        if self.sync_level > 0:
            self._file.sync(data_only=self.sync_level < 2)
        self._is_update_unsynced = False

    def close(self) -> None:
        """Close the file, and remove the record of one that was written to. Idempotent."""
        if self._file.closed:
            return
        try:
            if self._is_writable and self._is_read and self._failed is None:
                self.force()
                self._record.remove()
        finally:
            self._file.close()
