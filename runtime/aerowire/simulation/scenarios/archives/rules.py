"""What has to be there when an archive has started again: all that it has acknowledged, unchanged, in a directory without faults."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.segments import list_segments
from aerowire.archive.files.verification import Verification
from aerowire.base.errors import ArchiveError
from aerowire.simulation.host import ARCHIVE_DIR
from aerowire.simulation.scenarios.archives.recorded import Recorded
from aerowire.simulation.scenarios.archives.source import COPIED_STREAM
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.recordings.catalog_entry import RecordingEntry
    from aerowire.simulation.scenarios.archives.client import ArchiveClient
    from aerowire.simulation.scenarios.archives.plan import ArchivePlan
    from aerowire.simulation.scenarios.archives.recorded import Memory

KEPT = "what was acknowledged is there"
UNCHANGED = "replays give back what was recorded"
AGREED = "catalog and segments agree"


class Inspection:
    """Looks at an archive that has just started, while nothing fails; what it finds is what has to be there from then on.

    Level 0 keeps everything over the end of the process, and over a power failure a prefix that is whole. Higher levels keep everything.
    """

    def __init__(self, plan: ArchivePlan, memory: Memory, client: ArchiveClient, *, has_lost_power: bool) -> None:
        self._memory = memory
        self._client = client
        self._checksum = plan.checksum
        self._has_lost_power = has_lost_power
        self._may_lose = has_lost_power and plan.sync_level == 0
        memory.may_disagree |= self._may_lose
        self._is_unsynced = plan.sync_level == 0
        self._where = f"sync level {plan.sync_level}, {'power lost' if has_lost_power else 'process ended'}"

    def look(self) -> None:
        """Compare all recordings with what is known of them. Raises ViolationError."""
        memory = self._memory
        found = {one.recording_id: one for one in self._client.recordings()}
        if memory.moving is not None:
            source = found.get(memory.moving[0])
            memory.end_move(is_moved=source is not None and source.stop_position == source.start_position)
        for recording_id in memory.lost:
            found.pop(recording_id, None)
        for recording_id, recorded in list(memory.recordings.items()):
            one = found.pop(recording_id, None)
            if one is None:
                if not recorded.is_doubtful and not self._may_lose:
                    raise self._wrong(KEPT, recording_id, recorded, "no recording")
                del memory.recordings[recording_id]
            else:
                self._compare(one, recorded)
        for recording_id, one in found.items():
            # Of a client that was not told before the archive died, or of a catalog that has lost its end.
            if self._is_unsynced:
                memory.lost.add(recording_id)
                continue
            unknown = Recorded(one.stream_id, one.start_position, acknowledged=one.stop_position)
            memory.recordings[recording_id] = unknown
            if messages := self._client.replayed(recording_id):
                if one.stream_id == COPIED_STREAM:  # of a copy that has not come to its end
                    memory.give_up(recording_id)
                else:
                    raise self._wrong(UNCHANGED, recording_id, unknown, f"{len(messages)} messages that were not published")
        self._verify()

    def _compare(self, one: RecordingDescriptor, recorded: Recorded) -> None:
        memory, recording_id = self._memory, one.recording_id
        must_be = 0 if self._may_lose else recorded.acknowledged
        if one.start_position != recorded.start:
            if not recorded.is_doubtful and not self._may_lose:
                raise self._wrong(KEPT, recording_id, recorded, f"start position {one.start_position}")
            recorded.begin_at(one.start_position)
        if self._may_lose:
            recorded.kept_from = recorded.start
        if one.stop_position < must_be and not recorded.is_doubtful:
            raise self._wrong(KEPT, recording_id, recorded, f"stop position {one.stop_position}")
        try:
            messages = self._client.replayed(recording_id)
        except ArchiveError as error:
            if must_be:
                raise self._wrong(KEPT, recording_id, recorded, error) from error
            memory.give_up(recording_id)
            return
        if messages != recorded.messages[: len(messages)]:
            known = [*recorded.messages, b""]
            place = next(number for number, (a, b) in enumerate(zip(messages, known, strict=False)) if a != b)
            if not self._may_differ(place, len(messages), recorded.count(must_be)):
                raise self._wrong(UNCHANGED, recording_id, recorded, f"another message {place} of {len(messages)}")
            memory.give_up(recording_id)
            return
        # The position behind a message may be followed by padding, which is recorded as well.
        if len(messages) < recorded.count(must_be) and not recorded.is_doubtful:
            raise self._wrong(KEPT, recording_id, recorded, f"{len(messages)} messages")
        recorded.cut(one.stop_position)
        recorded.is_doubtful = False
        recorded.acknowledged = one.stop_position

    def _may_differ(self, place: int, count: int, acknowledged: int) -> bool:
        """Return whether a message may be another one: where nothing is synced, and in a torn frame without a checksum.

        That is the last of all where a process was killed while it wrote. Where power was lost it is any that was not acknowledged: the
        disk may have a later part of the last block and not an earlier one, and only a checksum tells the gap from a message with zeros.
        """
        if self._checksum or self._may_lose:
            return self._may_lose
        return place >= (acknowledged if self._has_lost_power else count - 1)

    def _verify(self) -> None:
        """See that the tool for archives that do not run finds nothing to correct."""
        if self._memory.may_disagree:
            return
        verification = Verification(
            all_segments=True, checksum=checksum_named(self._checksum), is_dry=True, now_ms=self._client.host.clock.now_ms()
        )
        with OfflineCatalog(self._client.host.files, Path(ARCHIVE_DIR)) as catalog:
            if catalog.problem is not None:
                raise ViolationError(AGREED, "a catalog that can be read", catalog.problem, self._where)
            segments = list_segments(catalog.files, catalog.directory)
            for verdict in verification.verify(catalog):
                is_sound = verdict.problem is None and verdict.stop_position is None and verdict.torn_file is None
                if verdict.recording_id not in self._memory.recordings or is_sound:
                    continue
                if not _has_detached_segments_alone(catalog.entry(verdict.recording_id), segments):
                    raise ViolationError(AGREED, f"nothing to correct in recording {verdict.recording_id}", verdict, self._where)

    def _wrong(self, rule: str, recording_id: int, recorded: Recorded, saw: object) -> ViolationError:
        known = f"{len(recorded.messages)} messages from {recorded.start} on, acknowledged up to {recorded.acknowledged}"
        return ViolationError(rule, f"recording {recording_id} with {known}", saw, self._where)


def _has_detached_segments_alone(entry: RecordingEntry, segments: dict[int, list[int]]) -> bool:
    """Return whether a recording is empty, and its files lie before its start: the official tool takes it for a faulty one.

    So it is left by a move of all its segments to another recording, if earlier ones were detached.
    """
    positions = segments.get(entry.recording_id, [])
    return entry.start_position == entry.stop_position and bool(positions) and positions[-1] < entry.segment_of(entry.start_position)
