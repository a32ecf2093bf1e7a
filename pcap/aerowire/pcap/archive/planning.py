"""What a query over an Archive's directory reads: which recordings, from where to where, in which parts.

It reads the catalog, the names of segment files and, of a recording that is active, the headers of its last term.  It knows no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME, NULL_POSITION
from aerowire.pcap.archive.catalog import Recording, read_catalog
from aerowire.pcap.archive.damage import ArchiveError, Damage, Report
from aerowire.pcap.archive.options import EARLIEST, LATEST, Offsets, Settings
from aerowire.pcap.archive.reading import Part, cut, first_boundary, limited_end, whole_part
from aerowire.pcap.archive.segments import recorded_end

PARTS_MAX = 10_000  # of one query: beyond it the list of parts costs more than the parts
Positions = dict[int, int]  # recording id -> position


class Planner:
    """Plans the reads of one query. Every call looks at the catalog anew."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._fail_fast = settings.fail_on_data_loss and settings.content != "damage"
        self._messages = settings.content == "messages"
        # Damage of the catalog that loses data; a query that may lose data is told of it by content=damage.
        self.report = Report(fail_fast=self._fail_fast)

    def selected(self) -> dict[int, Recording]:
        """Return the recordings that the options choose and that can be read, by id."""
        settings = self._settings
        self.report = Report(fail_fast=self._fail_fast)
        found: dict[int, Recording] = {}
        for one in read_catalog(settings.path, self.report):
            wanted = settings.recording_ids is None or one.recording_id in settings.recording_ids
            if not wanted or settings.channel not in one.stripped_channel or settings.stream_id not in (None, one.stream_id):
                continue
            if one.damage is not None:
                self.report.note(self._loss(one.damage, one, one.recording_id, 0))
            elif one.is_readable:
                found[one.recording_id] = one
        absent = sorted((settings.recording_ids or frozenset()) - set(found))
        if absent and not settings.channel and settings.stream_id is None:
            self.report.note(self._loss(f"no valid recording {', '.join(map(str, absent))}", None, absent[0], 0))
        return dict(sorted(found.items()))

    def batch(self) -> list[Part]:
        """Return what a batch query reads, in parts."""
        chosen = self.selected()
        for offsets in (self._settings.starting, self._settings.ending):
            self._check_known(offsets, chosen)
        parts = []
        for one in chosen.values():
            start, end = _asked(self._settings.starting, one), _asked(self._settings.ending, one)
            if start == LATEST or end == EARLIEST:
                continue
            first, last = (value if isinstance(value, int) else None for value in (start, end))
            parts.append(whole_part(one, first, last, self.report, messages=self._messages))
        return self._cut(parts)

    def initial(self) -> Positions:
        """Return where a stream begins that has no checkpoint: the positions of those recordings that are there."""
        chosen = self.selected()
        self._check_known(self._settings.starting, chosen)
        found = {}
        for recording_id, one in chosen.items():
            start = _asked(self._settings.starting, one)
            end = self._end(one, one.start_position)
            if isinstance(start, int):
                found[recording_id] = first_boundary(one, min(start, end), end, messages=self._messages)
            else:
                found[recording_id] = end if start == LATEST else one.start_position
        return found

    def ends(self, known: Mapping[int, int]) -> Positions:
        """Return up to where each recording has whole frames (or messages) now."""
        return {key: self._end(one, known.get(key, one.start_position)) for key, one in self.selected().items()}

    def latest(self, start: Mapping[int, int], length_max: int | None, ends: Mapping[int, int] | None) -> Positions:
        """Return up to where a stream that has read up to `start` may read, about `length_max` bytes on; `ends` bounds it."""
        chosen = self.selected()
        now = {key: self._end(one, start.get(key, one.start_position)) for key, one in chosen.items()}
        begins = {key: start.get(key, one.start_position) for key, one in chosen.items()}
        for key in sorted(set(start) - set(chosen)):
            self._gone(key, start[key])
        for key, end in now.items():
            if end < begins[key]:
                reason = f"was read up to position {begins[key]} and ends at {end} now: it was truncated"
                self.report.note(self._loss(reason, chosen[key], key, begins[key]))
        left = {key: max(0, min(end, ends.get(key, 0) if ends is not None else end) - begins[key]) for key, end in now.items()}
        total = sum(left.values())
        found = {**start, **begins}
        for key, length in left.items():
            end = begins[key] + length
            if length and length_max is not None and total > length_max:
                # Each recording gets its share, so that a busy one keeps none of the others waiting.
                end = limited_end(chosen[key], begins[key], end, max(1, length_max * length // total), messages=self._messages)
            found[key] = end
        return dict(sorted(found.items()))

    def between(self, start: Mapping[int, int], end: Mapping[int, int]) -> list[Part]:
        """Return what lies between two offsets of a stream, in parts."""
        chosen = self.selected()
        parts = []
        for key, last in end.items():
            one = chosen.get(key)
            if one is None:
                if start.get(key, 0) < last:
                    self.report.note(self._loss("is not in the catalog any more, or not valid", None, key, start.get(key, 0)))
                continue
            first = start.get(key, one.start_position)
            if first < min(last, one.start_position):
                reason = f"was to be read from {first}, and begins at {one.start_position} now: its segments were purged"
                self.report.note(self._loss(reason, one, key, first))
            first = max(first, one.start_position)
            if first < last:
                parts.append(Part(one, first, last, last, True))
        return self._cut(parts)

    def _end(self, one: Recording, known: int) -> int:
        return recorded_end(one, self.report, messages=self._messages, known=known)

    def _gone(self, recording_id: int, position: int) -> None:
        """Note that a recording is no more, unless its entry says that all of it was read."""
        entries = [one for one in read_catalog(self._settings.path, Report()) if one.recording_id == recording_id]
        if entries and entries[-1].stop_position != NULL_POSITION and entries[-1].stop_position <= position:
            return
        self.report.note(self._loss(f"was read up to position {position} and is there no more", None, recording_id, position))

    def _loss(self, reason: str, one: Recording | None, recording_id: int, position: int) -> Damage:
        path = str(Path(self._settings.path) / CATALOG_FILE_NAME)
        return Damage(path, one.catalog_offset if one else 0, f"recording {recording_id}: {reason}", recording_id, position)

    def _check_known(self, offsets: Offsets, chosen: Mapping[int, Recording]) -> None:
        unknown = sorted(set(offsets) - set(chosen)) if isinstance(offsets, dict) else []
        if unknown:
            raise ArchiveError(f"{self._settings.path}: offsets name recordings that are not read: {unknown}; there are {list(chosen)}")

    def _cut(self, parts: list[Part]) -> list[Part]:
        """Cut parts at segments, or finer where the options want more of them."""
        total = sum(part.end - part.start for part in parts)
        least = -(-total // PARTS_MAX)
        most = max(1, total // self._settings.partitions_min) if self._settings.partitions_min else total
        return [
            piece for part in parts if part.start < part.end for piece in cut(part, max(least, min(most, part.recording.segment_length)))
        ]


def _asked(offsets: Offsets, one: Recording) -> int | str | None:
    """Return the position that the options name for a recording, or a name; None where they say nothing of it."""
    return offsets.get(one.recording_id) if isinstance(offsets, dict) else offsets
