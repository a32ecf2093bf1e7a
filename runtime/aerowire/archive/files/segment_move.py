"""The record of segment files that are being moved from one recording to another.

    archive.catalog.move:  CRC-32 of the rest | id of the source, of the destination, first segment, its length, start, end

The files are renamed one by one, and then both entries of the catalog are changed: a process that dies in the midst of it leaves segments
where no recording looks for them. The next one completes the move if the destination's entry has it, and takes it back if not.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.files.finding import Finding
from aerowire.archive.files.segments import segment_path
from aerowire.base.errors import MissingFileError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aerowire.archive.files.catalog import Catalog
    from aerowire.base.file_port import FilePort

RECORD_FILE_NAME = "archive.catalog.move"
_BODY = struct.Struct("<qqqqqq")
_CRC_LENGTH = 4


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


def record_move(files: FilePort, directory: Path, move: SegmentMove) -> None:
    """Record a move BEFORE it begins, and sync the record. Raises FileError."""
    body = _BODY.pack(*move)
    with files.open(directory / RECORD_FILE_NAME, writable=True, create=True) as file:
        file.write_all(0, zlib.crc32(body).to_bytes(_CRC_LENGTH, "little") + body)
        file.sync()
    files.sync_directory(directory)


def rename_segments(files: FilePort, directory: Path, move: SegmentMove) -> None:
    """Give the segments the names of the destination, those that do not have them yet, and sync the directory. Raises FileError."""
    _rename(files, ((segment_path(directory, move.source_id, at), segment_path(directory, move.target_id, at)) for at in move.positions()))
    files.sync_directory(directory)


def take_back(files: FilePort, directory: Path, move: SegmentMove) -> None:
    """Give the segments the names of the source again, and forget the move. Raises FileError."""
    _rename(files, ((segment_path(directory, move.target_id, at), segment_path(directory, move.source_id, at)) for at in move.positions()))
    files.sync_directory(directory)
    forget_move(files, directory)


def forget_move(files: FilePort, directory: Path) -> None:
    """Remove the record: no move is under way. Raises FileError."""
    files.delete(directory / RECORD_FILE_NAME)


def recover_move(catalog: Catalog) -> list[Finding]:
    """Complete the move that was under way when the last owner died, or take it back; return what was done. Raises FileError."""
    files, directory = catalog.files, catalog.directory
    move = _read(files, directory)
    if move is None:
        forget_move(files, directory)
        return []
    source, target = catalog.entry(move.source_id), catalog.entry(move.target_id)
    is_moved = target is not None and target.start_position <= move.start and (target.is_active or move.end <= target.stop_position)
    if is_moved:
        rename_segments(files, directory, move)
        if source is not None and source.stop_position != source.start_position:
            catalog.set_stop_position(move.source_id, source.start_position)
        forget_move(files, directory)
    else:
        take_back(files, directory, move)
    text = f"its segments were being moved to recording {move.target_id}; {'completed' if is_moved else 'taken back'}"
    return [Finding(str(directory / RECORD_FILE_NAME), 0, text, move.source_id)]


def _rename(files: FilePort, names: Iterable[tuple[Path, Path]]) -> None:
    for path, renamed in names:
        if files.exists(path) and not files.exists(renamed):
            files.rename(path, renamed)


def _read(files: FilePort, directory: Path) -> SegmentMove | None:
    """Return the move that was recorded; None where there is none, or not all of it, so that it has not begun."""
    try:
        with files.open(directory / RECORD_FILE_NAME) as file:
            data = file.read(0, _CRC_LENGTH + _BODY.size)
    except MissingFileError:
        return None
    if len(data) < _CRC_LENGTH + _BODY.size or int.from_bytes(data[:_CRC_LENGTH], "little") != zlib.crc32(data[_CRC_LENGTH:]):
        return None
    move = SegmentMove(*_BODY.unpack_from(data, _CRC_LENGTH))
    return move if move.segment_length > 0 and 0 <= move.segment <= move.start <= move.end else None
