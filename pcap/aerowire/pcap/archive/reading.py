"""Recordings as Arrow batches: a row a frame, or a row a message; in memory that a chunk bounds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]

from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME
from aerowire.pcap.archive.catalog import Recording, read_catalog
from aerowire.pcap.archive.damage import ArchiveError, Damage, Report
from aerowire.pcap.archive.messages import messages_of
from aerowire.pcap.archive.segments import CHUNK_LENGTH, FrameBlock, SegmentReader, boundaries, recorded_end
from aerowire.pcap.archive.table import FRAME_SCHEMA, MESSAGE_SCHEMA, frame_batch


@dataclass(frozen=True, slots=True)
class Part:
    """A range of a recording: the frames or messages whose first byte lies in [start, end).

    Invariant: start <= end <= limit; behind limit nothing is recorded.  exact: start is where a frame (or message) begins.
    """

    recording: Recording
    start: int
    end: int
    limit: int
    exact: bool


class RecordingRead:
    """A part of a recording as Arrow batches of `schema`; each iteration reads the files anew, and `report` has what the last one met."""

    def __init__(self, part: Part, schema: pa.Schema, *, messages: bool, fail_fast: bool, chunk_length: int, known: Report) -> None:
        self.part = part
        self.schema = schema
        self.report = known
        self._known, self._messages, self._fail_fast, self._chunk_length = known, messages, fail_fast, chunk_length

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        # What planning met belongs to every iteration.
        self.report = replace(self._known, damages=list(self._known.damages), fail_fast=self._fail_fast)
        return read_part(self.part, self.schema, self.report, messages=self._messages, chunk_length=self._chunk_length)

    def to_table(self) -> pa.Table:
        """Return all rows at once."""
        return pa.Table.from_batches(list(self), schema=self.schema)


def read_recording(
    path: str | os.PathLike[str],
    recording_id: int,
    *,
    from_position: int | None = None,
    to_position: int | None = None,
    columns: Sequence[str] | None = None,
    messages: bool = False,
    fail_fast: bool = False,
    chunk_length: int = CHUNK_LENGTH,
) -> RecordingRead:
    """Return the frames of a recording, or with `messages` the messages put together, as an iterable of Arrow batches.

    Rows are those whose first byte lies in [from_position, to_position), by default in all that is recorded now.
    columns: some of the names of FRAME_SCHEMA (MESSAGE_SCHEMA).  Damage is left out and told in `report`.
    Raises ArchiveError for an unknown recording or column, and with fail_fast for damage.
    """
    report = Report(fail_fast=fail_fast)
    found = [one for one in read_catalog(path, report) if one.recording_id == recording_id]
    if not found:
        raise ArchiveError(f"{os.fspath(path)}: has no recording {recording_id}; recordings(path) lists those that it has")
    recording = found[-1]
    if not recording.is_readable:
        raise ArchiveError(
            f"{os.fspath(path)}/{CATALOG_FILE_NAME}: offset {recording.catalog_offset}: recording {recording_id} cannot be read: "
            f"{recording.damage or f'its state is {recording.state}, expected VALID'}"
        )
    schema = choose(MESSAGE_SCHEMA if messages else FRAME_SCHEMA, columns)
    part = whole_part(recording, from_position, to_position, report, messages=messages)
    return RecordingRead(part, schema, messages=messages, fail_fast=fail_fast, chunk_length=chunk_length, known=report)


def choose(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Return the named columns of a schema, in the order given; all for None.  Raises ArchiveError for unknown ones."""
    unknown = [name for name in columns or () if name not in schema.names]
    if unknown:
        raise ArchiveError(f"no column is called {', '.join(unknown)}; there are {', '.join(schema.names)}")
    return schema if columns is None else pa.schema([schema.field(name) for name in columns])


def whole_part(recording: Recording, start: int | None, end: int | None, report: Report, *, messages: bool) -> Part:
    """Return what is recorded between two positions; what is no more there is noted as damage."""
    limit = recorded_end(recording, report, messages=messages)
    first = recording.start_position if start is None else start
    last = limit if end is None else min(end, limit)
    if first < recording.start_position:
        reason = f"positions from {first} are asked for, the recording begins at {recording.start_position}: its segments were purged"
        lost = min(recording.start_position, max(first, last)) - first
        path = str(Path(recording.directory) / CATALOG_FILE_NAME)
        report.note(Damage(path, recording.catalog_offset, reason, recording.recording_id, first, lost))
        first = recording.start_position
    exact = first == recording.start_position or first % recording.term_buffer_length == 0
    return Part(recording, first, max(first, last), limit, exact)


