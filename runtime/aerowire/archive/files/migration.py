"""The migration of an Archive's directory from versions 0, 1 and 2 of its files to version 3, one major version a step.

    0 -> 1:  segment files are named by position, not by index
    1 -> 2:  positions in names are counted from the term of the start position, not from zero
    2 -> 3:  entries of the catalog are as long as they need to be, not 1,024 bytes each

Each step first writes what it is going to rename into a file, migration-FROM-to-TO.dat, which is empty once the step is done: a step that
was interrupted is completed by another run. Aeron: ArchiveMigrationPlanner and its steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aerowire.archive.files.mark_header import mark_path, read_mark_file
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.segments import list_segments
from aerowire.base.errors import ArchiveFileError, MissingFileError
from aerowire.codecs.flyweights.archive import RecordingDescriptorHeaderEncoder, RecordingState
from aerowire.codecs.flyweights.archive_files import CATALOG_ALIGNMENT, MIGRATION_FILE_NAME
from aerowire.codecs.flyweights.archive_mark import MarkFileHeaderDecoder
from aerowire.codecs.flyweights.base import align
from aerowire.recordings.catalog_entry import ENTRY_LENGTH_MIN
from aerowire.recordings.catalog_layout import ENTRY_HEADER_LENGTH, CatalogHeader
from aerowire.recordings.segment_names import parse_segment_name, segment_name
from aerowire.recordings.versions import compose_version, major_version, version_text

if TYPE_CHECKING:
    from aerowire.base.file_port import FilePort
    from aerowire.recordings.catalog_entry import RecordingEntry

CURRENT_MAJOR = 3
MIGRATED_SUFFIX = ".migrated"
_PLAN_LENGTH_MAX = 256 << 20  # more than the names of all segments that a catalog can have recordings for
_TEXT_LENGTH = 4
_VERSION_LENGTH = MarkFileHeaderDecoder.VERSION_ENCODING_LENGTH


class Step(NamedTuple):
    """One migration: the versions before and after it, and the segment files that it renames."""

    from_version: int
    to_version: int
    renames: list[tuple[str, str]]

    def __str__(self) -> str:
        return f"{version_text(self.from_version)} to {version_text(self.to_version)}"


def migrate(files: FilePort, directory: Path, report: Callable[[str], object], *, is_dry: bool = False) -> list[Step]:
    """Perform all steps that a directory needs, or plan the first one in a dry run; return them. Raises ArchiveFileError, FileError.

    The version of the catalog decides: the mark file has none while an Archive starts.
    """
    steps: list[Step] = []
    while major_version(version := _catalog_version(files, directory)) < CURRENT_MAJOR:
        step = _plan(files, directory, version)
        steps.append(step)
        report(f"migration step {step}")
        for old, new in step.renames:
            report(f"rename {old} to {new}")
        if is_dry:
            return steps
        _perform(files, directory, step)
    if not is_dry:
        _set_mark_version(files, directory, version)
    return steps


def _plan(files: FilePort, directory: Path, version: int) -> Step:
    """Return the next step: as it was planned, if it was begun."""
    to_version = compose_version(major_version(version) + 1, 0, 0)
    try:
        with files.open(directory / _plan_name(version, to_version)) as file:
            text = file.read(0, min(file.length(), _PLAN_LENGTH_MAX))
        if text:
            return Step(version, to_version, [(_checked(old), _checked(new)) for old, new in json.loads(text)])
    except MissingFileError:
        pass
    except (ValueError, TypeError):
        pass  # a plan of which not all was written, or another's: nothing has been renamed by it
    with OfflineCatalog(files, directory, any_version=True) as catalog:
        segments = list_segments(files, directory)
        renames = [
            (segment_name(entry.recording_id, old), segment_name(entry.recording_id, new))
            for entry in catalog.entries
            if entry.recording_state is not RecordingState.INVALID
            for old, new in _moves(entry, segments.get(entry.recording_id, []), major_version(version))
        ]
    return Step(version, to_version, renames)


def _checked(name: object) -> str:
    """Return the name of a segment file in a plan. Raises ValueError for another, which might lead out of the directory."""
    if not isinstance(name, str) or parse_segment_name(name) is None:
        raise ValueError(f"{name!r}, expected the name of a segment file")
    return name


def _moves(entry: RecordingEntry, positions: list[int], major: int) -> Iterator[tuple[int, int]]:
    """Yield what the numbers in names of segment files are and should be, in an order in which no new name is another's old one."""
    if major > 1 or entry.damage is not None:
        return
    first = entry.base_position
    if major == 1 and (first == 0 or entry.term_buffer_length == entry.segment_file_length):
        return
    for number in reversed(positions):
        if major == 0:
            base = entry.start_position & -entry.segment_file_length
            new = base + number * entry.segment_file_length
        else:
            new = first + number
        if new != number:
            yield number, new


