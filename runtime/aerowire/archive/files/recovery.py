"""The recovery of recordings that were active when their Archive died: their stop positions are found in their segment files.

What cannot be a part of the recording is removed and reported: a frame that was written in part, bytes behind a gap, files behind it. So
an extension of the recording finds nothing but zeros behind its end. Aeron: Catalog, whose Archive refuses to start where a frame may be
torn, and looks at no checksum but that of a last frame with an empty page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.files.finding import Finding
from aerowire.archive.files.frame_walk import CHECKSUM
from aerowire.archive.files.sealed_frames import SealedFrames
from aerowire.archive.files.segments import cut_segment, is_zero_from, list_segments, segment_path
from aerowire.archive.files.surplus_segments import give_up, give_up_behind
from aerowire.archive.files.truncation import finish_truncation

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.archive.files.catalog import Catalog
    from aerowire.archive.files.checksum import Checksum
    from aerowire.base.file_port import FilePort, OpenFile
    from aerowire.recordings.catalog_entry import RecordingEntry

# Bytes before the end that are written again: more than an archive writes between two syncs.
_REWRITTEN_LENGTH = 16 << 20
_PIECE_LENGTH = 1 << 20
# Bytes before the last segment in which a gap is looked for: more than a system leaves unwritten for long, and read in a blink.
_CHECKED_LENGTH = 128 << 20


def recover_recordings(
    catalog: Catalog, now_ms: int, checksum: Checksum | None = None, *, dry_directory: Path | None = None
) -> list[Finding]:
    """Find the stop positions of all recordings that have none, and write them to the catalog; return what had to be removed.

    A truncation that did not come to its end is finished, and files behind the stop position of a recording are given up; so are those of
    recordings that a catalog without its end has forgotten, and whose ids it will give out again.

    `checksum` is the algorithm of recorded frames, which shows the frames that were written in part. With a `dry_directory` its segment
    files are only read, for a catalog that is a copy of that directory's. Raises FileError.
    """
    is_dry = dry_directory is not None
    directory = catalog.directory if dry_directory is None else dry_directory
    segments = list_segments(catalog.files, directory)
    findings = finish_truncation(catalog.files, directory, catalog.entry, is_dry=is_dry)
    for recording_id, positions in segments.items():
        is_behind = catalog.has_recording(recording_id) and 0 <= catalog.stop_position(recording_id) <= positions[-1]
        if is_behind and (stopped := catalog.entry(recording_id)) is not None:
            findings += give_up_behind(catalog.files, directory, stopped, stopped.stop_position, positions, is_dry=is_dry)
        elif recording_id >= catalog.next_recording_id:
            reason = "the catalog has no such recording yet"
            findings += [give_up(catalog.files, directory, recording_id, position, reason, is_dry=is_dry) for position in positions]
    for recording_id in catalog.active:
        entry = catalog.entry(recording_id)
        if entry is not None and entry.is_active:
            recovery = _Recovery(catalog.files, directory, entry, checksum, is_dry=is_dry)
            position = recovery.recover([one for one in segments.get(recording_id, ()) if one >= entry.base_position])
            if not is_dry:
                catalog.files.sync_directory(directory)
            findings += recovery.findings
            catalog.recording_stopped(recording_id, position, now_ms)
    return findings


class _Recovery:
    """The recovery of one recording."""

    def __init__(self, files: FilePort, directory: Path, entry: RecordingEntry, checksum: Checksum | None, *, is_dry: bool) -> None:
        self.findings: list[Finding] = []
        self._files = files
        self._directory = directory
        self._entry = entry
        self._is_dry = is_dry
        self._frames = SealedFrames(entry, checksum)

    def recover(self, segments: list[int]) -> int:
        """Return the stop position, behind which nothing is left. `segments` ascend."""
        entry = self._entry
        if not segments:
            return entry.start_position
        first = self._first_to_check(segments)
        expected = segments[first]
        end = max(entry.start_position, expected)  # files before the first that is checked are whole
        for number in range(first, len(segments)):
            segment = segments[number]
            if segment != expected:
                self._give_up(segments[number:], end, f"no file begins at position {expected}")
                return end
            found = self._end_in(segment)
            if found == segment > segments[0]:
                self._give_up(segments[number:], end, f"the frames end at position {end}")
                return end
            end = max(end, found)
            expected = segment + entry.segment_length
            if end < expected:
                self._give_up(segments[number + 1 :], end, f"the frames end at position {end}")
                return end
        return end

    def _first_to_check(self, segments: list[int]) -> int:
        """Return the index of the first segment whose frames are followed: those before are complete, or were synced long ago."""
        count = 1 + max(1, _CHECKED_LENGTH // self._entry.segment_length)
        return max(0, len(segments) - count)

    def _end_in(self, segment: int) -> int:
        """Return where the frames of a segment end, and remove what is behind in its file."""
        path = segment_path(self._directory, self._entry.recording_id, segment)
        with self._files.open(path, writable=not self._is_dry) as file:
            found = self._frames.end(file, segment)
            end, reason = found.offset, "bytes behind a gap that are no frames"
            if found.reason == CHECKSUM:
                reason = "a frame that does not have its checksum, and lacks a part"
            elif found.is_torn:
                end, reason = found.last_offset, "the last frame, of which pages are empty"
            limit = self._entry.segment_length
            is_cut = end < limit and (found.is_torn or not is_zero_from(file, end))
            if is_cut:
                self._report(str(path), end, f"{reason}: removed up to the end of the segment")
            if self._is_dry:
                return segment + end
            if is_cut:
                cut_segment(file, end, limit)
            elif found.file_length < limit:
                file.truncate(limit)  # its archive died before it had its full length, without which the file is taken for damaged
            _make_durable(file, end)  # BEFORE the catalog says so: what a killed process wrote may not be on the disk yet
        return segment + end

    def _give_up(self, segments: list[int], end: int, reason: str) -> None:
        """Give up files that lie behind the end of the recording."""
        self.findings += give_up_behind(self._files, self._directory, self._entry, end, segments, reason=reason, is_dry=self._is_dry)

    def _report(self, path: str, offset: int, text: str) -> None:
        self.findings.append(Finding(path, offset, text, self._entry.recording_id))


def _make_durable(file: OpenFile, end: int) -> None:
    """Write the last bytes before an end again, and sync. After a sync that failed a system takes what it did not write for written."""
    for offset in range(max(0, end - _REWRITTEN_LENGTH), end, _PIECE_LENGTH):
        file.write_all(offset, file.read(offset, min(_PIECE_LENGTH, end - offset)))
    file.sync()
