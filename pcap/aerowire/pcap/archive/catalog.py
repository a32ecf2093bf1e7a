"""The catalog of an Archive: which recordings there are, and which of their segment files.

    archive.catalog:  header (32 bytes) | entry | entry | ...
    entry:            header (32 bytes: length of the rest, state, checksum) | descriptor (80 bytes) | 3 x (u32 length, text) | padding

Aeron: Catalog.  Nothing in it is trusted: a descriptor that cannot be is listed with what is wrong with it, and not read from.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.dtypes.archive import CATALOG_HEADER, RECORDING_DESCRIPTOR, RECORDING_DESCRIPTOR_HEADER
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.archive_files import (
    CATALOG_FILE_NAME,
    CATALOG_LEGACY_ENTRY_LENGTH,
    CATALOG_VERSION,
    NULL_POSITION,
    SEGMENT_FILE_NAME,
    SEGMENT_LENGTH_MAX,
    SEGMENT_LENGTH_MIN,
)
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, MAX_UDP_PAYLOAD, TERM_LENGTH_MAX, TERM_LENGTH_MIN
from aerowire.pcap.archive.damage import ArchiveError, Damage, Report

SEGMENT_NAME = re.compile(SEGMENT_FILE_NAME.replace(".", r"\.").format(recording_id=r"(\d{1,19})", position=r"(\d{1,19})"))
MAJOR_SHIFT = 16  # of a version: minor and patch have a byte each
MISSING_MAX = 100  # segments listed of one recording: a damaged stop position makes any number, and so may each of many entries

RECORDINGS_SCHEMA = pa.schema(
    [
        pa.field("recording_id", pa.int64()),
        pa.field("state", pa.string()),
        pa.field("start_timestamp_ms", pa.int64()),
        pa.field("stop_timestamp_ms", pa.int64()),
        pa.field("start_position", pa.int64()),
        pa.field("stop_position", pa.int64()),
        pa.field("initial_term_id", pa.int32()),
        pa.field("segment_file_length", pa.int32()),
        pa.field("term_buffer_length", pa.int32()),
        pa.field("mtu_length", pa.int32()),
        pa.field("session_id", pa.int32()),
        pa.field("stream_id", pa.int32()),
        pa.field("stripped_channel", pa.string()),
        pa.field("original_channel", pa.string()),
        pa.field("source_identity", pa.string()),
        pa.field("control_session_id", pa.int64()),
        pa.field("correlation_id", pa.int64()),
        pa.field("catalog_offset", pa.int64()),
        pa.field("checksum", pa.int32()),
        pa.field("segments", pa.list_(pa.int64())),  # positions at which the files that are there begin
        pa.field("missing_segments", pa.list_(pa.int64())),
        pa.field("damage", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Recording:
    """A catalog entry and the segment files of its recording.

    Invariant where damage is None: lengths are powers of two and fit each other, positions are multiples of 32, start <= stop or no stop.
    """

    directory: str
    catalog_offset: int
    state: str
    checksum: int
    control_session_id: int
    correlation_id: int
    recording_id: int
    start_timestamp_ms: int
    stop_timestamp_ms: int
    start_position: int
    stop_position: int  # NULL_POSITION while it is recorded
    initial_term_id: int
    segment_file_length: int
    term_buffer_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str
    original_channel: str
    source_identity: str
    segments: tuple[int, ...]
    damage: str | None

    @property
    def is_readable(self) -> bool:
        return self.damage is None and self.state == RecordingState.VALID.name

    @property
    def is_active(self) -> bool:
        return self.stop_position == NULL_POSITION

    @property
    def segment_length(self) -> int:
        return max(self.segment_file_length, self.term_buffer_length)

    @property
    def base_position(self) -> int:
        """Where the term of the start position begins: segments are counted from there."""
        return self.start_position & -self.term_buffer_length

    def segment_of(self, position: int) -> int:
        """Return where the segment that holds a position begins."""
        return position - (position - self.base_position) % self.segment_length

    def own_segments(self) -> list[int]:
        """Return the positions, ascending, of the files that begin on a segment boundary of this recording."""
        first = self.base_position
        return [one for one in self.segments if one >= first and (one - first) % self.segment_length == 0]

    def segment_path(self, segment: int) -> Path:
        return Path(self.directory) / SEGMENT_FILE_NAME.format(recording_id=self.recording_id, position=segment)

    def term_id_of(self, position: int) -> int:
        """Return the id of the term that holds a position; ids wrap around as 32-bit integers do."""
        return (self.initial_term_id + position // self.term_buffer_length + (1 << 31)) % (1 << 32) - (1 << 31)

    def missing_segments(self) -> list[int]:
        """Return where segments begin that should be there and are not."""
        if not self.is_readable:
            return []
        end = self.stop_position if not self.is_active else max(self.own_segments(), default=self.base_position)
        present = set(self.segments)
        expected = range(self.base_position, end, self.segment_length)
        return list(islice((segment for segment in expected if segment not in present), MISSING_MAX))


def recordings(path: str | os.PathLike[str], *, report: Report | None = None) -> pa.Table:
    """Return the catalog of an Archive's directory, one row an entry, in the catalog's order; columns as RECORDINGS_SCHEMA.

    stop_position and stop_timestamp_ms are null while a recording is active; damage says what is wrong with an entry.  Damage that hides
    entries is noted in `report`.  Raises ArchiveError for a directory without a catalog that can be read.
    """
    return as_table(read_catalog(path, report if report is not None else Report()))


def as_table(found: Sequence[Recording]) -> pa.Table:
    """Return catalog entries as rows of RECORDINGS_SCHEMA."""
    columns = []
    for field in RECORDINGS_SCHEMA:
        if field.name == "missing_segments":
            values: list[object] = [one.missing_segments() for one in found]
        else:
            values = [getattr(one, field.name) for one in found]
        if field.name in ("stop_position", "stop_timestamp_ms"):
            values = [None if value == NULL_POSITION else value for value in values]
        columns.append(pa.array(values, type=field.type))
    return pa.Table.from_arrays(columns, schema=RECORDINGS_SCHEMA)


def read_catalog(path: str | os.PathLike[str], report: Report) -> list[Recording]:
    """Return the entries of a catalog; what cannot be one is noted and ends the list.  Raises ArchiveError where there is no catalog."""
    directory = os.fspath(path)
    file = Path(directory) / CATALOG_FILE_NAME
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ArchiveError(f"{file}: cannot be read ({error.strerror}); expected the directory of an Archive") from error
    if len(data) < CATALOG_HEADER.itemsize:
        raise ArchiveError(f"{file}: {len(data)} bytes are no catalog, expected {CATALOG_HEADER.itemsize} at least")
    header = np.frombuffer(data, CATALOG_HEADER, 1)[0]
    major, expected = int(header["version"]) >> MAJOR_SHIFT, CATALOG_VERSION >> MAJOR_SHIFT
    if major != expected:
        raise ArchiveError(f"{file}: offset 0: version {major} of the catalog, expected {expected}")
    legacy = int(header["alignment"]) == 0
    offset = CATALOG_LEGACY_ENTRY_LENGTH if legacy else CATALOG_HEADER.itemsize
    segments = _segments(directory)
    found: list[Recording] = []
    while offset + RECORDING_DESCRIPTOR_HEADER.itemsize <= len(data):
        length = int(np.frombuffer(data, RECORDING_DESCRIPTOR_HEADER, 1, offset)[0]["length"])
        if length == 0:
            break
        end = offset + (CATALOG_LEGACY_ENTRY_LENGTH if legacy else RECORDING_DESCRIPTOR_HEADER.itemsize + length)
        if length < RECORDING_DESCRIPTOR.itemsize or end > len(data):
            reason = f"catalog entry of {length} bytes, expected {RECORDING_DESCRIPTOR.itemsize} to {len(data) - offset - 32}"
            report.note(Damage(os.fspath(file), offset, f"{reason}; entries behind it are not seen"))
            break
        found.append(_entry(directory, data[offset:end], offset, segments))
        offset = end
    return found


def _segments(directory: str) -> dict[int, tuple[int, ...]]:
    """Return recording id -> where its segment files begin, ascending."""
    found: dict[int, list[int]] = {}
    for entry in Path(directory).iterdir():
        match = SEGMENT_NAME.fullmatch(entry.name)
        if match:
            found.setdefault(int(match[1]), []).append(int(match[2]))
    return {recording_id: tuple(sorted(positions)) for recording_id, positions in found.items()}


def _entry(directory: str, data: bytes, offset: int, segments: dict[int, tuple[int, ...]]) -> Recording:
    header = np.frombuffer(data, RECORDING_DESCRIPTOR_HEADER, 1)[0]
    start = RECORDING_DESCRIPTOR_HEADER.itemsize
    fields = np.frombuffer(data, RECORDING_DESCRIPTOR, 1, start)[0]
    values = {name: int(fields[name]) for name in fields.dtype.names}
    texts, damage = _texts(data, start + RECORDING_DESCRIPTOR.itemsize)
    state = int(header["state"])
    names = {member.value: member.name for member in RecordingState}
    if state not in names:
        damage = damage or f"state {state}, expected one of {sorted(names)}"
    damage = damage or _implausible(values)
    return Recording(
        directory,
        offset,
        names.get(state, RecordingState.INVALID.name),
        int(header["checksum"]),
        values["controlSessionId"],
        values["correlationId"],
        values["recordingId"],
        values["startTimestamp"],
        values["stopTimestamp"],
        values["startPosition"],
        values["stopPosition"],
        values["initialTermId"],
        values["segmentFileLength"],
        values["termBufferLength"],
        values["mtuLength"],
        values["sessionId"],
        values["streamId"],
        *texts,
        segments=segments.get(values["recordingId"], ()),
        damage=damage,
    )


def _texts(data: bytes, offset: int) -> tuple[tuple[str, str, str], str | None]:
    """Return the three texts at an offset, and what is wrong with them."""
    found = ["", "", ""]
    for number in range(3):
        length = int.from_bytes(data[offset : offset + 4], "little")
        if offset + 4 + length > len(data):
            return (found[0], found[1], found[2]), f"text {number} of {length} bytes leaves an entry of {len(data)} bytes"
        found[number] = data[offset + 4 : offset + 4 + length].decode("ascii", "backslashreplace")
        offset += 4 + length
    return (found[0], found[1], found[2]), None


def _implausible(values: dict[str, int]) -> str | None:
    """Return what of a descriptor cannot be, or None."""
    term, segment, mtu = values["termBufferLength"], values["segmentFileLength"], values["mtuLength"]
    start, stop = values["startPosition"], values["stopPosition"]
    if not TERM_LENGTH_MIN <= term <= TERM_LENGTH_MAX or term & (term - 1):
        return f"termBufferLength {term}, expected a power of two from {TERM_LENGTH_MIN} to {TERM_LENGTH_MAX}"
    if not SEGMENT_LENGTH_MIN <= segment <= SEGMENT_LENGTH_MAX or segment & (segment - 1):
        return f"segmentFileLength {segment}, expected a power of two from {SEGMENT_LENGTH_MIN} to {SEGMENT_LENGTH_MAX}"
    if not FRAME_ALIGNMENT < mtu <= MAX_UDP_PAYLOAD:
        return f"mtuLength {mtu}, expected {FRAME_ALIGNMENT + 1} to {MAX_UDP_PAYLOAD}"
    if values["recordingId"] < 0 or start < 0 or start % FRAME_ALIGNMENT:
        return f"recordingId {values['recordingId']}, startPosition {start}: expected numbers from 0, the position a multiple of 32"
    if stop != NULL_POSITION and (stop < start or stop % FRAME_ALIGNMENT):
        return f"stopPosition {stop}, expected {NULL_POSITION} or a multiple of {FRAME_ALIGNMENT} from startPosition {start}"
    return None
