"""The repair of the directory of an Archive that does not run: all that an Archive does as it starts, and what it leaves.

An Archive that starts completes the catalog and finds where unfinished recordings end. A repair also compares recordings with their segment
files, and sets a stale mark file right. Recordings are shortened to what can be replayed, and lose a torn end; files behind their new end
get the name of those that are to be deleted, and files that belong to none are named. A dry run goes the same way, with a copy of the
catalog.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.finding import Finding
from aerowire.archive.files.frame_walk import CHECKSUM
from aerowire.archive.files.mark_header import mark_path
from aerowire.archive.files.mark_life import check_unused
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.recovery import recover_recordings
from aerowire.archive.files.sealed_frames import SealedFrames
from aerowire.archive.files.segments import cut_segment, frames_end, is_zero_from, list_segments, segment_path
from aerowire.archive.files.surplus_segments import give_up_behind
from aerowire.archive.files.unlocking import unlock
from aerowire.archive.files.update_record import UPDATE_SUFFIX
from aerowire.base.errors import ArchiveFileError, MissingFileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME
from aerowire.recordings.segment_names import parse_segment_name

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.archive.files.checksum import Checksum
    from aerowire.archive.files.segments import Progress
    from aerowire.base.file_port import FilePort
    from aerowire.recordings.catalog_entry import RecordingEntry
    from aerowire.system.ports import Ports

DAMAGED_SUFFIX = ".damaged"
_SYNC_LEVEL = 2
_COPY_PIECE_LENGTH = 1 << 20


@dataclass(frozen=True, slots=True)
class Repair:
    """What was found wrong, and is repaired unless it `is_left`. `lost_length` counts the bytes of a recording that cannot be replayed."""

    finding: Finding
    lost_length: int = 0
    is_left: bool = False


def repair_archive(directory: Path, ports: Ports, *, scratch: Path | None = None, progress: Progress | None = None) -> list[Repair]:
    """Repair a directory, and return what was wrong. With a `scratch` directory a copy of the catalog is repaired there, and nothing else.

    Raises ActiveArchiveError where its Archive lives, MissingFileError where there is no catalog, ArchiveFileError for what cannot be
    repaired, FileError.
    """
    with OfflineCatalog(ports.files, directory) as before:
        checksum = next((found for one in before.entries if one.checksum and (found := before.checksum_in(one))), None)
        capacity = before.capacity
    repairs = [Repair(one) for one in _repair_mark_file(directory, ports, is_dry=scratch is not None)]
    if scratch is not None:
        _copy_catalog(ports.files, directory, scratch)
    repairs += _Repairing(directory, ports, checksum, progress, scratch).run(capacity)
    return repairs


class _Repairing:
    """The repair of catalog and segment files. Invariant: with a `scratch` directory only files in that are written."""

    def __init__(self, directory: Path, ports: Ports, checksum: Checksum | None, progress: Progress | None, scratch: Path | None) -> None:
        self._directory = directory
        self._files = ports.files
        self._now_ms = ports.clock.now_ms()
        self._checksum = checksum
        self._progress = progress
        self._scratch = scratch
        self._found: list[Repair] = []
        self._names = sorted(ports.files.names(directory))
        self._ended: set[int] = set()  # recordings that got another end
        self._removed: set[str] = set()  # paths of files that recovery has shortened or given up

    def run(self, capacity: int) -> list[Repair]:
        """Repair, and return what was wrong."""
        place = self._directory if self._scratch is None else self._scratch
        catalog = Catalog.open(place, self._files, capacity=capacity, sync_level=_SYNC_LEVEL, checksum=self._checksum)
        try:
            path = str(self._directory / CATALOG_FILE_NAME)
            self._found += [Repair(replace(one, path=path)) for one in catalog.findings]
            unfinished = set(catalog.active)
            dry_directory = None if self._scratch is None else self._directory
            removed = recover_recordings(catalog, self._now_ms, self._checksum, dry_directory=dry_directory)
            segments = list_segments(self._files, self._directory)
            for entry in catalog.entries():
                if entry.recording_id in unfinished:
                    self._ended.add(entry.recording_id)
                    text = f"the recording has not stopped; its frames end at position {entry.stop_position}, where it stops now"
                    self._report(entry, text, path=path, offset=entry.catalog_offset)
                self._compare(catalog, entry, segments.get(entry.recording_id, []))
            self._found += [Repair(one) for one in removed]
            self._removed = {one.path for one in removed}
        finally:
            catalog.close()
        self._name_orphans(place)
        return self._found

    def _compare(self, catalog: Catalog, entry: RecordingEntry, segments: list[int]) -> None:
        """Compare a recording with its files, and shorten it to the part that can be replayed."""
        needed = entry.needed_segments()
        if not needed:
            return
        present = [one for one in segments if one in needed]
        if not present:
            lost = entry.stop_position - entry.start_position
            self._report(entry, f"no segment file is left of {lost} bytes; marked as invalid", lost)
            catalog.change_state(entry.recording_id, RecordingState.INVALID)
            return
        first = present[0]
        if first > entry.start_position:
            lost = first - entry.start_position
            self._report(entry, f"the files before position {first} are missing; it begins there, {lost} bytes are lost", lost)
            catalog.set_start_position(entry.recording_id, first)
            entry = replace(entry, start_position=first)
        is_followed = entry.recording_id in self._ended  # by recovery, to its end
        needed, found = needed[needed.index(first) :], set(present)
        gap = next((number for number, one in enumerate(needed) if one not in found), None)
        if gap is not None:
            self._end(catalog, entry, needed[gap], needed[gap], "the file is missing")
            entry, is_followed = replace(entry, stop_position=needed[gap]), False
            self._give_up(catalog, entry, [one for one in segments if one > needed[gap]])
        for segment in needed[:gap]:
            if not self._goes_on(catalog, entry, segment, is_followed=is_followed):
                self._give_up(catalog, entry, [one for one in present if segment < one < entry.stop_position])
                return

    def _give_up(self, catalog: Catalog, entry: RecordingEntry, behind: list[int]) -> None:
        """Give up files behind the new end of a recording."""
        end = catalog.stop_position(entry.recording_id)
        given_up = give_up_behind(self._files, self._directory, entry, end, behind, is_dry=self._scratch is not None)
        self._found += [Repair(one) for one in given_up]

    def _goes_on(self, catalog: Catalog, entry: RecordingEntry, segment: int, *, is_followed: bool) -> bool:
        """Return whether a recording is whole up to the end of a segment; end it where it is not."""
        path = segment_path(self._directory, entry.recording_id, segment)
        facts = self._files.facts(path)
        end = min(segment + entry.segment_length, entry.stop_position)
        is_last = end == entry.stop_position
        if facts is not None and facts.length >= entry.segment_length and not is_last:
            return True  # its frames are for `verify -a` to follow
        if is_last and is_followed:
            return True
        with self._files.open(path, writable=self._scratch is None) as file:
            found = SealedFrames(entry, self._checksum).end(file, segment, self._progress)
            is_damaged = found.reason == CHECKSUM and segment + found.offset < end
            if is_damaged:
                text = "the frame does not have its checksum, and lacks a part; get the recording from a copy, or truncate it"
                self._found.append(Repair(Finding(str(path), found.offset, text, entry.recording_id), is_left=True))
                found = frames_end(file, entry, segment, self._checksum)  # passes it: frames behind it may be sound
            position = segment + found.offset
            if position > end or (position == end and found.reason == CHECKSUM):
                text = f"frames are behind the stop position {end}, as of a truncation that was interrupted; removed"
                self._found.append(Repair(Finding(str(path), end - segment, text, entry.recording_id)))
                if self._scratch is None:
                    cut_segment(file, end - segment, entry.segment_length)
                    file.sync()
            elif found.is_torn and not is_damaged:
                text = "pages of the last frame are empty: it may be written in part; `archive verify --truncate` removes it"
                self._found.append(Repair(Finding(str(path), found.last_offset, text, entry.recording_id), is_left=True))
            is_cut = found.file_length < end - segment
            if position < end and not is_cut and not is_zero_from(file, found.offset):
                text = (
                    f"no frame can be read at position {position}, but bytes are behind it; get the recording from a copy, or truncate it"
                )
                self._found.append(Repair(Finding(str(path), found.offset, text, entry.recording_id), is_left=True))
                return True
            if position < end and self._scratch is None:
                cut_segment(file, max(position, entry.start_position) - segment, entry.segment_length)  # of a frame that is there in part
                file.sync()
        if position < end:
            self._end(catalog, entry, max(position, entry.start_position), segment, "the frames end")
        return position >= end

    def _end(self, catalog: Catalog, entry: RecordingEntry, position: int, segment: int, what: str) -> None:
        """Let a recording end at a position."""
        self._ended.add(entry.recording_id)
        lost = entry.stop_position - position
        path = segment_path(self._directory, entry.recording_id, segment)
        text = f"{what}; the recording ends at position {position} instead of {entry.stop_position}, {lost} bytes are lost"
        self._report(entry, text, lost, path=str(path), offset=max(position - segment, 0))
        catalog.set_stop_position(entry.recording_id, position)

    def _name_orphans(self, place: Path) -> None:
        """Name the segment files that no recording covers."""
        with OfflineCatalog(self._files, place) as catalog:
            entries = {one.recording_id: one for one in catalog.entries}
        for name in self._names:
            parsed = parse_segment_name(name)
            if parsed is None or str(self._directory / name) in self._removed:
                continue
            entry = entries.get(parsed.recording_id)
            if entry is not None and parsed.recording_id in self._ended and parsed.position > entry.start_position:
                continue  # what is behind its end was told of
            reason = _reason_without_recording(entry, parsed.position, is_deleted=parsed.is_deleted)
            if reason is not None:
                self._found.append(Repair(Finding(str(self._directory / name), 0, reason, parsed.recording_id), is_left=True))

    def _report(
        self, entry: RecordingEntry, text: str, lost_length: int = 0, *, path: str | None = None, offset: int | None = None
    ) -> None:
        where = str(self._directory / CATALOG_FILE_NAME) if path is None else path
        self._found.append(
            Repair(Finding(where, entry.catalog_offset if offset is None else offset, text, entry.recording_id), lost_length)
        )


def _reason_without_recording(entry: RecordingEntry | None, position: int, *, is_deleted: bool) -> str | None:
    """Return why a segment file belongs to no recording; None for one that does."""
    if is_deleted:
        return "the file was given up or is left from a deletion; delete it when it is not needed"
    if entry is None:
        return "the file belongs to no recording of the catalog; delete it, or put the catalog back that knows it"
    if not entry.is_valid:
        return "the file belongs to a recording that is not valid; `archive compact` deletes it"
    if entry.stop_position >= 0 and (position < entry.segment_of(entry.start_position) or position > entry.segment_of(entry.stop_position)):
        return "the file is outside of what its recording covers; `archive delete-orphaned-segments` deletes it"
    return None


def _repair_mark_file(directory: Path, ports: Ports, *, is_dry: bool) -> list[Finding]:
    try:
        check_unused(directory, ports)
    except ArchiveFileError as error:
        path = mark_path(ports.files, directory)
        moved = path.with_name(path.name + DAMAGED_SUFFIX)
        if not is_dry:
            ports.files.rename(path, moved)
            ports.files.sync_directory(path.parent)
        return [Finding(str(path), 0, f"{error.what}: {error.actual}; moved to {moved.name}, its error log too")]
    return unlock(directory, ports, is_dry=is_dry)


def _copy_catalog(files: FilePort, directory: Path, scratch: Path) -> None:
    for name in (CATALOG_FILE_NAME, CATALOG_FILE_NAME + UPDATE_SUFFIX):
        try:
            with files.open(directory / name) as source, files.open(scratch / name, writable=True, create=True) as copy:
                _copy(source.read, copy.write_all, source.length())
        except MissingFileError:
            if name == CATALOG_FILE_NAME:
                raise


def _copy(read: Callable[[int, int], bytes], write: Callable[[int, bytes], object], length: int) -> None:
    for offset in range(0, length, _COPY_PIECE_LENGTH):
        write(offset, read(offset, min(_COPY_PIECE_LENGTH, length - offset)))
