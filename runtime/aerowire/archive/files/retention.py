"""Which segment files of an Archive may go, by age, by size, or by position: whole files from the start of recordings on.

Pure: files and their times come as arguments. The file that holds the end of a recording is always kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class SegmentFile(NamedTuple):
    """A segment file: the position at which it begins, when it was written last (epoch ms), and its bytes on the disk."""

    position: int
    time_ms: int
    length: int


@dataclass(frozen=True, slots=True)
class RecordingFiles:
    """A recording and its segment files, ascending. `tail` is the position at which the file begins that holds its end.

    Invariant: files at or behind `tail` never go.
    """

    recording_id: int
    tail: int
    files: tuple[SegmentFile, ...]

    @property
    def removable(self) -> tuple[SegmentFile, ...]:
        return tuple(one for one in self.files if one.position < self.tail)


class KeepSince(NamedTuple):
    """Keep what was written at a time (epoch ms) or later."""

    time_ms: int


class KeepBytes(NamedTuple):
    """Keep so many bytes of all recordings together, the newest."""

    length: int


class KeepFrom(NamedTuple):
    """Keep what is from a position on."""

    position: int


Rule: TypeAlias = KeepSince | KeepBytes | KeepFrom


class Removal(NamedTuple):
    """The files of a recording that go, ascending, and the position at which it begins then."""

    recording_id: int
    new_start: int
    files: tuple[SegmentFile, ...]

    @property
    def length(self) -> int:
        """Bytes on the disk that become free."""
        return sum(one.length for one in self.files)


def plan_retention(recordings: Iterable[RecordingFiles], rule: Rule) -> list[Removal]:
    """Return what goes by a rule, a removal for each recording that loses something, in their order."""
    chosen = list(recordings)
    counts = _counts_by_size(chosen, rule.length) if isinstance(rule, KeepBytes) else [_count(one, rule) for one in chosen]
    return [_removal(one, count) for one, count in zip(chosen, counts, strict=True) if count]


def _count(recording: RecordingFiles, rule: KeepSince | KeepFrom) -> int:
    """Return how many files from the first one on go."""
    removable = recording.removable
    for number, file in enumerate(removable):
        if (_end(recording, number) > rule.position) if isinstance(rule, KeepFrom) else (file.time_ms >= rule.time_ms):
            return number
    return len(removable)


def _counts_by_size(recordings: list[RecordingFiles], limit: int) -> list[int]:
    """Return how many files of each recording go until the rest is at most `limit` bytes: the oldest of all first."""
    total = sum(file.length for recording in recordings for file in recording.files)
    counts = [0] * len(recordings)
    # The next file of each recording: a file goes only after those before it, whatever their times.
    heap = [(one.removable[0].time_ms, number) for number, one in enumerate(recordings) if one.removable]
    heapq.heapify(heap)
    while total > limit and heap:
        _, number = heapq.heappop(heap)
        removable = recordings[number].removable
        total -= removable[counts[number]].length
        counts[number] += 1
        if counts[number] < len(removable):
            heapq.heappush(heap, (removable[counts[number]].time_ms, number))
    return counts


def _removal(recording: RecordingFiles, count: int) -> Removal:
    return Removal(recording.recording_id, _end(recording, count - 1), recording.removable[:count])


def _end(recording: RecordingFiles, number: int) -> int:
    """Return where the file behind the removable one of a number begins."""
    return recording.files[number + 1].position if number + 1 < len(recording.files) else recording.tail
