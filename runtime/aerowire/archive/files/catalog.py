"""The catalog of a running Archive: which recordings there are, in memory, and durably in archive.catalog.

    catalog = Catalog.open(directory, ports.files, capacity=1 << 20, sync_level=1)
    recording_id = catalog.add_recording(RecordingEntry(...))
    catalog.recording_stopped(recording_id, position, now_ms)

Each operation has reached the file, as the sync level says, when it returns; one that raises FileError has changed nothing in memory. One
owner at a time. Only valid recordings are seen here: those that are invalidated or deleted keep their place in the file until it is
compacted. Positions of recordings that were active when their Archive died are found by `recovery`. Aeron: Catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, Final

from aerowire.archive.files.catalog_file import CatalogFile
from aerowire.archive.files.catalog_index import CatalogIndex
from aerowire.archive.files.catalog_repair import repair_catalog
from aerowire.archive.files.finding import Finding
from aerowire.base.errors import ArchiveFileError
from aerowire.codecs.flyweights.archive import (
    CatalogHeaderDecoder,
    RecordingDescriptorDecoder,
    RecordingDescriptorEncoder,
    RecordingDescriptorHeaderDecoder,
    RecordingDescriptorHeaderEncoder,
    RecordingState,
)
from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME, CATALOG_VERSION, NULL_POSITION, NULL_TIMESTAMP
from aerowire.recordings.catalog_entry import RecordingEntry, decode_entry, encode_entry
from aerowire.recordings.catalog_layout import CATALOG_HEADER_LENGTH, ENTRY_HEADER_LENGTH, CatalogHeader
from aerowire.recordings.versions import major_version, version_text

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.archive.files.checksum import Checksum
    from aerowire.base.file_port import FilePort

NULL_RECORDING_ID: Final = -1
# What an update in place writes of an entry: its header and the fields of its descriptor.
_FIXED_LENGTH = ENTRY_HEADER_LENGTH + RecordingDescriptorDecoder.SBE_BLOCK_LENGTH
_UNPACK_LENGTH = Struct("<i").unpack_from
_UNPACK_POSITION = Struct("<q").unpack_from
_START_POSITION_OFFSET = ENTRY_HEADER_LENGTH + RecordingDescriptorDecoder.START_POSITION_ENCODING_OFFSET
_STOP_POSITION_OFFSET = ENTRY_HEADER_LENGTH + RecordingDescriptorDecoder.STOP_POSITION_ENCODING_OFFSET
_LENGTH_OFFSET = RecordingDescriptorHeaderDecoder.LENGTH_ENCODING_OFFSET
# Decoded entries that are kept: requests come in series about the same recordings.
_DECODED_MAX = 256
_STATE_OFFSET = RecordingDescriptorHeaderDecoder.STATE_ENCODING_OFFSET
_STATE_LENGTH = RecordingDescriptorHeaderDecoder.STATE_ENCODING_LENGTH
_NEXT_ID_OFFSET, _NEXT_ID_LENGTH = (
    CatalogHeaderDecoder.NEXT_RECORDING_ID_ENCODING_OFFSET,
    CatalogHeaderDecoder.NEXT_RECORDING_ID_ENCODING_LENGTH,
)


class Catalog:
    """The recordings of an Archive. Made by `open`: `findings` tells what had to be repaired, `active` which ids had no stop position then.

    Invariant: every id below `next_recording_id` has been given to a recording, or is lost; entries stand in the order of their ids. The
    entries in `_decoded` are those in the file.
    """

    def __init__(
        self, file: CatalogFile, files: FilePort, checksum: Checksum | None, on_resize: Callable[[int, int], object] | None
    ) -> None:
        """Use `open`."""
        self.files = files
        self.directory = file.path.parent
        self.checksum = checksum
        self.findings: list[Finding] = []
        self._file = file
        self._on_resize = on_resize
        self._end = 0  # where the next entry goes
        self._next_recording_id = 0
        self._decoded: dict[int, RecordingEntry] = {}
        update = file.complete_update()
        if update is not None:
            self.findings.append(Finding(str(self.path), update.offset, "an update of the entry was half done; completed"))
        self.active = self._load()

    @classmethod
    def open(
        cls,
        directory: Path,
        files: FilePort,
        *,
        capacity: int,
        sync_level: int = 0,
        checksum: Checksum | None = None,
        on_resize: Callable[[int, int], object] | None = None,
    ) -> Catalog:
        """Open the catalog of a directory, or make it where there is none; `on_resize` is called with old and new capacity when it grows.

        Entries that a crash has left incomplete are removed, and told in `findings`. Raises ArchiveFileError where the file is no catalog
        of this version, FileError.
        """
        found = files.facts(directory / CATALOG_FILE_NAME)
        if found is None or found.length == 0:  # of an Archive that died before it had written anything
            file = CatalogFile.create(files, directory, CatalogHeader().encode(), capacity=capacity, sync_level=sync_level)
        else:
            file = CatalogFile.open(files, directory, sync_level=sync_level)
        try:
            _check_header(file)
            file.extend(capacity)
            return cls(file, files, checksum, on_resize)
        except BaseException:
            file.close()
            raise

    def sync(self) -> None:
        """Put all on the disk, whatever the level. Raises FileError."""
        self._file.sync()

    def close(self) -> None:
        """Sync and close the file. Idempotent."""
        self._file.close()

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def capacity(self) -> int:
        return self._file.capacity

    @property
    def sync_level(self) -> int:
        return self._file.sync_level

    @property
    def index(self) -> CatalogIndex:
        """Where the valid recordings are in `data`, until the next change of the catalog."""
        return self._index

    @property
    def data(self) -> bytearray:
        """The bytes of the file, until the next change of the catalog."""
        return self._file.data

    @property
    def next_recording_id(self) -> int:
        return self._next_recording_id

    def __len__(self) -> int:
        return len(self._index)

    def add_recording(self, recording: RecordingEntry) -> int:
        """Add a recording, whose id and checksum are chosen here; return its id. Raises FileError, ArchiveFileError when it is full."""
        recording_id, offset = self._next_recording_id, self._end
        entry = encode_entry(replace(recording, recording_id=recording_id, recording_state=RecordingState.VALID), self._header.alignment)
        self._seal(entry)
        self._ensure_capacity(offset + len(entry))
        # The next id BEFORE the entry: other implementations refuse a catalog with an id that was not given yet.
        self._file.write((_NEXT_ID_OFFSET, (recording_id + 1).to_bytes(_NEXT_ID_LENGTH, "little")), (offset, entry))
        self._next_recording_id, self._end = recording_id + 1, offset + len(entry)
        self._index.add(recording_id, offset)
        return recording_id

    def has_recording(self, recording_id: int) -> bool:
        return self._index.offset_of(recording_id) >= 0

    def entry(self, recording_id: int) -> RecordingEntry | None:
        """Return a recording's entry, None where there is none."""
        found = self._decoded.get(recording_id)
        if found is None:
            offset = self._index.offset_of(recording_id)
            if offset < 0:
                return None
            if len(self._decoded) >= _DECODED_MAX:
                del self._decoded[next(iter(self._decoded))]
            self._decoded[recording_id] = found = self._entry_at(offset)
        return found

    def entries(self, from_id: int = 0) -> Iterator[RecordingEntry]:
        """Yield the recordings from an id on, as they are when the next one is taken."""
        while ids := self._index.ids_from(from_id, 1):
            yield self._entry_at(self._index.offset_of(ids[0]))
            from_id = ids[0] + 1

    def ids_from(self, recording_id: int, count: int) -> list[int]:
        """Return up to `count` ids of recordings, ascending, from a given one on."""
        return self._index.ids_from(recording_id, count)

    def find_last(self, minimum_id: int, session_id: int, stream_id: int, channel_fragment: bytes) -> int:
        """Return the highest id, `minimum_id` at least, of a recording of a stream with the fragment in its original channel; else -1."""
        if minimum_id < 0:
            return NULL_RECORDING_ID
        return self._index.find_last(self._file.data, minimum_id, session_id, stream_id, channel_fragment)

    def start_position(self, recording_id: int) -> int:
        """Return where a recording begins. Raises KeyError where there is none."""
        found: int = _UNPACK_POSITION(self._file.data, self._offset_of(recording_id) + _START_POSITION_OFFSET)[0]
        return found

    def stop_position(self, recording_id: int) -> int:
        """Return where a recording ends, NULL_POSITION while it is active. Raises KeyError where there is none."""
        found: int = _UNPACK_POSITION(self._file.data, self._offset_of(recording_id) + _STOP_POSITION_OFFSET)[0]
        return found

    def set_start_position(self, recording_id: int, position: int) -> None:
        self._update(recording_id, start_position=position)

    def set_stop_position(self, recording_id: int, position: int, *, is_kept: bool = False) -> None:
        """Record where a recording ends. What is kept holds even where it cannot be written yet. Raises KeyError, FileError."""
        self._update(recording_id, is_kept=is_kept, stop_position=position)

    def recording_stopped(self, recording_id: int, position: int, timestamp_ms: int) -> None:
        """Record that a recording has ended, and where. Raises KeyError, FileError."""
        self._update(recording_id, stop_timestamp=timestamp_ms, stop_position=position)

    def extend_recording(self, recording_id: int, control_session_id: int, correlation_id: int, session_id: int) -> None:
        """Record that a recording goes on with another session. Raises KeyError, FileError."""
        self._update(
            recording_id,
            control_session_id=control_session_id,
            correlation_id=correlation_id,
            stop_timestamp=NULL_TIMESTAMP,
            session_id=session_id,
            stop_position=NULL_POSITION,
        )

    def replace_recording(self, recording: RecordingEntry) -> None:
        """Replace what is known of a recording, by its id, texts included; the control session and the correlation id stay.

        The whole file is written anew: an entry that is in use is never half of one and half of another. Raises KeyError, FileError.
        """
        former = self._entry_at(self._offset_of(recording.recording_id))
        kept = replace(
            recording,
            control_session_id=former.control_session_id,
            correlation_id=former.correlation_id,
            recording_state=RecordingState.VALID,
        )
        offset, end = former.catalog_offset, self._end_of(former.catalog_offset)
        entry = encode_entry(kept, self._header.alignment).ljust(end - offset, b"\0")  # an entry never becomes shorter
        RecordingDescriptorHeaderEncoder().wrap(entry).length = len(entry) - ENTRY_HEADER_LENGTH
        self._seal(entry)
        data = self._file.data
        content = data[:offset] + entry + data[end : self._end]
        self._ensure_capacity(len(content))
        try:
            self._file.replace(content)
        finally:
            self._load()

    def change_channel(self, recording_id: int, stripped_channel: str, original_channel: str) -> None:
        """Record another channel for a recording. Raises KeyError, FileError."""
        entry = self._entry_at(self._offset_of(recording_id))
        self.replace_recording(replace(entry, stripped_channel=stripped_channel, original_channel=original_channel))

    def change_state(self, recording_id: int, state: RecordingState) -> bool:
        """Invalidate or delete a recording, which is not seen any more; False where there is none. Raises FileError."""
        offset = self._index.offset_of(recording_id)
        if offset < 0:
            return False
        self._file.update(offset + _STATE_OFFSET, state.to_bytes(_STATE_LENGTH, "little"))
        self._index.remove(recording_id)
        self._decoded.pop(recording_id, None)
        return True

    def _load(self) -> list[int]:
        """Find the entries in the bytes of the file, and repair what a crash has left; return the ids of active recordings."""
        file = self._file
        self._header = CatalogHeader.decode(file.data)
        self._index = CatalogIndex()
        self._decoded.clear()
        scan = self._index.scan(file.data, self._header.first_entry_offset, False)
        self._end, findings = repair_catalog(file, self._header, self._index, scan)
        self.findings += findings
        self._next_recording_id = CatalogHeader.decode(file.data).next_recording_id
        return scan.active

    def _update(self, recording_id: int, *, is_kept: bool = False, **fields: int) -> None:
        """Write fields of a descriptor in place. Raises KeyError, FileError."""
        offset = self._offset_of(recording_id)
        self._decoded.pop(recording_id, None)
        entry = self._file.data[offset : self._end_of(offset)]
        encoder = RecordingDescriptorEncoder().wrap(entry, ENTRY_HEADER_LENGTH)
        for name, value in fields.items():
            setattr(encoder, name, value)
        self._seal(entry)
        self._file.update(offset, entry[:_FIXED_LENGTH], is_kept=is_kept)

    def _seal(self, entry: bytearray) -> None:
        """Write the checksum of an entry into its header; 0 without an algorithm."""
        value = 0 if self.checksum is None else self.checksum.compute(memoryview(entry)[ENTRY_HEADER_LENGTH:])
        RecordingDescriptorHeaderEncoder().wrap(entry).checksum = value

    def _ensure_capacity(self, end: int) -> None:
        if end > self._file.capacity:
            former = self._file.grow(end)
            if self._on_resize is not None:
                self._on_resize(former, self._file.capacity)

    def _offset_of(self, recording_id: int) -> int:
        offset = self._index.offset_of(recording_id)
        if offset < 0:
            raise KeyError(f"{self.path}: no recording {recording_id}")
        return offset

    def _end_of(self, offset: int) -> int:
        return self._header.entry_end(offset, _UNPACK_LENGTH(self._file.data, offset + _LENGTH_OFFSET)[0])

    def _entry_at(self, offset: int) -> RecordingEntry:
        return decode_entry(self._file.data, offset, self._end_of(offset))


def _check_header(file: CatalogFile) -> None:
    """Raise ArchiveFileError unless a file begins as a catalog of this version."""
    if len(file.data) < CATALOG_HEADER_LENGTH:
        raise ArchiveFileError(
            "the file is no catalog", where=f"{file.path}, offset 0", expected="a header", actual=f"{len(file.data)} bytes before zeros"
        )
    header = CatalogHeader.decode(file.data)
    if major_version(header.version) != major_version(CATALOG_VERSION):
        raise ArchiveFileError(
            "the catalog is of another version",
            where=f"{file.path}, offset 0",
            expected=f"{version_text(CATALOG_VERSION)} or another {major_version(CATALOG_VERSION)}.x",
            actual=version_text(header.version),
            hint="migrate older files by: aerowire archive migrate DIR",
        )
    if header.alignment < 8 or header.alignment & (header.alignment - 1):
        raise ArchiveFileError(
            "the catalog has an impossible alignment",
            where=f"{file.path}, offset {CatalogHeaderDecoder.ALIGNMENT_ENCODING_OFFSET}",
            expected="a power of two from 8",
            actual=header.alignment,
        )
