"""Entries of recording.log as values: their bytes, and the order in which they count.

    recording.log:  entry | entry | ...   each aligned to 64 bytes; a removed one keeps its place

An entry is written behind the others. Where that was interrupted, the file ends with a part of one, or with sectors of zeros before others:
the log ends there, and the next entry takes their place. Everything else that is no entry is damage. Aeron: RecordingLog.Entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from aerowire.base.errors import ClusterFileError, RecordingLogError
from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.recording_log import (
    ARCHIVE_ENDPOINT_LENGTH_MAX,
    ENTRY_TYPE_INVALID_FLAG,
    RECORDING_LOG_ENTRY_LENGTH_MAX,
    EntryType,
    RecordingLogEntryDecoder,
    StandbySnapshotEntryDecoder,
    StandbySnapshotEntryEncoder,
    TermEntryEncoder,
)

if TYPE_CHECKING:
    from pathlib import Path

CONSENSUS_MODULE_SERVICE_ID: Final = -1
ENTRY_ALIGNMENT: Final = RecordingLogEntryDecoder.ALIGNMENT
_FIXED_LENGTH = RecordingLogEntryDecoder.ENCODED_LENGTH
_ENDPOINT_OFFSET = StandbySnapshotEntryDecoder.ARCHIVE_ENDPOINT_OFFSET
_TYPE_OFFSET = RecordingLogEntryDecoder.ENTRY_TYPE_OFFSET
_TYPES = (EntryType.TERM, EntryType.SNAPSHOT, EntryType.STANDBY_SNAPSHOT)
# Of entries of one term at one place, its own stands first, and the snapshots of standby nodes before those of the node.
_RANKS = {EntryType.TERM: 0, EntryType.STANDBY_SNAPSHOT: 1, EntryType.SNAPSHOT: 2}
_PRINTABLE = bytes(range(0x20, 0x7F))
_SECTOR_LENGTH = 512  # what a disk writes whole


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingLogEntry:
    """A term of the log, or a snapshot.

    `entry_index` counts entries in the order of the file, removed ones too; `offset` is where the entry stands in it. `entry_type` is
    without the bit that marks an invalid entry. A term's `log_position` is where it ends, -1 while it goes on.
    """

    recording_id: int
    leadership_term_id: int
    term_base_log_position: int
    log_position: int
    timestamp: int
    service_id: int
    entry_type: EntryType
    entry_index: int
    archive_endpoint: str = ""
    is_valid: bool = True
    offset: int = field(default=0, compare=False)

    @property
    def length(self) -> int:
        """Bytes in the file, with alignment."""
        return align(_ENDPOINT_OFFSET + len(self.archive_endpoint) if self.archive_endpoint else _FIXED_LENGTH, ENTRY_ALIGNMENT)

    @property
    def is_valid_term(self) -> bool:
        return self.is_valid and self.entry_type == EntryType.TERM

    @property
    def is_valid_snapshot(self) -> bool:
        """Whether the entry is of a valid snapshot in the node's own archive."""
        return self.is_valid and self.entry_type == EntryType.SNAPSHOT

    @property
    def is_valid_any_snapshot(self) -> bool:
        """Whether the entry is of a valid snapshot in the archive of this node or of a standby node."""
        return self.is_valid and self.entry_type != EntryType.TERM

    def sort_key(self) -> tuple[int, int, int, int, int]:
        """Return the order in which entries count: by term and place, then terms by file, snapshots by position and descending service."""
        rank = _RANKS[self.entry_type]
        last = (self.entry_index, 0) if rank == 0 else (self.log_position, -self.service_id)
        return (self.leadership_term_id, self.term_base_log_position, rank, *last)

    def encode(self) -> bytes:
        """Return the bytes of the entry with its alignment."""
        encoder = StandbySnapshotEntryEncoder if self.entry_type == EntryType.STANDBY_SNAPSHOT else TermEntryEncoder
        endpoint = {"archive_endpoint": self.archive_endpoint} if self.entry_type == EntryType.STANDBY_SNAPSHOT else {}
        data: bytes = encoder.encode(
            recording_id=self.recording_id,
            leadership_term_id=self.leadership_term_id,
            term_base_log_position=self.term_base_log_position,
            log_position=self.log_position,
            timestamp=self.timestamp,
            service_id=self.service_id,
            entry_type=self.entry_type if self.is_valid else self.entry_type | ENTRY_TYPE_INVALID_FLAG,
            **endpoint,
        )
        return data.ljust(self.length, b"\0")


class DecodedEntries(NamedTuple):
    """Entries in the order of the file, how many there are with removed ones, and the offset of a part of one, or of the end."""

    entries: list[RecordingLogEntry]
    next_entry_index: int
    end: int


def decode_entries(data: bytes, path: Path) -> DecodedEntries:
    """Return what a recording log holds. Raises ClusterFileError."""
    entries: list[RecordingLogEntry] = []
    index = offset = 0
    while offset < len(data) and not _is_interrupted(data, offset):
        decoder = RecordingLogEntryDecoder(data, offset)
        length = ENTRY_ALIGNMENT
        if decoder.entry_type != EntryType.REMOVED:
            entry = _decode(data, offset, index, path)
            if entry.entry_type == EntryType.TERM:
                _check_term(entry, entries, path)
            entries.append(entry)
            length = entry.length
        offset += length
        index += 1
    return DecodedEntries(entries, index, offset)


