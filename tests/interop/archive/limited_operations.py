"""Operations on an archive with limits by our client, each with its result or its error code: what operations.py leaves out.

These are the refusals of an archive that is busy or full, segments that join, streams that do not, and replications that are stopped. What
tests/interop/java/LimitedArchiveOperations.java does with the official client, in the same order and by the same names. One archive serves
several runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from aerowire.archive import REPLAY_ALL_AND_STOP, AeronArchive, RecordingDescriptor, ReplayParams, ReplicationParams
from aerowire.base.errors import ArchiveError
from aerowire.client import build_channel, initial_position
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from tests.interop.archive.recording_watch import RecordingWatch
from tests.interop.archive.work import ArchiveWork
from tests.support.waiting import rest, wait_until

# An archive takes so many recordings and replays at once.
RECORDINGS_MAX, REPLAYS_MAX = 3, 2
LIMITS = {"aeron.archive.max.concurrent.recordings": str(RECORDINGS_MAX), "aeron.archive.max.concurrent.replays": str(REPLAYS_MAX)}
# No file system has that much space left.
FULL = {"aeron.archive.low.storage.space.threshold": str(1 << 62)}

STREAM_ID, REPLAY_STREAM_ID = 1201, 2201
FRAME, SEGMENT = 1024, 64 * 1024
IPC = "aeron:ipc"
FOLLOWING = ReplayParams(position=0)
EMPTY = ReplayParams(length=REPLAY_ALL_AND_STOP)
TERM_ID = 77
# Each descriptor has two channels of this length: together, those of a run exceed the window of a control session.
LONG = 3900


def channel(name: object) -> str:
    return f"aeron:ipc?term-length=64k|alias={name}"


class LimitedOperations(ArchiveWork):
    """One run. `source` is the control channel by which the archive reaches itself."""

    def __init__(self, connect: Callable[..., AeronArchive], *, source: str) -> None:
        super().__init__(connect, message_length=FRAME - 32)
        self._source = source

    def run(self) -> list[tuple[str, str]]:
        """Do all, and return what came of each."""
        with self.archive:
            self.first = len(self.archive.list_recordings(0, 1000))
            for part in (self._record, self._replay, self._extend, self._segments, self._refuse_migrations, self._replicate, self._list):
                part()
        return self.found

    def run_without_space(self) -> list[tuple[str, str]]:
        """Ask an archive without free space for a recording and a listing, and return what came of each."""
        with self.archive:
            self.say("record without space", lambda: self.archive.start_recording(channel(0), STREAM_ID))
            self.say("list without space", lambda: len(self.archive.list_recordings(0, 10)))
        return self.found

    # ---- the parts

    def _record(self) -> None:
        archive, say, first = self.archive, self.say, self.first
        watch = RecordingWatch(archive, first)
        self.until("recording events", lambda: watch.is_connected)
        publications = [self.aeron.add_exclusive_publication(channel(number), STREAM_ID + number) for number in range(RECORDINGS_MAX)]
        subscriptions = []
        for number, (publication, messages) in enumerate(zip(publications, (70, 1, 0), strict=True)):
            subscriptions.append(archive.start_recording(channel(number), STREAM_ID + number))
            self.publish(publication, messages)
            self.recorded(first + number, messages * FRAME)
        say("counter of a position", lambda: watch.counter_of(publications[0].session_id))
        say("record one too many", lambda: archive.start_recording(channel(3), STREAM_ID + 3))
        say("extend one too many", lambda: archive.extend_recording(first, channel(0), STREAM_ID))
        say("subscriptions", self._subscriptions)
        say("update channel of active", lambda: archive.update_channel(first, channel(0)))
        for turn in ("", " again"):
            say(f"stop by identity{turn}", lambda: archive.try_stop_recording_by_identity(first))
            say(f"stop by channel{turn}", lambda: archive.try_stop_recording(channel(1), STREAM_ID + 1))
            say(f"stop by subscription{turn}", lambda: archive.try_stop_recording(subscriptions[2]))
        for publication in publications:
            publication.close()
        for number in range(RECORDINGS_MAX):
            self._stopped(number)
            say(f"positions of {number}", lambda number=number: self.positions(first + number))
        self.until("the end of the recording events", watch.has_stopped)
        say("recording events", lambda: watch.events)
        watch.close()
        with archive.add_recorded_publication(channel(3), STREAM_ID + 3) as shared:
            self.publish(shared, 1)
            self.recorded(first + 3, FRAME)
            say("stop by publication", lambda: archive.stop_recording(shared))
        say("positions of 3", lambda: self.positions(first + 3))
        say("ids from the second on", lambda: " ".join(str(one.recording_id - first) for one in archive.list_recordings(first + 1, 2)))
        say("ids for a channel", lambda: self._ids_for("alias=2", STREAM_ID + 2))
        say("subscriptions after it", self._subscriptions)

    def _replay(self) -> None:
        archive, say, first = self.archive, self.say, self.first
        replays = [self._replay_in_time() for _ in range(REPLAYS_MAX)]  # those of another client may be about to end
        say("replay one too many", lambda: archive.start_replay(first, IPC, REPLAY_STREAM_ID, FOLLOWING))
        say("purge while it is replayed", lambda: archive.purge_recording(first))
        say("detach while it is replayed", lambda: archive.detach_segments(first, SEGMENT))
        say("stop a replay", lambda: archive.stop_replay(replays[0]))
        say("replay when there is room again", lambda: self._replay_in_time() >= 0)
        say("stop all replays", lambda: archive.stop_all_replays(first))
        say("truncate when no replay is left", lambda: self.in_time(lambda: archive.truncate_recording(first, 65 * FRAME)))
        replay_empty = partial(archive.start_replay, first + 2, IPC, REPLAY_STREAM_ID, EMPTY)
        say("replay what is empty", lambda: self.in_time(replay_empty, ArchiveErrorCode.MAX_REPLAYS))
        say("stop what is left", lambda: archive.stop_all_replays(first + 2))

    def _extend(self) -> None:
        archive, say, recording = self.archive, self.say, self.first + 1
        (found,) = archive.list_recording(recording)
        wrong = {
            "position": (2 * FRAME, found.initial_term_id, SEGMENT, found.mtu_length),
            "initial term": (FRAME, found.initial_term_id + 1, SEGMENT, found.mtu_length),
            "term length": (FRAME, found.initial_term_id, 2 * SEGMENT, found.mtu_length),
            "mtu": (FRAME, found.initial_term_id, SEGMENT, 1280),
        }
        for name, (position, term_id, term_length, mtu) in wrong.items():
            start = initial_position(position, term_id, term_length)
            archive.extend_recording(recording, channel(1), STREAM_ID + 1)
            with self.aeron.add_exclusive_publication(build_channel("ipc", alias="1", is_spy=False, mtu=mtu, **start), STREAM_ID + 1):
                say(f"extend with another {name}", self._raise_next_error)
            say(f"stop after another {name}", lambda: archive.try_stop_recording(channel(1), STREAM_ID + 1))
        say("positions after them", lambda: self.positions(recording))
        self.signals.clear()
        archive.extend_recording(recording, channel(1), STREAM_ID + 1, auto_stop=True)
        right = build_channel("ipc", alias="1", is_spy=False, **initial_position(FRAME, found.initial_term_id, SEGMENT))
        with self.aeron.add_exclusive_publication(right, STREAM_ID + 1) as publication:
            self.publish(publication, 1)
            self.recorded(recording, 2 * FRAME)
        self.take_signals("an extension that stops by itself", "STOP")
        self.until("no subscription", lambda: not self._subscriptions())
        say("subscriptions of it", self._subscriptions)

    def _segments(self) -> None:
        archive, say = self.archive, self.say
        early = self._record_at(10 * FRAME, 118)
        say("detach", lambda: archive.detach_segments(early, SEGMENT))
        say("positions of detached", lambda: self.positions(early))
        say("attach", lambda: archive.attach_segments(early))
        say("positions of attached", lambda: self.positions(early))
        say("replay attached", lambda: self._replayed(early))
        say("detach again", lambda: archive.detach_segments(early, SEGMENT))
        say("delete detached", lambda: archive.delete_detached_segments(early))
        self.take_signals("delete detached", "DELETE")
        say("attach deleted", lambda: archive.attach_segments(early))

        late = self._record_at(2 * SEGMENT, 70)
        say("migrate to the recording that follows", lambda: archive.migrate_segments(early, late))
        self.take_signals("migrate", "DELETE")
        say("positions of what is empty", lambda: self.positions(early))
        say("positions of what was joined", lambda: self.positions(late))
        say("replay what was joined", lambda: self._replayed(late))
        say("migrate what is empty", lambda: archive.migrate_segments(early, late))

        # An official recorder that stops at the end of a segment leaves an empty one behind it, which is in the way of a migration.
        before = self._record_at(0, 70)
        say("truncate to a segment", lambda: archive.truncate_recording(before, SEGMENT))
        self.take_signals("truncate", "DELETE")
        behind = self._record_at(SEGMENT, 80)
        say("migrate to the recording before", lambda: archive.migrate_segments(behind, before))
        self.take_signals("migrate back", "DELETE")
        say("positions of both", lambda: f"{self.positions(before)}, {self.positions(behind)}")
        say("replay both", lambda: self._replayed(before))
        say("purge segments of both", lambda: archive.purge_segments(before, 2 * SEGMENT))
        self.take_signals("purge segments", "DELETE")
        say("replay the rest", lambda: self._replayed(before))

    def _refuse_migrations(self) -> None:
        archive, say = self.archive, self.say
        short = self._record_at(0, 10)
        next_to_it = self._record_at(10 * FRAME, 10)
        other_mtu = self._record_at(20 * FRAME, 1, mtu=1280)
        other_stream = self._record_at(20 * FRAME, 1, stream_id=STREAM_ID + 1)
        say("migrate within a segment", lambda: archive.migrate_segments(short, next_to_it))
        say("migrate another mtu", lambda: archive.migrate_segments(other_mtu, next_to_it))
        say("migrate another stream", lambda: archive.migrate_segments(other_stream, next_to_it))
        say("migrate unknown", lambda: archive.migrate_segments(9999, short))
        say("migrate to unknown", lambda: archive.migrate_segments(short, 9999))

    def _replicate(self) -> None:
        archive, say = self.archive, self.say
        before = self._last()
        with archive.add_recorded_exclusive_publication(channel("source"), STREAM_ID) as publication:
            self.publish(publication, 3)
            source = self._recording_after(before)
            self.recorded(source, publication.position)
            say("migrate active", lambda: archive.migrate_segments(source, self.first))
            say("replicate to active", lambda: self._copy(source, ReplicationParams(dst_recording_id=source)))
            response = "aeron:udp?control-mode=response|control=localhost:10001"
            tagged = ReplicationParams(replication_channel=response, channel_tag_id=7)
            say("replicate by response with tags", lambda: self._copy(source, tagged))
            merging = ReplicationParams(replication_channel=response, live_destination="aeron:udp?endpoint=localhost:0")
            say("replicate by response with live", lambda: self._copy(source, merging))
            for stop in (archive.stop_replication, archive.try_stop_replication):
                self.signals.clear()
                replication_id = self._copy(source, ReplicationParams())
                self.await_signals("REPLICATE", "EXTEND")
                copy = self._last()
                self.recorded(copy, 3 * FRAME)
                say("stop a replication", lambda stop=stop, replication_id=replication_id: stop(replication_id))
                self.await_signals("STOP", "REPLICATE_END")
                say("signals of it", lambda: " ".join(sorted(text.split()[0] for text in self.signals)))
                say("positions of the copy", lambda copy=copy: self.positions(copy))
                say("stop it again", lambda stop=stop, replication_id=replication_id: stop(replication_id))
            archive.stop_recording(publication)

    def _list(self) -> None:
        archive, say, first = self.archive, self.say, self.first
        say("recordings in the end", lambda: len(archive.list_recordings(first, 1000)))
        for one in archive.list_recordings(first, 1000):
            archive.update_channel(one.recording_id, channel("x" * LONG))
        # The first fills the window of its session before the second comes.
        listings: list[Pending[list[RecordingDescriptor]]] = [archive.async_list_recordings(first, 1000) for _ in range(2)]
        for turn, listing in enumerate(listings):
            wait_until(listing.poll, "a listing", work=rest)
            say(f"listing {turn}", lambda listing=listing: len(listing.result()))

    # ---- below: helpers

    def _subscriptions(self) -> str:
        return " ".join(sorted(f"{one.stripped_channel}/{one.stream_id}" for one in self.archive.list_recording_subscriptions(count=10)))

    def _ids_for(self, fragment: str, stream_id: int) -> str:
        found = self.archive.list_recordings_for_uri(fragment, stream_id, from_recording_id=self.first, count=10)
        return " ".join(str(one.recording_id - self.first) for one in found)

    def _last(self) -> int:
        return self.archive.list_recordings(self.first, 1000)[-1].recording_id

    def _recording_after(self, before: int) -> int:
        """Wait until there is a recording behind `before`, and return its id."""
        self.until("a recording", lambda: self._last() > before)
        return self._last()

    def _stopped(self, number: int) -> None:
        self.until("a stop", lambda: self.archive.get_stop_position(self.first + number) >= 0)

    def _copy(self, source: int, params: ReplicationParams) -> int:
        return self.archive.replicate(source, 10, self._source, params)

    def _record_at(self, position: int, messages: int, *, mtu: int = 1408, stream_id: int = STREAM_ID) -> int:
        """Record messages from a position on; return the recording's id."""
        start = initial_position(position, TERM_ID, SEGMENT)
        before = self._last()
        with self.archive.add_recorded_exclusive_publication(
            build_channel("ipc", alias=f"at-{position}", is_spy=False, mtu=mtu, **start), stream_id
        ) as publication:
            self.publish(publication, messages)
            recording = self._recording_after(before)
            self.recorded(recording, publication.position)
            self.archive.stop_recording(publication)
        self._stopped(recording - self.first)
        self.signals.clear()
        return recording

    def _replayed(self, recording_id: int) -> str:
        return self.received(self.archive.replay(recording_id, channel("replay"), REPLAY_STREAM_ID, EMPTY))

    def _replay_in_time(self) -> int:
        return self.in_time(lambda: self.archive.start_replay(self.first, IPC, REPLAY_STREAM_ID, FOLLOWING))

    def _raise_next_error(self) -> None:
        errors: list[ArchiveError] = []

        def comes() -> bool:
            error = self.archive.poll_for_error_response()
            errors.extend([error] if error is not None else [])
            return bool(errors)

        wait_until(comes, "an error")
        raise errors[0]
