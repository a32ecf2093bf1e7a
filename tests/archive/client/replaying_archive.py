"""A scripted archive that replays: a stream of numbered messages, published live, read by a spy as a recorder would, and replayed."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from aerowire.client import ExclusivePublication, Pending, initial_position
from aerowire.codecs.flyweights.archive.messages.recording_descriptor import RecordingDescriptor
from aerowire.simulation.host import SimulatedHost
from tests.support.scripted.archive import SESSION_ID, ScriptedArchive, error, ok

STREAM_ID = 3001
RECORDING_ID = 6
FRAME, TERM_LENGTH = 256, 64 * 1024  # frames fill terms to the end: the position of message n is n * FRAME
PAYLOAD = FRAME - 32
LIVE_CHANNEL = "aeron:udp?control=10.0.0.1:9000|control-mode=dynamic|term-length=64k|ssc=true"
LIVE_DESTINATION = "aeron:udp?endpoint=10.0.0.2:0|control=10.0.0.1:9000|control-mode=dynamic"


def message(number: int) -> bytes:
    return struct.pack("<i", number).ljust(PAYLOAD, b".")


class Replay:
    """One replay: its publication, and the number of the next message."""

    def __init__(self, publication: ExclusivePublication, number: int) -> None:
        self.publication = publication
        self.number = number

    def work(self, position: int) -> int:
        """Publish what is recorded and finds room; return how many messages."""
        begin = self.number
        while self.number * FRAME < position and self.publication.offer(message(self.number)) > 0:
            self.number += 1
        return self.number - begin


class ReplayingArchive(ScriptedArchive):
    """Publishes `send` messages live, and replays to whoever asks what its spy has read. `position` is how far that has come."""

    def __init__(self, host: SimulatedHost, channel: str) -> None:
        super().__init__(host, channel)
        self.live: ExclusivePublication = self.client.complete(self.client.aeron.async_add_exclusive_publication(LIVE_CHANNEL, STREAM_ID))
        self._spy = self.client.complete(self.client.aeron.async_add_subscription(f"aeron-spy:{LIVE_CHANNEL}", STREAM_ID))
        self.sent = 0
        self.unsent = 0
        self.position = 0
        self._opening_live: Pending[ExclusivePublication] | None = None
        self.ahead = 0  # bytes that are recorded although the live stream does not bring them
        self.replays: list[Replay] = []
        self._opening_replay: Pending[ExclusivePublication] | None = None
        self._replay_from = 0
        self.answers |= {
            "ListRecordingRequest": lambda request: [self.descriptor(request)],
            "MaxRecordedPositionRequest": lambda request: [ok(request, self.position + self.ahead)],
            "ReplayRequest": self._start_replay,
            "StopReplayRequest": self._stop_replay,
        }

    def descriptor(self, request: Any) -> RecordingDescriptor:
        return RecordingDescriptor(
            control_session_id=SESSION_ID,
            correlation_id=request.correlation_id,
            recording_id=RECORDING_ID,
            start_timestamp=0,
            stop_timestamp=-1,
            start_position=0,
            stop_position=-1,
            initial_term_id=self.live.initial_term_id,
            segment_file_length=1 << 27,
            term_buffer_length=TERM_LENGTH,
            mtu_length=1408,
            session_id=self.live.session_id,
            stream_id=STREAM_ID,
            stripped_channel=LIVE_CHANNEL,
            original_channel=LIVE_CHANNEL,
            source_identity="aeron:ipc",
        )

    def send(self, count: int) -> None:
        """Have that many more messages published, whether anyone listens or not."""
        self.unsent += count

    def restart_live(self) -> None:
        """Begin the live stream again at its end, in a new session, as a publisher that was started again; the recording is extended."""
        start = initial_position(self.live.position, self.live.initial_term_id, TERM_LENGTH)
        del start["term_length"]
        parameters = "|".join(f"{key.replace('_', '-')}={value}" for key, value in start.items())
        self.live.close()
        self._opening_live = self.client.aeron.async_add_exclusive_publication(f"{LIVE_CHANNEL}|{parameters}", STREAM_ID)

    def stop_replaying(self) -> None:
        """End the replays, as for an archive that fails to read."""
        for replay in self.replays:
            replay.publication.close()
        self.replays.clear()

    def _work(self) -> int:
        done = super()._work()
        if not hasattr(self, "position"):
            return done
        if self._opening_live is not None and self._opening_live.poll():
            self.live, self._opening_live = self._opening_live.result(), None
        while self.unsent and not self.live.is_closed and self.live.offer(message(self.sent)) > 0:
            self.sent, self.unsent, done = self.sent + 1, self.unsent - 1, done + 1
        done += self._spy.poll(lambda *_: None, 100)
        self.position = max((image.position for image in self._spy.images), default=self.position)
        if self._opening_replay is not None and self._opening_replay.poll():
            self.replays.append(Replay(self._opening_replay.result(), self._replay_from))
            self._opening_replay = None
            done += 1
        return done + sum(replay.work(self.position + self.ahead) for replay in self.replays)

    def _start_replay(self, request: Any) -> Iterable[Any]:
        start = initial_position(request.position, self.live.initial_term_id, TERM_LENGTH)
        parameters = "|".join(f"{key.replace('_', '-')}={value}" for key, value in start.items())
        channel = f"{request.replay_channel}|{parameters}"
        self._opening_replay = self.client.aeron.async_add_exclusive_publication(channel, request.replay_stream_id)
        self._replay_from = request.position // FRAME
        return [ok(request, (5 << 32) | (self.live.session_id & 0xFFFFFFFF))]

    def _stop_replay(self, request: Any) -> Iterable[Any]:
        self.stop_replaying()
        return [ok(request)] if request.replay_session_id >> 32 == 5 else [error(request, 6, "unknown replay")]
