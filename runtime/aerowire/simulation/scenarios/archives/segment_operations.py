"""The operations of a life on whole segments: taken out of a recording and put back, deleted, and moved to another recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.channel_builder import initial_position
from aerowire.base.errors import ArchiveError
from aerowire.codecs.flyweights.archive import RecordingSignal
from aerowire.simulation.scenarios.archives.acting import Acting
from aerowire.simulation.scenarios.archives.client import IPC, ArchiveClient
from aerowire.simulation.scenarios.archives.plan import Act
from aerowire.simulation.scenarios.archives.recorded import Recorded

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.simulation.scenarios.archives.recorded import Memory
    from aerowire.simulation.scenarios.draws import Draws

ATTACHED = "segments are attached as far as there are any"


class SegmentOperations(Acting):
    """One life's operations on segments, by `acts`."""

    def __init__(self, client: ArchiveClient, memory: Memory, *, is_faultless: bool) -> None:
        super().__init__(client, memory, is_faultless=is_faultless)
        self.acts = {
            Act.DETACH: self._detach,
            Act.ATTACH: self._attach,
            Act.DELETE_DETACHED: self._delete_detached,
            Act.SPLIT: self._split,
            Act.MIGRATE: self._migrate,
        }

    def _detach(self, draws: Draws) -> None:
        """Let a recording begin at a later segment."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        length = found.segment_file_length
        first, last = recorded.start // length + 1, found.stop_position // length
        if first > last:
            return
        position = draws.whole(first, last) * length
        recorded.is_doubtful = True
        self.client.complete(self.archive.async_detach_segments(found.recording_id, position))
        recorded.is_doubtful = False
        recorded.begin_at(position, is_kept=True)
        self._check_replay(found.recording_id, recorded)

    def _attach(self, draws: Draws) -> None:
        """Let a recording begin with the segments before it again: with those that were detached, and with none that never were."""
        if (found := self.any_stopped(draws)) is None:
            return
        recorded = self.memory.recordings[found.recording_id]
        recorded.is_doubtful = True
        try:
            count = self.client.complete(self.archive.async_attach_segments(found.recording_id))
        except ArchiveError:
            if not self.memory.may_disagree:  # else what was detached may be damaged
                raise
            return
        start = self.client.complete(self.archive.async_get_start_position(found.recording_id))
        recorded.is_doubtful = False
        if not recorded.lowest <= start <= recorded.kept_from or start != recorded.start - count * found.segment_file_length:
            expected = f"{recorded.start} at {recorded.lowest} to {recorded.kept_from}"
            raise self.wrong(ATTACHED, expected, f"{count} segments, {start}")
        recorded.begin_at(start, is_kept=True)
        self._check_replay(found.recording_id, recorded)

    def _delete_detached(self, draws: Draws) -> None:
        """Delete the segments before a recording: then there are none to attach."""
        if (found := self.any_stopped(draws)) is None:
            return
        recorded = self.memory.recordings[found.recording_id]
        recorded.kept_from = recorded.start
        self.client.signals.clear()
        self.client.complete(self.archive.async_delete_detached_segments(found.recording_id))
        self.await_signals(found.recording_id, RecordingSignal.DELETE)
        if self.is_faultless and (count := self.client.complete(self.archive.async_attach_segments(found.recording_id))):
            raise self.wrong(ATTACHED, "none after they were deleted", count)

    def _split(self, draws: Draws) -> None:
        """Cut a recording off at the end of a segment, and record what follows there as another one."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        length = found.segment_file_length
        first, last = recorded.start // length + 1, found.stop_position // length
        if first > last:
            return
        position = draws.whole(first, last) * length
        recorded.is_doubtful = True
        self.client.complete(self.archive.async_truncate_recording(found.recording_id, position))
        recorded.is_doubtful = False
        recorded.cut(position)
        recorded.acknowledged = position
        self._record_from(draws, found, position)

    def _record_from(self, draws: Draws, found: RecordingDescriptor, position: int) -> None:
        """Make a recording of the stream of another one, from a position on."""
        client = self.client
        client.signals.clear()
        place = initial_position(position, found.initial_term_id, found.term_buffer_length)
        channel = "|".join((IPC, *(f"{name.replace('_', '-')}={value}" for name, value in place.items() if name != "term_length")))
        publication = client.complete(self.archive.async_add_recorded_exclusive_publication(channel, found.stream_id))
        client.await_that(lambda: any(one.signal is RecordingSignal.START for one in client.signals), "the start of a recording")
        recording_id = next(one.recording_id for one in client.signals if one.signal is RecordingSignal.START)
        recorded = self.memory.recordings[recording_id] = Recorded(found.stream_id, position, acknowledged=position)
        self.publish(draws, publication, recorded)
        if self.is_faultless:
            client.complete(self.archive.async_await_recorded(recording_id, publication.position))
        reached = client.complete(self.archive.async_get_max_recorded_position(recording_id))
        recorded.acknowledged = max(recorded.acknowledged, reached)
        client.complete(self.archive.async_try_stop_recording(publication))
        publication.close()
        if self.is_faultless:
            self.await_stop(recording_id, reached)
            self.await_signals(recording_id, RecordingSignal.START, RecordingSignal.STOP)

    def _migrate(self, draws: Draws) -> None:
        """Move the segments of a recording to one that goes on where it ends, or ends where it begins."""
        known = [one for one in self.client.recordings() if one.recording_id in self.memory.recordings and one.stop_position >= 0]
        pairs = [(source, target) for source in known for target in known if source != target and self._is_joined(source, target)]
        if not pairs:
            return
        source, target = draws.one_of(pairs)
        self.client.signals.clear()
        for one in (source, target):
            self.memory.recordings[one.recording_id].cut(one.stop_position)
        self.memory.begin_move(source.recording_id, target.recording_id)
        self.client.complete(self.archive.async_migrate_segments(source.recording_id, target.recording_id))
        self.memory.end_move(is_moved=True)
        self.await_signals(source.recording_id, RecordingSignal.DELETE)
        self._check_replay(target.recording_id, self.memory.recordings[target.recording_id])

    def _is_joined(self, source: RecordingDescriptor, target: RecordingDescriptor) -> bool:
        """Return whether a recording can be moved to another: without files of the other one that are not a part of it."""
        joined = {source.stop_position: target.start_position, source.start_position: target.stop_position}
        return (
            source.start_position < source.stop_position
            and (source.stream_id, source.initial_term_id) == (target.stream_id, target.initial_term_id)
            and not self.memory.recordings[target.recording_id].detached
            and any(seam == other and seam % source.segment_file_length == 0 for seam, other in joined.items())
        )

    def _check_replay(self, recording_id: int, recorded: Recorded) -> None:
        if self.is_faultless:
            self.check_messages(recording_id, self.client.replayed(recording_id), recorded.messages)
