"""Segment files that lie behind the end of their recording: set aside where they hold anything, deleted where they do not.

A file that is set aside keeps its bytes under the name of those that are to be deleted, and is reported. Where the recording ends on a
segment end, an empty file of full length that begins there stays: the official archive makes one, and its `verify` asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.files.finding import Finding
from aerowire.archive.files.segments import is_zero_from, segment_path
from aerowire.recordings.segment_names import deleted_segment_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from aerowire.base.file_port import FilePort
    from aerowire.recordings.catalog_entry import RecordingEntry


def give_up_behind(
    files: FilePort,
    directory: Path,
    entry: RecordingEntry,
    end: int,
    positions: Iterable[int],
    *,
    reason: str | None = None,
    is_dry: bool = False,
) -> list[Finding]:
    """Give up the segment files of a recording that begin at its end or behind it, and return what was set aside.

    `positions` are those at which its files begin; one that begins before the end is left alone. `reason` says why the recording ends
    there. A dry run changes nothing. Raises FileError.
    """
    findings = []
    for position in positions:
        if position < end:
            continue
        path = segment_path(directory, entry.recording_id, position)
        with files.open(path) as file:
            is_empty, is_full_length = is_zero_from(file, 0), file.length() == entry.segment_length
        if not is_empty:
            why = reason or f"the recording ends at position {end}"
            findings.append(give_up(files, directory, entry.recording_id, position, why, is_dry=is_dry))
        elif not is_dry and not (position == end and is_full_length):
            files.delete(path)
    return findings


def give_up(files: FilePort, directory: Path, recording_id: int, position: int, reason: str, *, is_dry: bool = False) -> Finding:
    """Set a segment file aside unless `is_dry`, and say so. Raises FileError."""
    path, name = segment_path(directory, recording_id, position), deleted_segment_name(recording_id, position)
    replaced = ", in the place of one that was given up before" if files.exists(directory / name) else ""
    if not is_dry:
        files.rename(path, directory / name)
    return Finding(str(path), 0, f"{reason}: the file is given up, as {name}{replaced}", recording_id)


def segments_behind(files: FilePort, directory: Path, entry: RecordingEntry, end: int) -> Iterable[int]:
    """Yield where the segment files begin that follow the end of a recording one after the other."""
    position = entry.segment_of(end)
    if position < end:
        position += entry.segment_length
    while files.exists(segment_path(directory, entry.recording_id, position)):
        yield position
        position += entry.segment_length