def check_endpoint(archive_endpoint: str) -> None:
    """Raise RecordingLogError unless a standby snapshot's entry can hold an endpoint."""
    data = archive_endpoint.encode("ascii", "replace")
    if not 0 < len(data) <= ARCHIVE_ENDPOINT_LENGTH_MAX or data.translate(None, _PRINTABLE) or data.decode() != archive_endpoint:
        raise RecordingLogError(
            "a standby snapshot needs the endpoint of its archive",
            expected=f"1 to {ARCHIVE_ENDPOINT_LENGTH_MAX} printable ASCII characters",
            actual=f"{len(archive_endpoint)}: {archive_endpoint[:100]!r}",
        )


def _is_interrupted(data: bytes, offset: int) -> bool:
    """Return whether an append was interrupted at an offset: nothing behind it has been forced then.

    That is near the end: the rest of a sector holds zeros, or the file ends within an entry, or with zeros in the place of its rest. No
    entry begins with zeros, nor ends with them where its type is: a term has no service.
    """
    rest = data[offset:] if len(data) - offset <= RECORDING_LOG_ENTRY_LENGTH_MAX else b""
    if not rest:
        return False
    in_sector = offset % _SECTOR_LENGTH
    if len(rest) < ENTRY_ALIGNMENT or not any(rest[: _SECTOR_LENGTH - in_sector]):
        return True
    decoder = RecordingLogEntryDecoder(rest)
    if decoder.entry_type == EntryType.TERM:
        return decoder.service_id != NULL_VALUE and not any(rest[_TYPE_OFFSET:])
    is_standby = decoder.entry_type & ~ENTRY_TYPE_INVALID_FLAG == EntryType.STANDBY_SNAPSHOT
    return is_standby and _is_endpoint_interrupted(rest, in_sector)


def _is_endpoint_interrupted(rest: bytes, in_sector: int) -> bool:
    length = int.from_bytes(rest[_FIXED_LENGTH:_ENDPOINT_OFFSET], "little", signed=True)
    end = _ENDPOINT_OFFSET + length
    if not 0 <= length <= ARCHIVE_ENDPOINT_LENGTH_MAX or rest[_ENDPOINT_OFFSET:end].translate(None, _PRINTABLE + b"\0"):
        return False
    if align(end, ENTRY_ALIGNMENT) > len(rest):
        return True
    written = rest.find(b"\0", _ENDPOINT_OFFSET, end) if length else _ENDPOINT_OFFSET
    sectors = range(_SECTOR_LENGTH - in_sector, end, _SECTOR_LENGTH)
    return written >= 0 and (not any(rest[written:]) or any(not any(rest[at : min(at + _SECTOR_LENGTH, end)]) for at in sectors))


def _decode(data: bytes, offset: int, index: int, path: Path) -> RecordingLogEntry:
    decoder = RecordingLogEntryDecoder(data, offset)
    entry_type = decoder.entry_type & ~ENTRY_TYPE_INVALID_FLAG
    if entry_type not in _TYPES:
        raise _damaged(path, offset + _TYPE_OFFSET, "the type of an entry", decoder.entry_type)
    entry = RecordingLogEntry(
        recording_id=decoder.recording_id,
        leadership_term_id=decoder.leadership_term_id,
        term_base_log_position=decoder.term_base_log_position,
        log_position=decoder.log_position,
        timestamp=decoder.timestamp,
        service_id=decoder.service_id,
        entry_type=EntryType(entry_type),
        entry_index=index,
        archive_endpoint=_decode_endpoint(data, offset, path) if entry_type == EntryType.STANDBY_SNAPSHOT else "",
        is_valid=decoder.entry_type == entry_type,
        offset=offset,
    )
    least = {"recording_id": 0, "leadership_term_id": 0, "term_base_log_position": NULL_VALUE, "log_position": NULL_VALUE, "service_id": -1}
    for name, value in least.items():
        if getattr(entry, name) < value:
            field_offset = getattr(RecordingLogEntryDecoder, f"{name.upper()}_OFFSET")
            raise _damaged(path, offset + field_offset, f"a {name.replace('_', ' ')} of at least {value}", getattr(entry, name))
    return entry


def _decode_endpoint(data: bytes, offset: int, path: Path) -> str:
    start = offset + _ENDPOINT_OFFSET
    length = int.from_bytes(data[offset + _FIXED_LENGTH : start], "little", signed=True)
    if not 0 < length <= min(ARCHIVE_ENDPOINT_LENGTH_MAX, len(data) - start):
        raise _damaged(path, offset + _FIXED_LENGTH, "the length of an endpoint within the file", length)
    endpoint = data[start : start + length]
    if endpoint.translate(None, _PRINTABLE):
        raise _damaged(path, start, "an endpoint in printable ASCII", endpoint[:100])
    return endpoint.decode("ascii")


def _check_term(entry: RecordingLogEntry, entries: list[RecordingLogEntry], path: Path) -> None:
    if entry.service_id != NULL_VALUE:
        raise _damaged(
            path, entry.offset + RecordingLogEntryDecoder.SERVICE_ID_OFFSET, f"{NULL_VALUE}, a term's service id", entry.service_id
        )
    first = next((one for one in entries if one.entry_type == EntryType.TERM), entry)
    if entry.recording_id != first.recording_id:
        raise _damaged(path, entry.offset, f"{first.recording_id}, the recording of all terms", entry.recording_id)


def _damaged(path: Path, offset: int, expected: str, actual: object) -> ClusterFileError:
    return ClusterFileError("the recording log is damaged", where=f"{path}, offset {offset}", expected=expected, actual=actual)
