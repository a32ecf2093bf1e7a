"""Truncation of a recording within a segment, and the record of the truncation that is under way.

    archive.catalog.truncation:  CRC-32 of the rest | id of the recording, its new stop position

The catalog is changed first, and then what follows is cleared in the segment where the recording ends: an Archive that dies between them,
or whose disk fails, leaves frames behind the stop position. The record is there until they are gone.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from aerowire.archive.files.finding import Finding
from aerowire.archive.files.sealed_record import read_record, write_record
from aerowire.archive.files.segments import clear_tail, cut_segment, is_zero_from, segment_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aerowire.archive.files.catalog import Catalog
    from aerowire.base.file_port import FilePort
    from aerowire.recordings.catalog_entry import RecordingEntry

RECORD_FILE_NAME = "archive.catalog.truncation"
_BODY = struct.Struct("<qq")


def cut_recording(catalog: Catalog, entry: RecordingEntry, position: int, *, is_synced: bool) -> None:
    """Let a stopped recording end at a position within a segment, and clear the segment behind it.

    Raises FileError: then the recording may end there, with something behind it until `finish_truncation`.
    """
    files, directory = catalog.files, catalog.directory
    finish_truncation(files, directory, catalog.entry)  # of one that has failed
    # BEFORE the catalog has it.
    write_record(files, directory / RECORD_FILE_NAME, _BODY.pack(entry.recording_id, position), is_synced=is_synced)
    catalog.set_stop_position(entry.recording_id, position)
    clear_tail(files, directory, entry, position, is_synced=is_synced)
    files.delete(directory / RECORD_FILE_NAME)  # one that a power failure brings back finds nothing to do


def finish_truncation(
    files: FilePort, directory: Path, entry_of: Callable[[int], RecordingEntry | None], *, is_dry: bool = False
) -> list[Finding]:
    """Finish the truncation that failed or whose Archive died, if the catalog has it; return what was removed.

    `entry_of` returns the entry of a recording in the catalog. A dry run changes nothing. Raises FileError.
    """
    path = directory / RECORD_FILE_NAME
    if not files.exists(path):
        return []
    findings: list[Finding] = []
    body = read_record(files, path, _BODY.size)
    if body is not None:  # else the truncation had not begun
        recording_id, position = _BODY.unpack(body)
        entry = entry_of(recording_id)
        if entry is not None and entry.damage is None and entry.stop_position == position:
            findings = _clear(files, directory, entry, is_dry=is_dry)
    if not is_dry:
        files.delete(path)
    return findings


def _clear(files: FilePort, directory: Path, entry: RecordingEntry, *, is_dry: bool) -> list[Finding]:
    """Let the segment where a recording ends go on with zeros, at its full length, on the disk."""
    base = entry.segment_of(entry.stop_position)
    path, offset = segment_path(directory, entry.recording_id, base), entry.stop_position - base
    facts = files.facts(path) if offset else None
    if facts is None or facts.length < offset:
        return []
    with files.open(path, writable=not is_dry) as file:
        is_clean = is_zero_from(file, offset)
        if not is_dry:
            cut_segment(file, offset, entry.segment_length)  # again: a sync that has failed may have left it in memory alone
            file.sync()
    if is_clean:
        return []
    text = f"frames are behind the stop position {entry.stop_position}, of a truncation that was interrupted; removed"
    return [Finding(str(path), offset, text, entry.recording_id)]
