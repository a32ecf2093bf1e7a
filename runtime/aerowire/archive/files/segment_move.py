"""The record of segment files that are being moved from one recording to another.

    archive.catalog.move:  CRC-32 of the rest | id of the source, of the destination, first segment, its length, start, end

The files are renamed one by one, and then both entries of the catalog are changed: a process that dies in the midst of it leaves segments
where no recording looks for them. The next one completes the move if the destination's entry has it, and takes it back if not.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.files.finding import Finding
from aerowire.archive.files.sealed_record import read_record, write_record
from aerowire.archive.files.segments import segment_path
from aerowire.base.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aerowire.archive.files.catalog import Catalog
    from aerowire.base.file_port import FilePort

RECORD_FILE_NAME = "archive.catalog.move"
_BODY = struct.Struct("<qqqqqq")


class SegmentMove(NamedTuple):
    """What recording `source_id` has from `start` to `end`, which `target_id` is to have; `segment` is where the first file begins."""

    source_id: int
    target_id: int
    segment: int
    segment_length: int
    start: int
    end: int

    def positions(self) -> range:
        """Return where the segments begin."""
        return range(self.segment, self.end, self.segment_length)


def move_segments(catalog: Catalog, move: SegmentMove) -> None:
    """Move the segments of a recording, and let the entries of both say so; nothing has changed if the destination cannot have them.

    Raises FileError: then `recover_move` has to come before anything else is moved.
    """
    record_move(catalog.files, catalog.directory, move)
    try:
        _rename_segments(catalog, move)
        # The destination BEFORE the source: of a crash between them, the catalog shows the segments twice and loses none.
        if move.end == catalog.start_position(move.target_id):
            catalog.set_start_position(move.target_id, move.start)
        else:
            catalog.set_stop_position(move.target_id, move.end)
    except FileError:
        _take_back(catalog, move)
        raise
    catalog.set_stop_position(move.source_id, move.start, is_kept=True)  # so that no other segments follow those that have gone
    _forget(catalog)


def record_move(files: FilePort, directory: Path, move: SegmentMove) -> None:
    """Record a move BEFORE it begins, and sync the record. Raises FileError."""
    write_record(files, directory / RECORD_FILE_NAME, _BODY.pack(*move), is_synced=True)


def recover_move(catalog: Catalog) -> list[Finding]:
    """Complete the move that failed or whose archive died, or take it back; return what was done. Raises FileError."""
    path = catalog.directory / RECORD_FILE_NAME
    if not catalog.files.exists(path):
        return []
    move = _read(catalog.files, path)
    if move is None:  # not all of it: it has not begun
        _forget(catalog)
        return []
    source, target = catalog.entry(move.source_id), catalog.entry(move.target_id)
    # The destination has at least a part of what was moved: the rest may have been purged or cut off since.
    is_moved = target is not None and target.start_position < move.end and (target.is_active or move.start < target.stop_position)
    if is_moved:
        if source is not None and source.stop_position == move.end:  # else it is empty, or what it has was recorded since
            _rename_segments(catalog, move)
            catalog.set_stop_position(move.source_id, source.start_position)
        _forget(catalog)
    else:
        _take_back(catalog, move)
    text = f"its segments were being moved to recording {move.target_id}; {'completed' if is_moved else 'taken back'}"
    return [Finding(str(path), 0, text, move.source_id)]


def _rename_segments(catalog: Catalog, move: SegmentMove) -> None:
    """Give the segments the names of the destination, those that do not have them yet, and sync the directory."""
    _rename(catalog, ((move.source_id, move.target_id, position) for position in move.positions()))


def _take_back(catalog: Catalog, move: SegmentMove) -> None:
    """Give the segments the names of the source again, and forget the move."""
    _rename(catalog, ((move.target_id, move.source_id, position) for position in move.positions()))
    _forget(catalog)


def _forget(catalog: Catalog) -> None:
    """Remove the record: no move is under way.

    After the catalog is on the disk, whatever its level: without the record both have to agree. And so that no power failure brings the
    record back: it would undo a move of segments that have been purged or cut off since, and take what is left of them away.
    """
    catalog.sync()
    catalog.files.delete(catalog.directory / RECORD_FILE_NAME)
    catalog.files.sync_directory(catalog.directory)


def _rename(catalog: Catalog, segments: Iterable[tuple[int, int, int]]) -> None:
    """Give segments of one recording, each at a position, to another, and sync the directory."""
    files, directory = catalog.files, catalog.directory
    for recording_id, new_id, position in segments:
        path, renamed = segment_path(directory, recording_id, position), segment_path(directory, new_id, position)
        if files.exists(path) and not files.exists(renamed):
            files.rename(path, renamed)
    files.sync_directory(directory)


def _read(files: FilePort, path: Path) -> SegmentMove | None:
    """Return the move that was recorded, or None if its record is not whole."""
    body = read_record(files, path, _BODY.size)
    if body is None:
        return None
    move = SegmentMove(*_BODY.unpack(body))
    return move if move.segment_length > 0 and 0 <= move.segment <= move.start <= move.end else None
