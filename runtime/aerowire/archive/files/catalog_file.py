"""The bytes of a catalog: in memory, and through the files port in its file.

A write goes to the file first and to memory once it has succeeded, so that memory is what counts: what an unsuccessful write may have left
in the file is written again with the next one, and synced with it. An update in place is recorded before it begins. Content that moves is
written to a new file that takes the old one's place. What the bytes mean is known in `catalog`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerowire.archive.files.update_record import Update, UpdateRecord
from aerowire.base.errors import ArchiveFileError, FileError
from aerowire.codecs.flyweights.archive_files import CATALOG_CAPACITY_MAX, CATALOG_FILE_NAME
from aerowire.recordings.catalog_layout import CATALOG_HEADER_LENGTH

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort, OpenFile

REPLACEMENT_SUFFIX = ".replacement"
_CHUNK_LENGTH = 1 << 20  # of zeros that no content is looked for behind
_DOUBTFUL_MAX = 64  # places, from which on all between the first and the last is written again


class CatalogFile:
    """An open catalog. `data` holds the content and zeros behind it; it is replaced, never resized, so that views of it stay valid.

    Sync levels: 0 leaves it to the system when writes reach the disk, 1 syncs data at each write, 2 data and metadata.
    """

    def __init__(self, files: FilePort, directory: Path, file: OpenFile, *, capacity: int, sync_level: int) -> None:
        """Use `create` or `open`."""
        self.path = directory / CATALOG_FILE_NAME
        self.data = bytearray(CATALOG_HEADER_LENGTH)
        self.capacity = capacity
        self.sync_level = sync_level
        self._files = files
        self._directory = directory
        self._file = file
        self._record = UpdateRecord(files, self.path, sync_level)
        self._doubtful: dict[int, int] = {}  # offset -> length of what may differ in the file
        self._is_name_doubtful = False  # whether the directory may still have the file before the last replacement

    @classmethod
    def create(cls, files: FilePort, directory: Path, header: bytes, *, capacity: int, sync_level: int) -> Self:
        """Make a catalog without entries, which appears under its name when it is complete. Raises FileError."""
        check_capacity(capacity, directory / CATALOG_FILE_NAME)
        made = cls(files, directory, _write_new(files, directory, header, capacity), capacity=capacity, sync_level=sync_level)
        made.data[: len(header)] = header
        try:
            files.sync_directory(directory)
            made._record.reserve()
        except FileError:
            made._file.close()
            raise
        return made

    @classmethod
    def open(cls, files: FilePort, directory: Path, *, sync_level: int) -> Self:
        """Open a catalog. Raises FileError, MissingFileError, ArchiveFileError."""
        path = directory / CATALOG_FILE_NAME
        files.delete(path.with_name(CATALOG_FILE_NAME + REPLACEMENT_SUFFIX))
        file = files.open(path, writable=True)
        try:
            length = file.length()
            if length > CATALOG_CAPACITY_MAX:
                raise ArchiveFileError(
                    "the catalog is too long", where=path, expected=f"{CATALOG_CAPACITY_MAX} bytes at most", actual=f"{length} bytes"
                )
            opened = cls(files, directory, file, capacity=length, sync_level=sync_level)
            opened.data = read_content(file, length)
        except BaseException:
            file.close()
            raise
        return opened

    def write(self, *pieces: tuple[int, bytes | bytearray], is_repair: bool = False) -> None:
        """Write pieces, each (offset, bytes), in their order, and sync them as the level says, or in any case if they repair the file.

        Then they are in `data` too. Raises FileError: then `data` is as before, and the next write that succeeds puts the file right.
        """
        try:
            self._sync_name()
            for offset, length in self._doubtful.items():
                self._file.write_all(offset, bytes(self.data[offset : offset + length]).ljust(length, b"\0"))
            for offset, piece in pieces:
                self._file.write_all(offset, piece)
            if self.sync_level > 0 or is_repair:
                self._file.sync(data_only=self.sync_level < 2)
        except FileError:
            self._doubt(pieces)
            raise
        self._doubtful.clear()
        for offset, piece in pieces:
            end = offset + len(piece)
            if end > len(self.data):
                self.data = self.data.ljust(min(max(end, 2 * len(self.data)), self.capacity), b"\0")
            self.data[offset:end] = piece

    def update(self, offset: int, piece: bytes | bytearray, *, is_kept: bool = False) -> None:
        """Write bytes in the place of others, as `write` does, so that after a crash they are as before or as after. Raises FileError.

        Where they are kept they are in `data` even then, and the next write that succeeds writes them.
        """
        try:
            if self._doubtful:
                self.write()  # BEFORE the record is of another update: until then it completes one that has failed in the midst
            self._record.write(Update(offset, bytes(self.data[offset : offset + len(piece)]), bytes(piece)))
            self.write((offset, piece))
        except FileError:
            if is_kept:
                self.data[offset : offset + len(piece)] = piece
                self._doubt(((offset, piece),))
            raise

    def sync(self) -> None:
        """Put all on the disk, whatever the level. Raises FileError."""
        self.write(is_repair=True)

    def complete_update(self) -> Update | None:
        """Complete the update that was under way when the last owner died; return it, or None if there was none. Raises FileError."""
        update = self._record.half_done(self.data)
        if update is not None:
            self.write((update.offset, update.after), is_repair=True)
        self._record.remove()
        self._record.reserve()
        return update

    def extend(self, capacity: int) -> None:
        """Make the file longer if it is shorter than a capacity. Raises FileError, ArchiveFileError."""
        check_capacity(capacity, self.path)
        if capacity > self.capacity:
            self._file.truncate(capacity)
            self.capacity = capacity

    def grow(self, end: int) -> int:
        """Make the file longer by halves until it holds `end` bytes; return its former capacity. Raises FileError, ArchiveFileError."""
        if end > CATALOG_CAPACITY_MAX:
            raise ArchiveFileError(
                "the catalog is full", where=self.path, expected=f"{CATALOG_CAPACITY_MAX} bytes at most", actual=f"{end} bytes to hold"
            )
        former = capacity = self.capacity
        while capacity < end:
            capacity = min(capacity + (capacity >> 1), CATALOG_CAPACITY_MAX)
        self.extend(capacity)
        return former

    def replace(self, content: bytearray) -> None:
        """Let other content take the place of all. Raises FileError: then none has, or all with a name that a power failure may undo."""
        self._record.remove()  # offsets move
        former = self._file
        self._file = _write_new(self._files, self._directory, content, self.capacity)
        former.close()
        self._doubtful.clear()
        self.data = content
        self._is_name_doubtful = True
        self._sync_name()

    def close(self) -> None:
        """Sync and close the file. Idempotent."""
        if not self._file.closed:
            try:
                if self._doubtful or self._is_name_doubtful:
                    self.write()
                self._file.sync()
                self._record.remove()
            finally:
                self._file.close()

    def _sync_name(self) -> None:
        if self._is_name_doubtful:
            self._files.sync_directory(self._directory)
            self._is_name_doubtful = False

    def _doubt(self, pieces: tuple[tuple[int, bytes | bytearray], ...]) -> None:
        for offset, piece in pieces:
            self._doubtful[offset] = max(len(piece), self._doubtful.get(offset, 0))
        if len(self._doubtful) > _DOUBTFUL_MAX:
            first, end = min(self._doubtful), max(offset + length for offset, length in self._doubtful.items())
            self._doubtful = {first: end - first}


def read_content(file: OpenFile, length: int) -> bytearray:
    """Return what a catalog holds, up to a chunk of nothing but zeros or its end."""
    content = bytearray()
    while len(content) < length:
        chunk = file.read(len(content), min(_CHUNK_LENGTH, length - len(content)))
        if chunk == bytes(len(chunk)):
            break
        content += chunk
    return content


def check_capacity(capacity: int, path: Path) -> None:
    """Raise ArchiveFileError unless a catalog may have a capacity."""
    if not CATALOG_HEADER_LENGTH <= capacity <= CATALOG_CAPACITY_MAX:
        raise ArchiveFileError(
            "a catalog cannot have this capacity",
            where=path,
            expected=f"{CATALOG_HEADER_LENGTH} to {CATALOG_CAPACITY_MAX}",
            actual=capacity,
        )


def _write_new(files: FilePort, directory: Path, content: bytes | bytearray, capacity: int) -> OpenFile:
    """Return a synced catalog with this content, open, which has taken the place of the one there was; its name is not synced."""
    path = directory / CATALOG_FILE_NAME
    replacement = path.with_name(path.name + REPLACEMENT_SUFFIX)
    file = files.open(replacement, writable=True, create=True)
    try:
        file.truncate(0)
        file.truncate(capacity)
        file.write_all(0, content)
        file.sync()
        files.rename(replacement, path)
    except BaseException:
        file.close()
        raise
    return file
