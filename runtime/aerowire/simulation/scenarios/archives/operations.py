"""The operations of a life: what the client asks of its archive, and the answers that it has to get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.archive.client.parameters import ReplayParams
from aerowire.base.channel_builder import initial_position
from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights.archive import RecordingSignal
from aerowire.simulation.scenarios.archives.acting import Acting
from aerowire.simulation.scenarios.archives.client import IPC, ArchiveClient, NoProgressError
from aerowire.simulation.scenarios.archives.copy_operations import CopyOperations
from aerowire.simulation.scenarios.archives.plan import Act, Operation
from aerowire.simulation.scenarios.archives.segment_operations import SegmentOperations
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import MS, SECOND
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.archive.client.composite_commands import ContinuedPublication
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.simulation.scenarios.archives.client import Replay
    from aerowire.simulation.scenarios.archives.living_source import LivingSource
    from aerowire.simulation.scenarios.archives.recorded import Memory, Recorded
    from aerowire.simulation.scenarios.archives.source import SourceArchive

STREAMS: Final = (2001, 2003)  # the first and the last
BOUND_TYPE: Final = 1_001  # of the counter that bounds a replay: a user's own


class Operations(Acting):
    """One life's operations."""

    def __init__(
        self,
        client: ArchiveClient,
        memory: Memory,
        source: SourceArchive | None,
        living_source: LivingSource | None,
        *,
        is_faultless: bool,
    ) -> None:
        super().__init__(client, memory, is_faultless=is_faultless)
        self._source = source
        self._segments = SegmentOperations(client, memory, is_faultless=is_faultless)
        self._acts = {
            Act.RECORD: self._record,
            Act.REPLAY_PART: self._replay_part,
            Act.REPLAY_BOUNDED: self._replay_bounded,
            Act.LIST: self._list,
            Act.TRUNCATE: self._truncate,
            Act.PURGE: self._purge,
            Act.PURGE_SEGMENTS: self._purge_segments,
            Act.REPLICATE: self._replicate,
            Act.EXTEND_WRONGLY: self._extend_wrongly,
            Act.EXTEND_BY_ANOTHER: self._extend_by_another,
            **self._segments.acts,
        }
        if living_source is not None:
            self._acts |= CopyOperations(client, memory, living_source, is_faultless=is_faultless).acts

    @property
    def messages(self) -> int:
        """How many messages were published."""
        return self.published + self._segments.published

    def perform(self, operation: Operation) -> None:
        """Do an operation. Raises ViolationError for an answer that is wrong, or none; AerowireError where a fault may be the reason."""
        try:
            self._acts[operation.act](Draws("operation", operation.seed))
        except AerowireError as error:
            if self.is_faultless:
                expected = f"to {operation.act.value} as asked for"
                raise ViolationError("a sound archive does what it is asked for", expected, error, self.client.host.address) from error
            raise

    def leave_unfinished(self, draws: Draws) -> None:
        """Record, and stop in the middle of it."""
        added, recorded = self._begin(draws)
        self.publish(draws, added.publication, recorded)
        self.client.pause(1 + draws.whole(0, 3 * MS))

    def record_until(self, draws: Draws, fail: Callable[[], None]) -> None:
        """Record, and go on after something has failed."""
        added, recorded = self._begin(draws)
        self.publish(draws, added.publication, recorded)
        fail()
        for message in (b"after the failure" * draws.whole(1, 100) for _ in range(10)):
            if added.publication.offer(message) > 0:
                recorded.add(message, added.publication.position)
        self.client.pause(SECOND)

    # -- Recording -----------------------------------------------------------------------------------------------------

    def _record(self, draws: Draws) -> None:
        """Begin or continue a recording, which may be followed by a replay, and see how it ends."""
        known = {found.recording_id for found in self.client.recordings()}
        added, recorded = self._begin(draws)
        recording_id, publication = added.recording_id, added.publication
        already = len(recorded.messages)
        replay = self.client.begin_replay(recording_id, ReplayParams(position=added.position)) if draws.happens(0.2) else None
        self.publish(draws, added.publication, recorded)
        if self.is_faultless:
            self.client.complete(self.archive.async_await_recorded(recording_id, publication.position))
        position = self.client.complete(self.archive.async_get_max_recorded_position(recording_id))
        end = publication.position
        if position > end:
            raise self.wrong("what is acknowledged was published", f"recording {recording_id} up to {end} at most", position)
        recorded.acknowledged = max(recorded.acknowledged, position)
        if position < end and self.is_faultless:
            raise self.wrong("what is published is recorded", f"recording {recording_id} up to {end}", position)
        publication.close()
        if replay is not None:
            self.client.await_that(lambda: replay.is_over, "the end of a replay that follows a recording")
            self.client.end_replay(replay)
            self.check_messages(recording_id, replay.messages, recorded.messages[already:])
        if self.is_faultless:
            self.await_stop(recording_id, end)
            first = RecordingSignal.EXTEND if recording_id in known else RecordingSignal.START
            self.await_signals(recording_id, first, RecordingSignal.STOP)
        else:
            self.client.pause(draws.whole(1, 300 * MS))

    def _begin(self, draws: Draws) -> tuple[ContinuedPublication, Recorded]:
        self.client.signals.clear()
        stream_id = draws.whole(*STREAMS)
        added = self.client.complete(self.archive.async_add_continued_publication(IPC, stream_id))
        return added, self.memory.continued(added.recording_id, stream_id, added.position)

    def _extend_wrongly(self, draws: Draws) -> None:
        """Ask for an extension, and publish from a later position on."""
        if self.is_faultless and (found := self.any_stopped(draws)) is not None:
            self._extend(found, initial_position(found.stop_position + 64, found.initial_term_id, found.term_buffer_length))

    def _extend_by_another(self, draws: Draws) -> None:
        """Ask for an extension, and publish a stream of other parameters."""
        if not self.is_faultless or (found := self.any_stopped(draws)) is None:
            return
        end, term_id, term_length = found.stop_position, found.initial_term_id, found.term_buffer_length
        places = [
            initial_position(end + term_length, term_id, term_length),
            initial_position(abs(end - 32), term_id, term_length),
            initial_position(end, term_id ^ 1, term_length),
            initial_position(end, term_id, 2 * term_length),
            {**initial_position(end, term_id, term_length), "mtu": found.mtu_length + 32},
        ]
        self._extend(found, draws.one_of(places))

    def _extend(self, found: RecordingDescriptor, place: dict[str, int]) -> None:
        """Ask for an extension, and publish what does not continue the recording: it has to be refused."""
        client, recording_id = self.client, found.recording_id
        client.complete(self.archive.async_extend_recording(recording_id, IPC, found.stream_id))
        channel = "aeron:ipc?" + "|".join(f"{name.replace('_', '-')}={value}" for name, value in place.items())
        publication = client.complete(client.client.aeron.async_add_exclusive_publication(channel, found.stream_id))
        client.pause(SECOND)
        if publication.is_connected:
            client.publish(publication, b"wrong")
        client.pause(100 * MS)
        publication.close()
        client.complete(self.archive.async_try_stop_recording(IPC, found.stream_id))
        client.pause(SECOND)
        if (after := client.recording(recording_id)) != found:
            raise self.wrong("what does not continue a recording is refused", found, after)
        client.archive.poll_for_error_response()

    # -- Reading -------------------------------------------------------------------------------------------------------

    def _replay_part(self, draws: Draws) -> None:
        """Replay from one message up to another."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        first = draws.whole(0, len(recorded.messages) - 1)
        last = draws.whole(first, len(recorded.messages) - 1)
        begin, end = recorded.positions[first - 1] if first else recorded.start, recorded.positions[last]
        messages = self.client.read(found.recording_id, ReplayParams(position=begin, length=end - begin), end)
        self.check_messages(found.recording_id, messages, recorded.messages[first : last + 1])

    def _replay_bounded(self, draws: Draws) -> None:
        """Replay up to the value of a counter, which then moves to the end."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        client, count = self.client, draws.whole(0, len(recorded.messages) - 1)
        counter = client.complete(client.client.aeron.async_add_counter(BOUND_TYPE, "bound"))
        counter.value = recorded.positions[count]
        length, end = found.stop_position - found.start_position, recorded.positions[-1]
        params = ReplayParams(length=length, bounding_limit_counter_id=counter.counter_id)
        replay = client.begin_replay(found.recording_id, params)
        for bound in (counter.value, end):
            counter.value = bound
            self._await_position(replay, bound)
            client.pause(20 * MS)
            if replay.position > bound:
                raise self.wrong("a replay stays within its bound", bound, replay.position)
            self.check_messages(found.recording_id, replay.messages, recorded.messages[: recorded.count(bound)])
        client.complete(self.archive.async_stop_all_replays(found.recording_id))
        client.await_that(lambda: replay.is_over, "the end of a replay that was stopped")  # until then its recording is not purged
        client.end_replay(replay)
        counter.close()

    def _await_position(self, replay: Replay, position: int) -> None:
        self.client.await_that(lambda: replay.position >= position or replay.is_over, f"a replay at {position}")

    def _list(self, draws: Draws) -> None:
        """List some recordings from an id on."""
        known = [found.recording_id for found in self.client.recordings()]
        first, count = draws.whole(0, max(known, default=0) + 1), draws.whole(1, 5)
        found = self.client.complete(self.archive.async_list_recordings(first, count))
        expected = [recording_id for recording_id in known if recording_id >= first][:count]
        if [one.recording_id for one in found] != expected:
            raise self.wrong("a listing has what was asked for", expected, [one.recording_id for one in found])

    # -- Taking away ---------------------------------------------------------------------------------------------------

    def _truncate(self, draws: Draws) -> None:
        """Cut a recording at the end of one of its messages."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        count = draws.whole(0, len(recorded.messages))
        position = recorded.positions[count - 1] if count else recorded.start
        if position == recorded.start:
            recorded.kept_from = position  # all files go, those that were detached too
        recorded.is_doubtful = True
        self.client.signals.clear()
        self.client.complete(self.archive.async_truncate_recording(found.recording_id, position))
        recorded.is_doubtful = False
        recorded.cut(position)
        recorded.acknowledged = position
        self.await_signals(found.recording_id, RecordingSignal.DELETE)

    def _purge(self, draws: Draws) -> None:
        """Take a recording away."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        recorded.is_doubtful = True
        self.client.signals.clear()
        self.client.complete(self.archive.async_purge_recording(found.recording_id))
        del self.memory.recordings[found.recording_id]
        self.await_signals(found.recording_id, RecordingSignal.DELETE)

    def _purge_segments(self, draws: Draws) -> None:
        """Take the first segments of a recording away."""
        if (chosen := self.known_stopped(draws)) is None:
            return
        found, recorded = chosen
        length = found.segment_file_length
        first, last = recorded.start // length + 1, found.stop_position // length
        if first > last:
            return
        position = draws.whole(first, last) * length
        recorded.is_doubtful = True
        self.client.signals.clear()
        self.client.complete(self.archive.async_purge_segments(found.recording_id, position))
        recorded.is_doubtful = False
        recorded.begin_at(position)
        self.await_signals(found.recording_id, RecordingSignal.DELETE)
        if self.is_faultless:
            self.check_messages(found.recording_id, self.client.replayed(found.recording_id), recorded.messages)

    # -- Copying -------------------------------------------------------------------------------------------------------

    def _replicate(self, _draws: Draws) -> None:
        """Copy the recording of the source."""
        if self._source is None:
            return
        client, source = self.client, self._source
        client.signals.clear()
        client.complete(self.archive.async_replicate(source.recording_id, source.control_stream_id, source.control_channel))
        ends = (RecordingSignal.REPLICATE_END,)
        client.await_that(lambda: any(one.signal in ends for one in client.signals), "the end of a replication", 60 * SECOND)
        made = next((one.recording_id for one in client.signals if one.signal is RecordingSignal.REPLICATE), None)
        if made is None:
            raise NoProgressError("a replication has made no recording", where=source.control_channel, expected="the signal REPLICATE")
        recorded = self.memory.continued(made, source.recorded.stream_id, 0)
        recorded.messages, recorded.positions = source.recorded.messages[:], source.recorded.positions[:]
        if any(one.signal is RecordingSignal.SYNC for one in client.signals):
            recorded.acknowledged = source.recorded.acknowledged
            self.await_stop(made, source.recorded.acknowledged)
            self.check_messages(made, client.replayed(made), recorded.messages)
        elif self.is_faultless:
            seen = [one.signal.name for one in client.signals]
            raise self.wrong("signals arrive", "SYNC at the end of a copy", seen)
