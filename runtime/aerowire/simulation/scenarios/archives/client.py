"""A client of an archive in a world, for those outside of it: each call lets the world run until it has its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aerowire.archive.client.aeron_archive import AeronArchive
from aerowire.archive.client.parameters import REPLAY_ALL_AND_STOP, ReplayParams
from aerowire.base.errors import AerowireError
from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.simulation.scenarios.plan import MS, SECOND

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor, RecordingSignalEvent
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.world import SimulatedWorld

IPC: Final = "aeron:ipc?term-length=64k"
REPLAYED: Final = 1002  # stream
T = TypeVar("T")


class NoProgressError(AerowireError):
    """Something has not happened in time."""


class Replay:
    """A replay that is read: its messages, and how far it has come. `poll` is a part of its client's work."""

    def __init__(self, subscription: Subscription) -> None:
        self.messages: list[bytes] = []
        self._subscription = subscription
        self._image: Image | None = None
        self._assembler = FragmentAssembler(self._on_message)

    @property
    def position(self) -> int:
        """How far it has come; -1 before it has begun."""
        return -1 if self._image is None else self._image.position

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._image is not None and (self._image.is_closed or self._image.is_end_of_stream)

    def poll(self) -> int:
        """Read some; return how much."""
        if self._image is None and (images := self._subscription.images):
            (self._image,) = images
        return self._subscription.poll(self._assembler, 100)

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: object) -> None:
        self.messages.append(bytes(buffer[offset : offset + length]))


class ArchiveClient:
    """An application beside an archive. `signals` are those that have come, oldest first."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost) -> None:
        """Connect. Raises NoProgressError, and what the archive refuses it with."""
        self.world = world
        self.host = host
        self.signals: list[RecordingSignalEvent] = []
        self._work: list[Callable[[], int]] = []
        self.client = host.connect(work=self._do_work)
        options: dict[str, Any] = {
            "control_request_channel": IPC,
            "control_response_channel": IPC,
            "aeron": self.client.aeron,
            "recording_signal_consumer": self.signals.append,
        }
        connecting = AeronArchive.async_connect(**options)
        self._work.append(lambda: 0 if connecting.is_done else int(connecting.poll()))
        self.await_that(lambda: connecting.is_done, "a session of the archive")
        self.archive = connecting.result()
        self._work[:] = [self.archive.poll]

    def await_that(self, holds: Callable[[], bool], what: str, limit_ns: int = 20 * SECOND) -> None:
        """Let the world run until something holds. Raises NoProgressError."""
        if not self.world.run(limit_ns, until=holds):
            raise NoProgressError(f"within {limit_ns / SECOND:g} s", where=self.host.address, expected=what, actual="not yet")

    def complete(self, pending: Pending[T], limit_ns: int = 30 * SECOND) -> T:
        """Return the result of an operation of several requests, which goes on while it is polled."""
        poll = self._add(lambda: 0 if pending.is_done else int(pending.poll()))
        try:
            return self.client.complete(pending, limit_ns)
        finally:
            self._work.remove(poll)

    def recordings(self) -> list[RecordingDescriptor]:
        """Return all recordings."""
        return self.complete(self.archive.async_list_recordings())

    def recording(self, recording_id: int) -> RecordingDescriptor:
        """Return a recording that there is."""
        (found,) = self.complete(self.archive.async_list_recording(recording_id))
        return found

    def begin_replay(self, recording_id: int, params: ReplayParams) -> Replay:
        """Return a replay that is read from now on."""
        replay = Replay(self.complete(self.archive.async_replay(recording_id, IPC, REPLAYED, params)))
        self._add(replay.poll)
        return replay

    def end_replay(self, replay: Replay) -> None:
        """Read no more of a replay."""
        self._work.remove(replay.poll)
        replay.close()

    def read(self, recording_id: int, params: ReplayParams, stop_position: int) -> list[bytes]:
        """Return the messages of a replay that ends by itself. Raises ArchiveError when it ends before a position, NoProgressError."""
        replay = self.begin_replay(recording_id, params)
        self.await_that(lambda: replay.is_over, "the end of a replay", 60 * SECOND)
        if replay.position < stop_position:
            self.world.run(SECOND)
            error = self.archive.poll_for_error_response()
            raise error or NoProgressError(
                "a replay has ended without an error", where=f"recording {recording_id}", expected=stop_position, actual=replay.position
            )
        self.end_replay(replay)
        if replay.position != stop_position:
            raise NoProgressError(
                "a replay has gone too far", where=f"recording {recording_id}", expected=stop_position, actual=replay.position
            )
        return replay.messages

    def replayed(self, recording_id: int) -> list[bytes]:
        """Return the messages of a recording. Raises ArchiveError when its replay ends before the recording does, NoProgressError."""
        end = self.complete(self.archive.async_get_max_recorded_position(recording_id))
        if self.recording(recording_id).start_position == end:
            return []
        return self.read(recording_id, ReplayParams(length=REPLAY_ALL_AND_STOP), end)

    def publish(self, publication: ExclusivePublication, message: bytes) -> bool:
        """Publish a message when there is room; return whether there was within 2 s."""
        return self.world.run(2 * SECOND, until=lambda: not publication.is_closed and publication.offer(message) > 0)

    def pause(self, duration_ns: int = 10 * MS) -> None:
        """Let the world run for a while."""
        self.world.run(duration_ns)

    def _add(self, work: Callable[[], int]) -> Callable[[], int]:
        self._work.append(work)
        return work

    def _do_work(self) -> int:
        return sum(work() for work in list(self._work))