def read_part(part: Part, schema: pa.Schema, report: Report, *, messages: bool, chunk_length: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part, with the columns of `schema`; counts and damage go to `report`."""
    if not messages:
        for block in _owned(part, report, chunk_length):
            yield frame_batch(part.recording.recording_id, block, schema)
        return
    term = part.recording.term_buffer_length
    # A message lies in one term, so that what begins before the end ends in the same one.
    behind = min(part.limit, -(-part.end // term) * term)
    frames = (frame_batch(part.recording.recording_id, block, FRAME_SCHEMA) for block in _blocks(part, behind, report, chunk_length))
    yield from messages_of(frames, part.start, part.end, schema, report)


def cut(part: Part, length: int) -> list[Part]:
    """Return a part in pieces of at most `length` bytes, or of a term, cut where terms begin: the only places known without reading."""
    recording = part.recording
    step = max(length // recording.term_buffer_length, 1) * recording.term_buffer_length
    base = recording.base_position
    first = base + ((part.start - base) // step + 1) * step
    bounds = [part.start, *range(first, part.end, step), part.end]
    return [
        replace(part, start=one, end=other, exact=part.exact if one == part.start else True)
        for one, other in pairwise(bounds)
        if one < other
    ]


def limited_end(recording: Recording, start: int, end: int, length_max: int, *, messages: bool) -> int:
    """Return an end of a frame (or message) about `length_max` bytes behind `start`, and one frame at least; start < end.

    It is the start of a term where one lies in between, so that most limits cost no reading.
    """
    target = start + length_max
    if target >= end:
        return end
    term = recording.term_buffer_length
    if target & -term > start:
        return target & -term
    first = last = None
    for ends in boundaries(recording, start, end, messages=messages):
        if ends.size:
            first = first or int(ends[0])
            fitting = ends[ends <= target]
            last = int(fitting[-1]) if fitting.size else last
            if fitting.size < ends.size:
                break
    return last or first or min(end, (start & -term) + term)


def first_boundary(recording: Recording, position: int, limit: int, *, messages: bool) -> int:
    """Return the first place from `position` on where a frame (or message) begins."""
    start = max(position & -recording.term_buffer_length, recording.start_position)
    if position <= start:
        return start
    for ends in boundaries(recording, start, limit, messages=messages):
        behind = ends[ends >= position]
        if behind.size:
            return int(behind[0])
    return min(limit, (position & -recording.term_buffer_length) + recording.term_buffer_length)


def _blocks(part: Part, end: int, report: Report, chunk_length: int) -> Iterator[FrameBlock]:
    """Yield the frames that begin before `end`, from the part's start, or from its term's where a frame may not begin there."""
    recording = part.recording
    position = part.start if part.exact else max(part.start & -recording.term_buffer_length, recording.start_position)
    with SegmentReader(recording, chunk_length) as reader:
        while position < end:
            block = reader.frames(position, part.limit)
            count = int(block.positions.searchsorted(end))
            if count < block.offsets.size:
                block.offsets, block.headers, block.problem = block.offsets[:count], block.headers[:count], None
            if block.offsets.size:
                yield block
            problem = block.problem
            if problem is not None and problem.position is not None and problem.position < end and block.next_position > part.start:
                begin = max(problem.position, part.start)
                report.note(replace(problem, lost_length=min(block.next_position, end) - begin))
            position = block.next_position


def _owned(part: Part, report: Report, chunk_length: int) -> Iterator[FrameBlock]:
    for block in _blocks(part, part.end, report, chunk_length):
        skipped = int(block.positions.searchsorted(part.start))
        if skipped:
            block.offsets, block.headers = block.offsets[skipped:], block.headers[skipped:]
        if block.offsets.size:
            report.frames += int(block.offsets.size)
            report.frame_bytes += int((block.end_positions - block.positions).sum())
            yield block
