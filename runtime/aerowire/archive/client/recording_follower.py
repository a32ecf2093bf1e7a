"""A reader of a recording that goes on when the recording does: after it was stopped and extended, too.

A replay ends with the recording that it follows, as officially, and another one has to be asked for when the recording is extended. Here
that is done, at the position that was read last.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from aerowire.archive.client.parameters import NULL_POSITION, ReplayParams
from aerowire.base.errors import ArchiveError
from aerowire.client.subscriptions.assembler import ImageFragmentAssembler
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.archive.client.replay_commands import OpenReplay
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image

    FragmentHandler = Callable[[memoryview, int, int, Header], object]

# How often the archive is asked whether a recording that has stopped goes on.
LOOK_NS: Final = 100_000_000
# Replays that end one after the other where they began, although more is recorded: the archive cannot read it.
_VAIN_REPLAYS_MAX = 3


class RecordingFollower:
    """Messages of a recording from a position on, each once and in order. Belongs to one thread.

    Call `poll` all the time: it does what is due, and reads. Invariant: `position` is the end of the last frame that was read, or where
    the first one begins; -1 until the archive has told where the recording does. At most one of `_request` and `_replay` is there.
    """

    def __init__(
        self,
        archive: AeronArchive,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        *,
        position: int = NULL_POSITION,
    ) -> None:
        """`replay_channel` is as for `replay`; `position` is one that was read before, or -1 for the start of the recording."""
        self._archive = archive
        self._recording_id = recording_id
        self._replay_channel = replay_channel
        self._replay_stream_id = replay_stream_id
        self._position = position
        self._clock = archive.aeron.context.clock
        self._look_ns = 0
        self._request: Pending[Any] | None = None
        self._next: Callable[[Any], int] = self._on_descriptor  # takes the result of the request
        self._replay: OpenReplay | None = None
        self._image: Image | None = None
        self._image_deadline_ns = 0
        self._begin = NULL_POSITION
        self._vain_replays = 0
        self._is_stopped = False
        self._handler: FragmentHandler | None = None
        self._assembler = ImageFragmentAssembler(self._on_message)

    def poll(self, handler: FragmentHandler, fragment_limit: int = 10) -> int:
        """Do what is due, and read whole messages of at most `fragment_limit` fragments; return how much was done.

        Raises ArchiveError where the recording is unknown, does not hold the position, or cannot be replayed; ArchiveTimeoutError;
        ArchiveConnectionError when the archive has gone. The next call tries again.
        """
        self._handler = handler
        self._archive.poll()
        if self._request is not None:
            return self._look_at(self._request)
        if self._replay is not None:
            return self._read(self._replay, fragment_limit)
        if self._clock.now_ns() < self._look_ns:
            return 0
        self._ask(self._archive.async_list_recording(self._recording_id), self._on_descriptor)
        return 1

    @property
    def position(self) -> int:
        """Where it has come to."""
        return self._position

    @property
    def is_stopped(self) -> bool:
        """Whether all has been read of a recording that is stopped: more comes when it is extended."""
        return self._is_stopped

    def close(self) -> None:
        """Stop the replay. A second call does nothing."""
        if self._request is not None:
            self._request.abandon()
            self._request = None
        self._end_replay()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RecordingFollower(recording_id={self._recording_id}, position={self._position})"

    # ---- requests

    def _ask(self, request: Pending[Any], then: Callable[[Any], int]) -> None:
        self._request, self._next = request, then

    def _look_at(self, request: Pending[Any]) -> int:
        if not request.poll():
            return 0
        self._request = None
        try:
            found = request.result()
        except ArchiveError as error:
            is_between = self._next == self._on_replay and error.error_code == ArchiveErrorCode.INVALID_POSITION
            if not is_between or self._vain_replays:
                raise
            return self._on_end()  # the recording may have stopped since it was looked at
        return self._next(found)

    def _on_descriptor(self, found: list[RecordingDescriptor]) -> int:
        if not found:
            raise self._error("there is no such recording", ArchiveErrorCode.UNKNOWN_RECORDING)
        (one,) = found
        if self._position == NULL_POSITION:
            self._position = one.start_position
        self._is_stopped = not one.is_active and one.stop_position == self._position
        if self._is_stopped:
            self._vain_replays = 0
            self._look_ns = self._clock.now_ns() + LOOK_NS
            return 0
        if self._position < one.start_position or (not one.is_active and self._position > one.stop_position):
            raise self._error(
                "the recording does not hold the position to go on at",
                ArchiveErrorCode.INVALID_POSITION,
                expected=f"a position from {one.start_position} to {'its end' if one.is_active else one.stop_position}",
                actual=f"position {self._position}",
            )
        self._begin = self._position
        params = ReplayParams(position=self._position)
        self._ask(
            self._archive.async_open_replay(self._recording_id, self._replay_channel, self._replay_stream_id, params), self._on_replay
        )
        return 1

    def _on_replay(self, replay: OpenReplay) -> int:
        self._replay = replay
        self._image_deadline_ns = self._clock.now_ns() + self._archive.context.message_timeout_ns
        return 1

    # ---- the replay

    def _read(self, replay: OpenReplay, fragment_limit: int) -> int:
        if self._image is None:
            images = replay.subscription.images
            if images:
                self._image = images[0]
            elif self._clock.now_ns() < self._image_deadline_ns:
                return 0
            else:
                return self._on_end()
        done = self._image.poll(self._assembler, fragment_limit)
        self._position = self._image.position
        return done if done or not (self._image.is_closed or self._image.is_end_of_stream) else self._on_end()

    def _on_end(self) -> int:
        """Look how the recording goes on."""
        self._end_replay()
        self._vain_replays = self._vain_replays + 1 if self._position == self._begin else 0
        if self._vain_replays >= _VAIN_REPLAYS_MAX:
            self._vain_replays = 0
            raise self._error(
                "replays of the recording end where they begin",
                ArchiveErrorCode.GENERIC,
                expected=f"what is recorded from position {self._begin} on",
                actual=f"{_VAIN_REPLAYS_MAX} replays without a message",
                hint="the error_handler, or poll_for_error_response, has the reason",
            )
        self._look_ns = self._clock.now_ns() + (LOOK_NS if self._vain_replays else 0)
        return 1

    def _end_replay(self) -> None:
        replay, self._replay, self._image = self._replay, None, None
        if replay is None or self._archive.aeron.is_closed:
            return
        replay.subscription.close()
        if self._archive.is_connected:
            self._archive.async_stop_replay(replay.replay_session_id)

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        assert self._handler is not None
        self._handler(buffer, offset, length, header)

    def _error(self, what: str, code: ArchiveErrorCode, **details: Any) -> ArchiveError:
        where = f"recording {self._recording_id}, replayed by {self._replay_channel}, stream {self._replay_stream_id}"
        return ArchiveError(what, where=where, error_code=code, recording_id=self._recording_id, **details)
