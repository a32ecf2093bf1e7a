"""The check of recordings against their files, with the corrections that the official tool makes. Aeron: ArchiveTool.

A faulty recording is marked as invalid; one that was invalid and is sound becomes valid again; a stop position that is not known, or is
not where the frames end, is corrected. A dry run changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.archive.files.segments import Progress, check_segment, cut_segment, frames_end, list_segments, segment_path
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.recordings.geometry import is_frame_aligned

if TYPE_CHECKING:
    from aerowire.archive.files.checksum import Checksum
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.recordings.catalog_entry import RecordingEntry


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found of one recording, and what was done, or would be by another run than a dry one.

    `problem` says what is wrong with it, and `file` in which segment file; None if nothing is. `skipped` names the state of one that was
    not looked at. `torn_file` is the file whose last frame may be written in part; the stop position is before it if it `is_cut`.
    """

    recording_id: int
    problem: str | None = None
    file: str | None = None
    skipped: str | None = None
    stop_position: int | None = None
    torn_file: str | None = None
    is_cut: bool = False
    state: RecordingState | None = None  # the new one, None for no change


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How recordings are checked.

    `all_segments` checks every file of a recording, not the last one alone; `checksum` also compares checksums; `cuts_torn` removes a last
    frame that may be written in part. `now_ms` is the time at which a recording without a stop timestamp has ended.
    """

    all_segments: bool = False
    checksum: Checksum | None = None
    cuts_torn: bool = False
    is_dry: bool = False
    now_ms: int

    def verify(self, catalog: OfflineCatalog, recording_id: int | None = None, progress: Progress | None = None) -> Iterator[Verdict]:
        """Check all recordings of a catalog, or one; yield what was found. Raises ArchiveFileError for one that is not there, FileError."""
        segments = list_segments(catalog.files, catalog.directory)
        chosen = catalog.entries if recording_id is None else [catalog.entry(recording_id)]
        for entry in chosen:
            if entry.recording_state is RecordingState.DELETED:
                yield Verdict(entry.recording_id, skipped=entry.recording_state.name)
                continue
            verdict = self._check(catalog, entry, segments.get(entry.recording_id, []), progress)
            if not self.is_dry:
                self._correct(catalog, entry, verdict)
            yield verdict

    def _check(self, catalog: OfflineCatalog, entry: RecordingEntry, segments: list[int], progress: Progress | None) -> Verdict:
        problem = _impossible_positions(entry) or entry.damage
        if problem is None and segments:
            end = segments[-1] + entry.segment_file_length
            # A recording that ends where a segment does has no file behind it: to the official tool it is a faulty one.
            if entry.start_position > end or entry.stop_position > end:
                problem = (
                    f"Invariant violation: startPosition={entry.start_position} and/or stopPosition={entry.stop_position} "
                    f"exceed max segment file position={end - 1}"
                )
        if problem is not None:
            return _faulty(entry, problem)
        try:
            return self._check_files(catalog, entry, segments, progress)
        except FileError as error:
            return _faulty(entry, str(error))

    def _check_files(self, catalog: OfflineCatalog, entry: RecordingEntry, segments: list[int], progress: Progress | None) -> Verdict:
        position, torn_file, is_cut = entry.start_position, None, False
        cut_at: int | None = None  # in the last segment
        if segments:
            path = segment_path(catalog.directory, entry.recording_id, segments[-1])
            with catalog.files.open(path, writable=self.cuts_torn and not self.is_dry) as file:
                end = frames_end(file, entry, segments[-1], self.checksum)
                if end.is_torn:
                    torn_file, is_cut = str(path), self.cuts_torn
                    cut_at = end.last_offset if is_cut else None
                    if is_cut and not self.is_dry:
                        cut_segment(file, end.last_offset, entry.segment_file_length)
            position = max(position, segments[-1] + (end.last_offset if is_cut else end.offset))
        if self.checksum is not None:
            expected = catalog.checksum_of(entry, self.checksum)
            if expected != entry.checksum:
                return _faulty(entry, f"invalid Catalog checksum: expected={expected}, actual={entry.checksum}", torn_file, is_cut=is_cut)
        for segment in segments if self.all_segments else segments[-1:]:
            path = segment_path(catalog.directory, entry.recording_id, segment)
            with catalog.files.open(path) as file:
                ends_at = cut_at if segment == segments[-1] else None
                problem = check_segment(file, entry, segment, self.checksum, progress, cut_at=ends_at)
            if problem is not None:
                return _faulty(entry, problem, torn_file, str(path), is_cut=is_cut)
        is_back = entry.recording_state is RecordingState.INVALID and bool(segments)
        return Verdict(
            entry.recording_id,
            stop_position=position if position != entry.stop_position else None,
            torn_file=torn_file,
            is_cut=is_cut,
            state=RecordingState.VALID if is_back else None,
        )

    def _correct(self, catalog: OfflineCatalog, entry: RecordingEntry, verdict: Verdict) -> None:
        if verdict.stop_position is not None:
            catalog.set_stop(entry, verdict.stop_position, self.now_ms)
        if verdict.state is not None:
            catalog.set_state(entry, verdict.state)


def _faulty(entry: RecordingEntry, problem: str, torn_file: str | None = None, file: str | None = None, *, is_cut: bool = False) -> Verdict:
    state = RecordingState.INVALID if entry.recording_state is not RecordingState.INVALID else None
    return Verdict(entry.recording_id, problem=problem, file=file, torn_file=torn_file, is_cut=is_cut, state=state)


def _impossible_positions(entry: RecordingEntry) -> str | None:
    """Return what is wrong with the positions of an entry, in the words of the official tool."""
    start, stop = entry.start_position, entry.stop_position
    if start < 0:
        return f"Negative startPosition={start}"
    if not is_frame_aligned(start):
        return f"Non-aligned startPosition={start}"
    if stop != NULL_POSITION and stop < start:
        return f"Invariant violation stopPosition={stop} is before startPosition={start}"
    if stop != NULL_POSITION and not is_frame_aligned(stop):
        return f"Non-aligned stopPosition={stop}"
    return None
