"""What removes files and entries that are not needed any more: compaction of the catalog, deletion of orphaned segments, and checksums.

Aeron: ArchiveTool.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.files.segments import Progress, list_segments, seal_segment, segment_path
from aerowire.archive.files.update_record import record_path
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_layout import CATALOG_HEADER_LENGTH, ENTRY_HEADER_LENGTH

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.archive.files.checksum import Checksum
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.recordings.catalog_entry import RecordingEntry

COMPACT_SUFFIX = ".compact"


class Compaction(NamedTuple):
    """What a compaction removes, or would remove."""

    entries: list[RecordingEntry]
    files: list[Path]
    length: int  # bytes of the entries


def plan_compaction(catalog: OfflineCatalog) -> Compaction:
    """Return the entries that are not valid, with their segment files. Raises FileError."""
    removed = [one for one in catalog.entries if one.recording_state is not RecordingState.VALID]
    segments = list_segments(catalog.files, catalog.directory)
    kept_ids = {one.recording_id for one in catalog.entries} - {one.recording_id for one in removed}
    files = [
        segment_path(catalog.directory, one.recording_id, position)
        for one in removed
        if one.recording_id not in kept_ids
        for position in segments.get(one.recording_id, [])
    ]
    return Compaction(removed, files, sum(ENTRY_HEADER_LENGTH + one.entry_length for one in removed))


def compact(catalog: OfflineCatalog, compaction: Compaction) -> None:
    """Delete the files of a compaction, and let a catalog without its entries take the place of the old one.

    Files go BEFORE their entries, by which another compaction would find them. Raises FileError.
    """
    gone = {one.catalog_offset for one in compaction.entries}
    header = replace(catalog.header, length=CATALOG_HEADER_LENGTH).encode()
    content = header + b"".join(catalog.entry_bytes(one) for one in catalog.entries if one.catalog_offset not in gone)
    compacted = catalog.path.with_name(catalog.path.name + COMPACT_SUFFIX)
    try:
        with catalog.files.open(compacted, writable=True, create=True) as file:
            file.truncate(0)
            file.write_all(0, content)
            file.sync()
        for path in compaction.files:
            catalog.files.delete(path)
        catalog.files.delete(record_path(catalog.path))  # of an Archive that died: offsets move
        catalog.files.rename(compacted, catalog.path)
    except FileError:
        catalog.files.delete(compacted)
        raise
    catalog.files.sync_directory(catalog.directory)


def orphaned_segments(catalog: OfflineCatalog, recording_id: int | None = None) -> list[Path]:
    """Return segment files that lie before the start or behind the end of their recording, of all recordings or of one.

    Raises ArchiveFileError where that is not there, FileError.
    """
    segments = list_segments(catalog.files, catalog.directory)
    chosen = catalog.entries if recording_id is None else [catalog.entry(recording_id)]
    found = []
    for entry in chosen:
        if entry.damage is not None:
            continue
        last = None if entry.is_active else entry.segment_of(entry.stop_position)
        for position in segments.get(entry.recording_id, []):
            if position < entry.base_position or (last is not None and position > last):
                found.append(segment_path(catalog.directory, entry.recording_id, position))
    return found


def write_checksums(
    catalog: OfflineCatalog, entry: RecordingEntry, checksum: Checksum, *, all_segments: bool, progress: Progress | None = None
) -> str | None:
    """Write the checksum of an entry, and those of its frames, into the catalog and the last segment file or all of them.

    Return what kept a file from being sealed up to its end, None if nothing did. Raises FileError.
    """
    catalog.set_checksum(entry, catalog.checksum_of(entry, checksum))
    segments = list_segments(catalog.files, catalog.directory).get(entry.recording_id, [])
    for segment in segments if all_segments else segments[-1:]:
        path = segment_path(catalog.directory, entry.recording_id, segment)
        with catalog.files.open(path, writable=True) as file:
            problem = seal_segment(file, entry, segment, checksum, progress)
            file.sync()
        if problem is not None:
            return f"{path}: {problem}"
    return None
