"""Every operation of an archive by our client, each with its result or its error code.

What tests/interop/java/ArchiveOperations.java does with the official client, in the same order and by the same names.
"""

from __future__ import annotations

from collections.abc import Callable

from aerowire.archive import REPLAY_ALL_AND_STOP, AeronArchive, ReplayParams, ReplicationParams
from aerowire.client import build_channel, initial_position
from tests.interop.archive.work import ArchiveWork
from tests.support.waiting import wait_until

STREAM_ID = 1001
LENGTH, FRAME, SEGMENT = 100, 160, 64 * 1024
CHANNEL = "aeron:ipc?term-length=64k|alias=a"
OTHER = "aeron:ipc?term-length=64k|alias=b"
REPLAY_STREAM_ID = 2001
IPC = "aeron:ipc"


class Operations(ArchiveWork):
    """One run on a fresh archive. `source` is the control channel by which the archive reaches itself, `response` a response channel."""

    def __init__(self, connect: Callable[..., AeronArchive], *, source: str, response: str | None) -> None:
        super().__init__(connect, message_length=LENGTH)
        self._source = source
        self._response = response

    def run(self) -> list[tuple[str, str]]:
        """Do all, and return what came of each."""
        with self.archive:
            for part in (self._empty, self._record, self._replay, self._truncate_and_extend, self._segments, self._replicate, self._purge):
                part()
        return self.found

    # ---- the parts

    def _empty(self) -> None:
        archive, say = self.archive, self.say
        say("archive id", lambda: archive.archive_id)
        say("list nothing", lambda: len(archive.list_recordings(0, 10)))
        say("list unknown", lambda: len(archive.list_recording(99)))
        say("list subscriptions of nothing", lambda: len(archive.list_recording_subscriptions(count=10)))
        for unknown in (0, 99):
            say(f"start position of unknown {unknown}", lambda unknown=unknown: archive.get_start_position(unknown))
            say(f"recording position of unknown {unknown}", lambda unknown=unknown: archive.get_recording_position(unknown))
            say(f"stop position of unknown {unknown}", lambda unknown=unknown: archive.get_stop_position(unknown))
            say(f"max recorded position of unknown {unknown}", lambda unknown=unknown: archive.get_max_recorded_position(unknown))
        say("find in nothing", lambda: archive.find_last_matching_recording(0, "ipc", STREAM_ID, 5))
        say("replay unknown", lambda: archive.start_replay(99, IPC, REPLAY_STREAM_ID, ReplayParams(position=0, length=100)))
        say("stop unknown by identity", lambda: archive.try_stop_recording_by_identity(99))
        say("stop unknown subscription", lambda: archive.stop_recording(987654))
        say("try to stop unknown subscription", lambda: archive.try_stop_recording(987654))
        say("stop unknown channel", lambda: archive.stop_recording("aeron:udp?endpoint=localhost:9", 5))
        say("try to stop unknown channel", lambda: archive.try_stop_recording("aeron:udp?endpoint=localhost:9", 5))
        say("start on a channel that is none", lambda: archive.start_recording("nonsense", 5))

    def _record(self) -> None:
        archive, say = self.archive, self.say
        with self.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            subscription_id = archive.start_recording(CHANNEL, STREAM_ID)
            self.publish(publication, 20)
            self.recorded(0, publication.position)
            say("start again", lambda: archive.start_recording(CHANNEL, STREAM_ID))
            say("list subscriptions", lambda: self._subscriptions("ipc", STREAM_ID))
            say("list subscriptions of another stream", lambda: self._subscriptions("ipc", STREAM_ID + 1))
            say("positions of active", lambda: self.positions(0))
            say("truncate active", lambda: archive.truncate_recording(0, FRAME))
            say("purge active", lambda: archive.purge_recording(0))
            say("extend active", lambda: archive.extend_recording(0, CHANNEL, STREAM_ID))
            say("stop", lambda: archive.stop_recording(subscription_id))
            say("positions of stopped", lambda: self.positions(0))
            session_id = publication.session_id
            say("find last", lambda: archive.find_last_matching_recording(0, "ipc", STREAM_ID, session_id))
            say("find last of another session", lambda: archive.find_last_matching_recording(0, "ipc", STREAM_ID, session_id + 1))
            say("list", lambda: len(archive.list_recordings(0, 10)))
            say("list for uri", lambda: len(archive.list_recordings_for_uri("ipc", STREAM_ID, count=10)))
            say("list for another uri", lambda: len(archive.list_recordings_for_uri("udp", STREAM_ID, count=10)))
            self._describe(0)

    def _replay(self) -> None:
        archive, say = self.archive, self.say
        say("replay all", lambda: self._replayed(ReplayParams(position=0, length=20 * FRAME)))
        say("replay all and stop", lambda: self._replayed(ReplayParams(length=REPLAY_ALL_AND_STOP)))
        say("replay the middle", lambda: self._replayed(ReplayParams(position=5 * FRAME, length=4 * FRAME)))
        with self.aeron.add_counter(1101, "limit of a replay") as limit:
            limit.value = 15 * FRAME
            bound = ReplayParams(position=0, length=15 * FRAME, bounding_limit_counter_id=limit.counter_id)
            say("replay bounded", lambda: self._replayed(bound))
        say("replay from within a frame", lambda: self._start_replay(position=17, length=100))
        say("replay from an aligned place without a frame", lambda: self._start_replay(position=32, length=100))
        say("replay beyond the end", lambda: self._start_replay(position=21 * FRAME, length=100))
        say("replay with a short read", lambda: self._start_replay(position=0, file_io_max_length=64))
        say("replay bounded by no counter", lambda: self._start_replay(position=0, bounding_limit_counter_id=99999) >= 0)
        say("stop unknown replay", lambda: archive.stop_replay(987654))
        say("start and stop a replay", lambda: archive.stop_replay(self._start_replay(position=0, length=20 * FRAME)))
        say("stop all replays", lambda: (archive.stop_all_replays(0), archive.stop_all_replays(-1))[1])
        response = self._response
        if response is not None:
            say(
                "replay by a response channel",
                lambda: self.received(archive.replay(0, response, REPLAY_STREAM_ID, ReplayParams(position=0, length=20 * FRAME))),
            )

    def _truncate_and_extend(self) -> None:
        archive, say = self.archive, self.say
        say("truncate to no position", lambda: archive.truncate_recording(0, 3))
        say("truncate beyond the end", lambda: archive.truncate_recording(0, 1 << 30))
        say("truncate unknown", lambda: archive.truncate_recording(99, 0))
        say("truncate", lambda: archive.truncate_recording(0, 10 * FRAME))
        say("positions of truncated", lambda: self.positions(0))
        say("extend unknown", lambda: archive.extend_recording(99, CHANNEL, STREAM_ID))
        say("extend another stream", lambda: archive.extend_recording(0, CHANNEL, STREAM_ID + 1))
        (descriptor,) = archive.list_recording(0)
        start = initial_position(10 * FRAME, descriptor.initial_term_id, SEGMENT)
        with self.aeron.add_exclusive_publication(build_channel("ipc", alias="a", is_spy=False, **start), STREAM_ID) as publication:
            archive.extend_recording(0, CHANNEL, STREAM_ID)
            self.publish(publication, 7)
            self.recorded(0, publication.position)
            say("stop by channel", lambda: archive.stop_recording(CHANNEL, STREAM_ID))
        say("positions of extended", lambda: self.positions(0))
        say("replay extended", lambda: self._replayed(ReplayParams(length=REPLAY_ALL_AND_STOP)))
        say("update channel", lambda: archive.update_channel(0, "aeron:ipc?alias=updated"))
        say("update channel of unknown", lambda: archive.update_channel(99, IPC))
        self._describe(0)

    def _segments(self) -> None:
        archive, say = self.archive, self.say
        with archive.add_recorded_exclusive_publication(OTHER, STREAM_ID) as publication:
            self.publish(publication, 2000)
            self.recorded(1, publication.position)
            archive.stop_recording(publication)
        say("positions of the second", lambda: self.positions(1))
        say("detach to no segment", lambda: archive.detach_segments(1, 100))
        say("detach", lambda: archive.detach_segments(1, 2 * SEGMENT))
        say("attach", lambda: archive.attach_segments(1))
        say("attach what is not there", lambda: archive.attach_segments(1))
        say("detach again", lambda: archive.detach_segments(1, 2 * SEGMENT))
        say("delete detached", lambda: archive.delete_detached_segments(1))
        say("purge segments to no segment", lambda: archive.purge_segments(1, 100))
        say("purge segments", lambda: archive.purge_segments(1, 3 * SEGMENT))
        say("purge segments of unknown", lambda: archive.purge_segments(99, 0))
        say("positions of purged", lambda: self.positions(1))
        say("replay purged", lambda: archive.start_replay(1, IPC, REPLAY_STREAM_ID, ReplayParams(position=0, length=100)))
        say("migrate what does not join", lambda: archive.migrate_segments(0, 1))

    def _replicate(self) -> None:
        archive, say = self.archive, self.say
        say("stop unknown replication", lambda: archive.stop_replication(55))
        say("try to stop unknown replication", lambda: archive.try_stop_replication(55))
        say("replicate to unknown", lambda: archive.replicate(0, 10, self._source, ReplicationParams(dst_recording_id=99)))
        self.signals.clear()
        say("replicate", lambda: archive.replicate(0, 10, self._source) >= 0)
        self.until("REPLICATE_END and STOP", lambda: {"REPLICATE_END", "STOP"} <= {text.split()[0] for text in self.signals})
        say("signals of a replication", lambda: ", ".join(sorted(self.signals)))
        say("positions of the copy", lambda: self.positions(2))
        self.signals.clear()
        say("replicate unknown", lambda: archive.replicate(4321, 10, self._source) >= 0)
        errors: list[str] = []

        def has_error() -> bool:
            error = archive.poll_for_error_response()
            errors.extend([error.what] if error is not None else [])
            return bool(errors)

        wait_until(has_error, "the error of a replication")
        say("error of a replication", lambda: errors[0].removeprefix("the archive reports an error: "))

    def _purge(self) -> None:
        archive, say = self.archive, self.say
        say("purge unknown", lambda: archive.purge_recording(77))
        say("purge", lambda: archive.purge_recording(2))
        say("list purged", lambda: len(archive.list_recording(2)))
        say("list at last", lambda: len(archive.list_recordings(0, 10)))
        self.signals.clear()
        with self.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
            archive.start_recording(CHANNEL, STREAM_ID, auto_stop=True)
            self.publish(publication, 1)
            self.recorded(3, publication.position)
        self.until("the end of an automatic recording", lambda: f"STOP 3 {FRAME}" in self.signals)
        say("signals of an automatic recording", lambda: ", ".join(self.signals))
        say("subscriptions after it", lambda: len(archive.list_recording_subscriptions(count=10)))

    # ---- below: helpers

    def _subscriptions(self, channel: str, stream_id: int) -> int:
        return len(self.archive.list_recording_subscriptions(channel, stream_id, apply_stream_id=True, count=10))

    def _describe(self, recording_id: int) -> None:
        (found,) = self.archive.list_recording(recording_id)
        names: tuple[str, ...] = ("recording_id", "start_position", "stop_position", "segment_file_length", "term_buffer_length")
        names += ("mtu_length", "stream_id", "stripped_channel", "original_channel", "source_identity")
        self.say(f"descriptor of {recording_id}", lambda: " ".join(str(getattr(found, name)) for name in names))

    def _start_replay(self, **params: int) -> int:
        return self.archive.start_replay(0, IPC, REPLAY_STREAM_ID, ReplayParams(**params))

    def _replayed(self, params: ReplayParams) -> str:
        return self.received(self.archive.replay(0, "aeron:ipc?term-length=64k", REPLAY_STREAM_ID, params))
