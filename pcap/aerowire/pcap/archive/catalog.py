"""The catalog of an Archive: which recordings there are, and which of their segment files.

Nothing in it is trusted: a descriptor that cannot be is listed with what is wrong with it, and not read from. Aeron: Catalog.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME, CATALOG_VERSION, NULL_POSITION
from aerowire.pcap.archive.damage import ArchiveError, Damage, Report
from aerowire.recordings.catalog_entry import RecordingEntry, decode_entry
from aerowire.recordings.catalog_layout import CATALOG_HEADER_LENGTH, CatalogHeader, entry_places
from aerowire.recordings.segment_names import parse_segment_name, segment_name
from aerowire.recordings.versions import major_version

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording(RecordingEntry):
    """A catalog entry and the segment files of its recording."""

    directory: str
    segments: tuple[int, ...]

    @property
    def is_readable(self) -> bool:
        return self.is_valid

    @property
    def state(self) -> str:
        return self.recording_state.name

    def own_segments(self) -> list[int]:
        """Return the positions, ascending, of the files that begin on a segment boundary of this recording."""
        first = self.base_position
        return [one for one in self.segments if one >= first and (one - first) % self.segment_length == 0]

    def segment_path(self, segment: int) -> Path:
        return Path(self.directory) / segment_name(self.recording_id, segment)

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
    if len(data) < CATALOG_HEADER_LENGTH:
        raise ArchiveError(f"{file}: {len(data)} bytes are no catalog, expected {CATALOG_HEADER_LENGTH} at least")
    header = CatalogHeader.decode(data)
    major, expected = major_version(header.version), major_version(CATALOG_VERSION)
    if major != expected:
        raise ArchiveError(f"{file}: offset 0: version {major} of the catalog, expected {expected}")
    segments = _segments(directory)
    found: list[Recording] = []
    for place in entry_places(data, header):
        if place.problem is not None:
            report.note(Damage(os.fspath(file), place.offset, f"{place.problem}; entries behind it are not seen"))
            break
        entry = decode_entry(data, place.offset, place.end)
        values = {field.name: getattr(entry, field.name) for field in fields(RecordingEntry)}
        found.append(Recording(**values, directory=directory, segments=segments.get(entry.recording_id, ())))
    return found


def _segments(directory: str) -> dict[int, tuple[int, ...]]:
    """Return recording id -> where its segment files begin, ascending."""
    found: dict[int, list[int]] = {}
    for entry in Path(directory).iterdir():
        name = parse_segment_name(entry.name)
        if name is not None and not name.is_deleted:
            found.setdefault(name.recording_id, []).append(name.position)
    return {recording_id: tuple(sorted(positions)) for recording_id, positions in found.items()}
