"""The state of an archive's directory, as its files and the counters of its driver tell it. Looks and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import ActiveArchiveError, AerowireError, MissingFileError

if TYPE_CHECKING:
    from aerowire.archive.files.mark_header import MarkHeader
    from aerowire.archive.files.offline_catalog import OfflineCatalog
    from aerowire.system.ports import Ports

RUNNING, ENDED, STALE, ABSENT, DAMAGED = "running", "ended", "stale", "absent", "damaged"


class RecordedStream(NamedTuple):
    """How far a recording is written, and how far its stream has come."""

    position: int
    front: int


@dataclass(frozen=True, slots=True)
class ArchiveState:
    """What was found of one archive. `mark` is one of the constants above; lists are of recording ids.

    `problem` says why catalog or mark file cannot be read; `error_count` counts the distinct errors in the mark file.
    """

    path: str
    mark: str
    pid: int | None
    problem: str | None
    error_count: int
    free: int
    recordings: int
    segment_length: int
    unfinished: list[int]
    incomplete: list[int]
    has_checksums: bool


def read_archive(directory: Path, ports: Ports) -> ArchiveState:
    """Return the state of an archive's directory. Raises FileError where there is no directory."""
    from aerowire.archive.files.offline_catalog import OfflineCatalog

    free = ports.files.free_space(directory)
    mark, header, errors, problem = _mark_state(directory, ports)
    facts: tuple[int, int, list[int], list[int], bool] = (0, 0, [], [], False)
    try:
        with OfflineCatalog(ports.files, directory) as catalog:
            problem = problem or catalog.problem
            facts = _catalog_facts(catalog, is_running=mark == RUNNING)
    except AerowireError as error:
        problem = problem or str(error)
    return ArchiveState(str(directory), mark, None if header is None else header.pid, problem, errors, free, *facts)


def recorded_streams(directory: Path, ports: Ports) -> dict[int, RecordedStream]:
    """Return recording id -> how far recording and stream are, of a running archive; nothing where its driver cannot be read."""
    from aerowire.archive.client.recording_pos import recording_positions
    from aerowire.archive.files.mark_header import mark_path, read_mark_file
    from aerowire.ipc.cnc import CncFile
    from aerowire.tools.streams.stream_model import streams_of

    try:
        header, _ = read_mark_file(ports.files, mark_path(ports.files, directory))
        with CncFile.map(Path(header.aeron_directory) / CNC_FILE_NAME, writable=False) as cnc:
            reader = cnc.counters_reader()
            ids = {one.counter_id for one in recording_positions(reader, header.archive_id)}
            counters = list(reader.for_each())
    except AerowireError:
        return {}
    return {
        recording.recording_id: RecordedStream(recording.position, end.front)
        for end in streams_of(counters).ends
        for recording in end.recordings
        if recording.counter_id in ids
    }


def standing_still(before: Mapping[int, RecordedStream], after: Mapping[int, RecordedStream]) -> list[int]:
    """Return the recordings that have not moved between two looks, while their streams have and are before them."""
    return [
        recording_id
        for recording_id, now in after.items()
        if (then := before.get(recording_id)) is not None and now.position == then.position and now.front > max(then.front, now.position)
    ]


def _mark_state(directory: Path, ports: Ports) -> tuple[str, MarkHeader | None, int, str | None]:
    """Return the state of a mark file, its header, the number of its errors, and why it cannot be read."""
    from aerowire.archive.files.mark_header import mark_path, read_mark_file
    from aerowire.archive.files.mark_life import LOCK_FILE_NAME, NULL_TIMESTAMP_MS, check_unused
    from aerowire.ipc.error_log import scan_errors

    try:
        path = mark_path(ports.files, directory)
        header, log = read_mark_file(ports.files, path)
    except MissingFileError:
        return ABSENT, None, 0, None
    except AerowireError as error:
        return DAMAGED, None, 0, str(error)
    errors = len(scan_errors(log)[0])
    try:
        check_unused(directory, ports)
    except ActiveArchiveError:
        return RUNNING, header, errors, None
    is_ended = header.activity_timestamp_ms == NULL_TIMESTAMP_MS and not ports.files.exists(path.with_name(LOCK_FILE_NAME))
    return ENDED if is_ended else STALE, header, errors, None


def _has_all(positions: list[int], needed: range) -> bool:
    """Return whether all segments that are needed are there, which may be countless where a catalog is damaged."""
    return len(needed) == sum(position in needed for position in positions)


def _catalog_facts(catalog: OfflineCatalog, *, is_running: bool) -> tuple[int, int, list[int], list[int], bool]:
    from aerowire.archive.files.segments import list_segments

    segments = list_segments(catalog.files, catalog.directory)
    valid = [one for one in catalog.entries if one.is_valid]
    unfinished = [] if is_running else [one.recording_id for one in valid if one.is_active]
    incomplete = [
        one.recording_id for one in valid if not one.is_active and not _has_all(segments.get(one.recording_id, []), one.needed_segments())
    ]
    length = max((one.segment_length for one in valid), default=0)
    return len(valid), length, unfinished, incomplete, any(one.checksum for one in valid)