def _perform(files: FilePort, directory: Path, step: Step) -> None:
    plan_path = directory / _plan_name(step.from_version, step.to_version)
    with files.open(plan_path, writable=True, create=True) as plan:
        plan.truncate(0)
        plan.write_all(0, json.dumps(step.renames).encode())
        plan.sync()
        files.sync_directory(directory)
        for old, new in step.renames:
            # Where the new name is there, an earlier run has renamed it, and the old name is another's by now.
            if not files.exists(directory / new):
                files.rename(directory / old, directory / new)
        # The new names are on the disk BEFORE the version, which tells that the step is done.
        files.sync_directory(directory)
        if major_version(step.to_version) == CURRENT_MAJOR:
            _rewrite_catalog(files, directory, step.to_version)
        else:
            with OfflineCatalog(files, directory, writable=True, any_version=True) as catalog:
                catalog.set_version(step.to_version)
        files.sync_directory(directory)
        plan.truncate(0)


def _rewrite_catalog(files: FilePort, directory: Path, version: int) -> None:
    """Write the catalog anew, each entry as long as it needs to be."""
    with OfflineCatalog(files, directory, any_version=True) as catalog:
        if catalog.problem is not None:
            raise ArchiveFileError("the catalog is damaged", where=catalog.path, actual=catalog.problem)
        next_id = max([catalog.header.next_recording_id, *(entry.recording_id + 1 for entry in catalog.entries)])
        content = CatalogHeader(version=version, next_recording_id=next_id).encode()
        for entry in catalog.entries:
            content += _shortened(catalog, entry)
        migrated = catalog.path.with_name(catalog.path.name + MIGRATED_SUFFIX)
        with files.open(migrated, writable=True, create=True) as file:
            file.truncate(0)
            file.write_all(0, content)
            file.sync()
        files.rename(migrated, catalog.path)


def _shortened(catalog: OfflineCatalog, entry: RecordingEntry) -> bytearray:
    """Return the bytes of an entry of a slot, with the padding of the current form."""
    texts = (entry.stripped_channel, entry.original_channel, entry.source_identity)
    used = ENTRY_HEADER_LENGTH + ENTRY_LENGTH_MIN + sum(_TEXT_LENGTH + len(text) for text in texts)
    slot = catalog.header.entry_end(entry.catalog_offset, entry.entry_length) - entry.catalog_offset
    length = align(used, CATALOG_ALIGNMENT)
    data = catalog.data[entry.catalog_offset : entry.catalog_offset + min(length, slot)].ljust(length, b"\0")
    RecordingDescriptorHeaderEncoder().wrap(data).length = length - ENTRY_HEADER_LENGTH
    return data


def _catalog_version(files: FilePort, directory: Path) -> int:
    with OfflineCatalog(files, directory, any_version=True) as catalog:
        return catalog.header.version


def _set_mark_version(files: FilePort, directory: Path, version: int) -> None:
    """Write a version into the mark file of a directory, if it has one with an older major version."""
    path = mark_path(files, directory)
    try:
        header, _ = read_mark_file(files, path)
    except MissingFileError:
        return
    if major_version(header.version) >= major_version(version):
        return
    with files.open(path, writable=True) as file:
        file.write_all(header.offset + MarkFileHeaderDecoder.VERSION_ENCODING_OFFSET, version.to_bytes(_VERSION_LENGTH, "little"))
        file.sync()


def _plan_name(from_version: int, to_version: int) -> str:
    return MIGRATION_FILE_NAME.format(from_version=from_version, to_version=to_version)
