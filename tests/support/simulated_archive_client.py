"""A client of an archive in a simulated world, with a publication that is recorded."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from aerowire.archive import AeronArchive, RecordingDescriptor, ReplayParams
from aerowire.archive.client.parameters import REPLAY_ALL_AND_STOP
from aerowire.client import ExclusivePublication, FragmentAssembler, Pending
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld

MS, SECOND = 1_000_000, 1_000_000_000
IPC = "aeron:ipc?term-length=64k"
STREAM, REPLAYED = 1001, 1002
T = TypeVar("T")


def is_taken(publication: ExclusivePublication, message: bytes) -> bool:
    """Offer a message; return whether there was room for it, which a closed publication has none of."""
    return not publication.is_closed and publication.offer(message) > 0


class ArchiveClient:
    """An application beside an archive. Its calls let the world run until they are answered."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost) -> None:
        self.world = world
        self.host = host
        self.client = host.connect()
        options: dict[str, Any] = {"control_request_channel": IPC, "control_response_channel": IPC, "aeron": self.client.aeron}
        connecting = AeronArchive.async_connect(**options)
        self.client.start(lambda: 0 if connecting.is_done else int(connecting.poll()))
        assert world.run(10 * SECOND, until=lambda: connecting.is_done)
        self.archive = connecting.result()
        self.client.start(self.archive.poll)

    def record(self) -> tuple[ExclusivePublication, int]:
        """Return a publication, and the id of its recording, which has begun."""
        self.client.complete(self.archive.async_start_recording(IPC, STREAM))
        publication = self.client.complete(self.client.aeron.async_add_exclusive_publication(IPC, STREAM))
        assert self.world.run(10 * SECOND, until=lambda: publication.is_connected)
        while not (found := self.recordings()):
            self.world.run(10 * MS)
        return publication, found[-1].recording_id

    def send(self, publication: ExclusivePublication, messages: list[bytes]) -> None:
        """Publish messages, some at a time."""
        for number, message in enumerate(messages):
            assert self.world.run(10 * SECOND, until=partial(is_taken, publication, message))
            if number % 10 == 9:
                self.world.run(MS)

    def complete(self, pending: Pending[T], limit_ns: int = 30 * SECOND) -> T:
        """Return the result of an operation of several requests, which goes on while it is polled."""
        self.client.start(lambda: 0 if pending.is_done else int(pending.poll()))
        try:
            return self.client.complete(pending, limit_ns)
        finally:
            if not self.client.has_ended:
                self.client.start(self.archive.poll)

    def recordings(self) -> list[RecordingDescriptor]:
        """Return all recordings."""
        return self.client.complete(self.archive.async_list_recordings())

    def position(self, recording_id: int) -> int:
        """Return up to where a recording is durable."""
        return self.client.complete(self.archive.async_get_recording_position(recording_id))

    def replayed(self, recording_id: int) -> list[bytes]:
        """Return the messages of a recording. Raises ArchiveError when its replay ends before the recording does."""
        (recording,) = [found for found in self.recordings() if found.recording_id == recording_id]
        if recording.start_position == recording.stop_position:
            return []
        params = ReplayParams(length=REPLAY_ALL_AND_STOP)
        subscription = self.complete(self.archive.async_replay(recording_id, IPC, REPLAYED, params))
        messages: list[bytes] = []

        assembler = FragmentAssembler(lambda buffer, offset, length, _: messages.append(bytes(buffer[offset : offset + length])))

        def work() -> int:
            return subscription.poll(assembler, 100) + self.archive.poll()

        self.client.start(work)
        assert self.world.run(10 * SECOND, until=lambda: bool(subscription.images))
        (image,) = subscription.images
        assert self.world.run(60 * SECOND, until=lambda: image.is_closed or image.is_end_of_stream)
        self.client.start(self.archive.poll)
        if image.position < recording.stop_position:
            self.world.run(SECOND)
            error = self.archive.poll_for_error_response()
            assert error is not None, f"the replay of {recording} ended at {image.position} without an error"
            raise error
        subscription.close()
        return messages
