"""The catalog of a directory whose Archive does not run: every entry, those that are invalid or deleted too, and changes of single ones.

Reading changes no byte; each change is written at once, and synced when the catalog is closed. Catalogs of every version are read, those
with slots of 1,024 bytes too. Aeron: ArchiveTool.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from aerowire.archive.files.catalog_file import read_content
from aerowire.archive.files.checksum import Checksum, checksum_named
from aerowire.archive.files.update_record import UpdateRecord
from aerowire.base.errors import ArchiveFileError
from aerowire.codecs.flyweights.archive import (
    CatalogHeaderEncoder,
    RecordingDescriptorEncoder,
    RecordingDescriptorHeaderEncoder,
    RecordingState,
)
from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME, CATALOG_VERSION
from aerowire.recordings.catalog_entry import RecordingEntry, decode_entry
from aerowire.recordings.catalog_layout import CATALOG_HEADER_LENGTH, ENTRY_HEADER_LENGTH, CatalogHeader, entry_places
from aerowire.recordings.versions import major_version, version_text

if TYPE_CHECKING:
    from types import TracebackType

    from aerowire.base.file_port import FilePort

_CHECKSUM_NAMES = ("CRC-32", "CRC-32C")


class OfflineCatalog:
    """The entries of a catalog, in its order. `problem` says what ends them early, None if nothing does.

    `entries` are as they were when the catalog was opened; what is changed since is in the file.
    """

    def __init__(self, files: FilePort, directory: Path, *, writable: bool = False, any_version: bool = False) -> None:
        """Open a catalog; without `any_version` one of the current major version. Raises ArchiveFileError, MissingFileError, FileError."""
        self.path = directory / CATALOG_FILE_NAME
        self.files = files
        self.directory = directory
        self._file = files.open(self.path, writable=writable)
        self._is_writable = writable
        try:
            self.capacity = self._file.length()
            self.data = read_content(self._file, self.capacity)
            self._complete_update()
            if len(self.data) < CATALOG_HEADER_LENGTH:
                raise ArchiveFileError(
                    "the file is no catalog",
                    where=f"{self.path}, offset 0",
                    expected=f"{CATALOG_HEADER_LENGTH} bytes at least",
                    actual=f"{self.capacity} bytes" if self.capacity < CATALOG_HEADER_LENGTH else "zeros",
                )
            self.header = CatalogHeader.decode(self.data)
            if not any_version and major_version(self.header.version) != major_version(CATALOG_VERSION):
                raise ArchiveFileError(
                    "the catalog is of another version",
                    where=f"{self.path}, offset 0",
                    expected=f"{version_text(CATALOG_VERSION)} or another {major_version(CATALOG_VERSION)}.x",
                    actual=version_text(self.header.version),
                    hint="migrate older files by: aerowire archive migrate DIR",
                )
        except BaseException:
            self._file.close()
            raise
        self.entries: list[RecordingEntry] = []
        self.problem: str | None = None
        for place in entry_places(self.data, self.header):
            if place.problem is not None:
                self.problem = f"{self.path}: offset {place.offset}: {place.problem}"
            else:
                self.entries.append(decode_entry(self.data, place.offset, place.end))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def entry(self, recording_id: int) -> RecordingEntry:
        """Return the first entry of a recording, in whatever state. Raises ArchiveFileError where there is none."""
        found = next((one for one in self.entries if one.recording_id == recording_id), None)
        if found is None:
            raise ArchiveFileError(
                "no such recording", where=self.path, expected="an entry of the catalog", actual=f"recording {recording_id}"
            )
        return found

    def valid_count(self) -> int:
        """Return how many recordings are in use."""
        return sum(one.recording_state is RecordingState.VALID for one in self.entries)

    def entry_bytes(self, entry: RecordingEntry) -> bytearray:
        """Return the bytes of an entry with its header."""
        return self.data[entry.catalog_offset : entry.catalog_offset + ENTRY_HEADER_LENGTH + entry.entry_length]

    def checksum_of(self, entry: RecordingEntry, checksum: Checksum) -> int:
        """Return the checksum that belongs into the header of an entry, by its bytes as they are now."""
        return checksum.compute(memoryview(self.entry_bytes(entry))[ENTRY_HEADER_LENGTH:])

    def checksum_in(self, entry: RecordingEntry) -> Checksum | None:
        """Return the algorithm by which the checksum of an entry is right; None for an entry without one, or with another."""
        known = [checksum_named(name) for name in _CHECKSUM_NAMES]
        return next((one for one in known if one is not None and self.checksum_of(entry, one) == entry.checksum), None)

    def set_state(self, entry: RecordingEntry, state: RecordingState) -> None:
        """Change the state of an entry. Raises FileError."""
        RecordingDescriptorHeaderEncoder().wrap(self.data, entry.catalog_offset).state = state
        self._write(entry)

    def set_stop(self, entry: RecordingEntry, position: int, timestamp_ms: int) -> None:
        """Change where a recording ends, and when it has. Raises FileError."""
        fields = RecordingDescriptorEncoder().wrap(self.data, entry.catalog_offset + ENTRY_HEADER_LENGTH)
        fields.stop_position, fields.stop_timestamp = position, timestamp_ms
        self._write(entry)

    def set_start(self, entry: RecordingEntry, position: int) -> None:
        """Change where a recording begins; the checksum of the entry is kept right, where it was. Raises FileError."""
        checksum = self.checksum_in(entry)
        fields = RecordingDescriptorEncoder().wrap(self.data, entry.catalog_offset + ENTRY_HEADER_LENGTH)
        fields.start_position = position
        if checksum is not None:
            value = self.checksum_of(entry, checksum)
            RecordingDescriptorHeaderEncoder().wrap(self.data, entry.catalog_offset).checksum = value
        self._write(entry)

    def set_checksum(self, entry: RecordingEntry, value: int) -> None:
        """Change the checksum in the header of an entry. Raises FileError."""
        RecordingDescriptorHeaderEncoder().wrap(self.data, entry.catalog_offset).checksum = value
        self._write(entry)

    def set_version(self, version: int) -> None:
        """Change the version in the header of the catalog. Raises FileError."""
        CatalogHeaderEncoder().wrap(self.data).version = version
        self._file.write_all(0, self.data[:CATALOG_HEADER_LENGTH])

    def extend(self, capacity: int) -> None:
        """Make the file longer, if it is shorter than a capacity. Raises FileError."""
        if capacity > self.capacity:
            self._file.truncate(capacity)
            self.capacity = capacity

    def close(self) -> None:
        """Sync what was changed, and close the file. Idempotent. Raises FileError."""
        if not self._file.closed:
            try:
                if self._is_writable:
                    self._file.sync()
            finally:
                self._file.close()

    def _complete_update(self) -> None:
        """Complete the update that an Archive left half done: no entry is read with old and new bytes mixed."""
        update = UpdateRecord(self.files, self.path, sync_level=0).half_done(self.data)
        if update is not None:
            self.data[update.offset : update.offset + len(update.after)] = update.after
            if self._is_writable:
                self._file.write_all(update.offset, update.after)

    def _write(self, entry: RecordingEntry) -> None:
        self._file.write_all(entry.catalog_offset, self.entry_bytes(entry))
