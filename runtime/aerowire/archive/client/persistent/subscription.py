"""A subscription that begins with a recording, goes on with its live stream, and comes back to the recording when it loses that.

Aeron: PersistentSubscription. Replay and live stream are two subscriptions; where both are at the same message, the one takes over from the
other. A connection to the archive that is lost is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from aerowire.archive.client.aeron_archive import AeronArchive
from aerowire.archive.client.parameters import ReplayParams
from aerowire.archive.client.persistent.counters import PersistentCounters
from aerowire.archive.client.persistent.event_log import ArchiveEventLog, PersistentEvents
from aerowire.archive.client.persistent.live import LiveStream
from aerowire.archive.client.persistent.reader import PersistentReader
from aerowire.archive.client.persistent.stream import FROM_LIVE, FROM_START, FailureReason, PersistentStream, PersistentSubscriptionError
from aerowire.base import arguments
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import (
    AerowireError,
    ArchiveConnectionError,
    ArchiveError,
    ArchiveTimeoutError,
    RegistrationError,
)
from aerowire.base.units import INT64_MIN
from aerowire.codecs.flyweights.cnc import PersistentSubscriptionState as State
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.async_connect import AsyncConnect
    from aerowire.archive.client.context import ArchiveClientContext
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.archive.client.persistent.reader import ControlledHandler, FragmentHandler
    from aerowire.archive.client.replay_commands import OpenReplay
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image

# Between two attempts to connect to an archive, or to ask again what it refuses for the time being.
RETRY_NS: Final = 100_000_000

_STATE = CounterType.PERSISTENT_SUBSCRIPTION_STATE
_DIFFERENCE = CounterType.PERSISTENT_SUBSCRIPTION_JOIN_DIFFERENCE
_JOINED = CounterType.PERSISTENT_SUBSCRIPTION_LIVE_JOINED_COUNT
_LEFT = CounterType.PERSISTENT_SUBSCRIPTION_LIVE_LEFT_COUNT


class PersistentSubscription:
    """Messages of a recorded stream from a position on, each once and in order. Belongs to one thread.

    Call `poll` all the time: it does what is due, and reads. It calls `on_live_joined()` and `on_live_left()`, and `on_error(error)` with
    what it gets over and with what makes it fail. Once it `has_failed`, `failure` says why, and it reads no more.
    Invariant: `position` is the end of the last frame that was read, or where the first one is to begin.
    """

    def __init__(
        self,
        aeron: Aeron,
        stream: PersistentStream,
        archive_context: ArchiveClientContext,
        *,
        on_live_joined: Callable[[], object] | None = None,
        on_live_left: Callable[[], object] | None = None,
        on_error: Callable[[AerowireError], object] | None = None,
        event_log: ArchiveEventLog | None = None,
    ) -> None:
        """`archive_context` says which archive; its client is `aeron`, whatever it names. `event_log` gets its events."""
        arguments.instance("event_log", event_log, ArchiveEventLog, "an ArchiveEventLog")
        self._aeron = aeron
        self._stream = stream
        given = {**vars(archive_context), "aeron": aeron, "error_handler": archive_context.error_handler or self._tell}
        self._archive_context = type(archive_context)(**given)
        # Wrong options are refused here rather than by a later poll.
        self._message_timeout_ns = self._archive_context.conclude().message_timeout_ns
        replay = ChannelUri.parse(stream.replay_channel)
        replay.parameters["rejoin"] = "false"
        self._replay_channel = str(replay)
        self._clock = aeron.context.clock
        self._on_live_joined = on_live_joined
        self._on_live_left = on_live_left
        self._on_error = on_error
        self._counters = PersistentCounters(
            aeron,
            replay_channel=self._replay_channel,
            replay_stream_id=stream.replay_stream_id,
            live_channel=stream.live_channel,
            live_stream_id=stream.live_stream_id,
        )
        self._events = PersistentEvents(event_log, stream, self._replay_channel)
        self.failure: AerowireError | None = None
        self._position = stream.start_position
        self._connecting: AsyncConnect | None = None
        self._archive: AeronArchive | None = None
        self._request: Pending[Any] | None = None
        self._retry_ns = 0
        self._descriptor: RecordingDescriptor | None = None
        self._replay: OpenReplay | None = None
        self._replay_image: Image | None = None
        self._replay_deadline_ns = 0
        self._live = LiveStream(aeron, stream, self._message_timeout_ns, self._tell)
        self._reader = PersistentReader()
        self._recorded: int | None = None  # the recorded position that the archive told last
        self._state = State.AWAIT_ARCHIVE_CONNECTION
        self._set_difference(INT64_MIN)

    # ---- use

    def poll(self, handler: FragmentHandler, fragment_limit: int = 10) -> int:
        """Do what is due, and read whole messages of at most `fragment_limit` fragments; return how much was done."""
        self._reader.handler, self._reader.controlled_handler = handler, None
        return self._do_work(fragment_limit)

    def controlled_poll(self, handler: ControlledHandler, fragment_limit: int = 10) -> int:
        """As `poll`, with a handler that returns an Action."""
        self._reader.controlled_handler = handler
        return self._do_work(fragment_limit)

    @property
    def state(self) -> State:
        """What it is doing."""
        return self._state

    @property
    def position(self) -> int:
        """Where it has come to; FROM_START or FROM_LIVE until it has begun."""
        return self._position

    @property
    def is_live(self) -> bool:
        """Whether it reads the live stream."""
        return self._state is State.LIVE

    @property
    def is_replaying(self) -> bool:
        """Whether it reads the recording."""
        return self._state in (State.REPLAY, State.ATTEMPT_SWITCH)

    @property
    def has_failed(self) -> bool:
        """Whether it has failed for good."""
        return self._state is State.FAILED

    def close(self) -> None:
        """Close both streams, the archive's session, and the counters. A second call does nothing."""
        self._live.end()
        self._end_replay()
        self._disconnect()
        self._counters.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PersistentSubscription(recording_id={self._stream.recording_id}, state={self._state.name}, position={self._position})"

    # ---- the states; each returns how much it did

    def _do_work(self, fragment_limit: int) -> int:
        self._counters.poll()
        if self._state is State.FAILED:
            return 0
        try:
            return self._step(fragment_limit)
        except ArchiveConnectionError as error:
            self._tell(error)
            return self._lose_archive()
        except ArchiveTimeoutError as error:
            self._tell(error)
            return self._refresh()
        except RegistrationError as error:
            return self._on_registration_error(error)
        except ArchiveError as error:
            return self._fail(error)

    def _step(self, fragment_limit: int) -> int:
        if self._archive is not None:
            self._archive.poll()
            if not self._archive.is_connected and self._state not in _WITHOUT_ARCHIVE:
                return self._lose_archive()
        return _STATES[self._state](self, fragment_limit)

    def _await_archive_connection(self, _fragment_limit: int) -> int:
        if self._archive is not None and self._archive.is_connected:
            return self._refresh()
        self._disconnect_lost()
        if self._connecting is None:
            if self._clock.now_ns() < self._retry_ns:
                return 0
            self._connecting = AeronArchive.async_connect(self._archive_context)
        if not self._connecting.poll():
            return 0
        connecting, self._connecting = self._connecting, None
        try:
            self._archive = connecting.result()
        except (ArchiveTimeoutError, ArchiveConnectionError) as error:
            self._tell(error)
            self._retry_ns = self._clock.now_ns() + RETRY_NS
            return 1
        return self._refresh()

    def _await_descriptor(self, _fragment_limit: int) -> int:
        if self._request is None:
            if self._clock.now_ns() < self._retry_ns:
                return 0
            self._request = self._connected().async_list_recording(self._stream.recording_id)
        if not self._request.poll():
            return 0
        found: list[RecordingDescriptor] = self._request.result()
        self._descriptor = descriptor = self._stream.checked(found, self._position, self._live.last_position)
        if self._position == FROM_START:
            self._position = descriptor.start_position
        if self._position == FROM_LIVE or (not descriptor.is_active and self._position == descriptor.stop_position):
            return self._enter(State.AWAIT_LIVE)
        return self._enter(State.AWAIT_REPLAY_RESPONSE)

    def _await_replay(self, _fragment_limit: int) -> int:
        stream = self._stream
        if self._request is None:
            params = ReplayParams(position=self._position)
            self._request = self._connected().async_open_replay(stream.recording_id, self._replay_channel, stream.replay_stream_id, params)
        if not self._request.poll():
            return 0
        self._replay = self._request.result()
        self._replay_deadline_ns = self._clock.now_ns() + self._message_timeout_ns
        return self._enter(State.REPLAY)

    def _read_replay(self, fragment_limit: int) -> int:
        assert self._replay is not None
        image = self._replay_image
        if image is None:
            images = self._replay.subscription.images
            if not images:
                return 0 if self._clock.now_ns() < self._replay_deadline_ns else self._refresh()
            self._replay_image = image = images[0]
        if image.is_closed:
            self._position = max(self._position, image.position)
            return self._refresh()
        live = self._live.find_image()
        if live is not None:
            self._set_difference(live.position - image.position)
            return self._enter(State.ATTEMPT_SWITCH)
        done = self._reader.read(image, fragment_limit)
        self._position = image.position
        if not self._live.is_wanted and self._has_caught_up():
            self._live.subscribe()
        return done

    def _attempt_switch(self, fragment_limit: int) -> int:
        """Let the live stream catch up with the replay, without handing it on, and the replay go on until both are at one message."""
        replay, live, reader = self._replay_image, self._live.image, self._reader
        assert replay is not None
        assert live is not None
        if reader.have_met(replay, live):
            return self._switch_to_live()
        if replay.is_closed:
            self._live.note_position(live.position)
            return self._refresh()
        if live.is_closed:
            self._live.end()
            self._forget_switch()
            return self._enter(State.REPLAY)
        done = reader.meet(replay, live, fragment_limit)
        self._position = replay.position
        return done + (self._switch_to_live() if reader.have_met(replay, live) else 0)

    def _await_live(self, _fragment_limit: int) -> int:
        if not self._live.is_wanted:
            if self._clock.now_ns() < self._retry_ns:
                return 0
            self._live.subscribe()
        image = self._live.find_image()
        if image is None:
            return 0
        position = image.position
        self._live.note_position(position)
        if self._position >= 0 and position < self._position:
            raise self._stream.failure(
                FailureReason.GENERIC,
                "the live stream begins before what was read of it",
                expected=f"position {self._position} or later",
                actual=f"position {position}",
            )
        if position > self._position >= 0:
            return self._refresh()
        self._position = position
        return self._join_live()

    def _read_live(self, fragment_limit: int) -> int:
        image = self._live.image
        assert image is not None
        done = self._reader.read(image, fragment_limit)
        self._position = image.position
        if done == 0 and image.is_closed:
            self._live.note_position(self._position)
            self._refresh()
            self._events.left_live(self._position)
            self._counters.increment(_LEFT)
            if self._on_live_left is not None:
                self._on_live_left()
            return 1
        return done

    # ---- below: the recording

    def _has_caught_up(self) -> bool:
        """Return whether the replay is so close to the end of the recording that the live stream is worth to be joined."""
        if self._request is None:
            if self._recorded is not None and self._position < self._recorded:
                return False
            self._request = self._connected().async_get_max_recorded_position(self._stream.recording_id)
        if not self._request.poll():
            return False
        request, self._request = self._request, None
        try:
            self._recorded = request.result()
        except ArchiveTimeoutError as error:
            self._tell(error)
            return False
        assert self._descriptor is not None
        return self._position >= self._recorded - self._descriptor.term_buffer_length // 4

    def _end_replay(self) -> None:
        replay, self._replay, self._replay_image = self._replay, None, None
        if self._request is not None:
            self._request.abandon()
            self._request = None
        if replay is None or self._aeron.is_closed:
            return
        replay.subscription.close()
        if self._archive is not None and self._archive.is_connected:
            self._archive.async_stop_replay(replay.replay_session_id)

    # ---- below: the live stream

    def _switch_to_live(self) -> int:
        self._end_replay()
        return self._join_live()

    def _join_live(self) -> int:
        image = self._live.image
        assert image is not None
        self._set_difference(0)
        self._enter(State.LIVE)
        self._events.joined_live(image.session_id, image.position)
        self._counters.increment(_JOINED)
        if self._on_live_joined is not None:
            self._on_live_joined()
        return 1

    # ---- below: the archive, and the end

    def _connected(self) -> AeronArchive:
        assert self._archive is not None
        return self._archive

    def _refresh(self) -> int:
        """Leave both streams, and begin again at `position` with what the archive says of the recording."""
        self._live.end()
        self._end_replay()
        self._forget_switch()
        if self._archive is None or not self._archive.is_connected:
            return self._enter(State.AWAIT_ARCHIVE_CONNECTION)
        return self._enter(State.AWAIT_LIST_RECORDING_RESPONSE)

    def _lose_archive(self) -> int:
        if self._replay_image is not None:
            self._position = max(self._position, self._replay_image.position)
        return self._refresh()

    def _forget_switch(self) -> None:
        self._recorded = None
        self._reader.part()
        self._set_difference(INT64_MIN)

    def _disconnect_lost(self) -> None:
        archive, self._archive = self._archive, None
        if archive is not None:
            archive.close()

    def _disconnect(self) -> None:
        self._disconnect_lost()
        connecting, self._connecting = self._connecting, None
        if connecting is not None:
            connecting.abandon()

    def _on_registration_error(self, error: RegistrationError) -> int:
        if error.error_code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
            return self._fail(error)
        self._tell(error)
        self._retry_ns = self._clock.now_ns() + RETRY_NS
        return self._refresh()

    def _fail(self, error: AerowireError) -> int:
        if isinstance(error, ArchiveError) and not isinstance(error, PersistentSubscriptionError):
            error = PersistentSubscriptionError.of(error)
        self.failure = error
        self._live.end()
        self._end_replay()
        self._enter(State.FAILED)
        self._disconnect()
        self._tell(error)
        return 1

    def _tell(self, error: AerowireError) -> None:
        if self._on_error is not None:
            self._on_error(error)

    def _enter(self, state: State) -> int:
        self._events.state_change(self._state, state)
        self._state = state
        self._request = None
        self._counters.set(_STATE, state)
        return 1

    def _set_difference(self, difference: int) -> None:
        self._counters.set(_DIFFERENCE, difference)


# States that go on without an archive for a while.
_WITHOUT_ARCHIVE = (State.AWAIT_ARCHIVE_CONNECTION, State.ATTEMPT_SWITCH, State.LIVE)
_STATES: Final[dict[State, Callable[[PersistentSubscription, int], int]]] = {
    State.AWAIT_ARCHIVE_CONNECTION: PersistentSubscription._await_archive_connection,
    State.AWAIT_LIST_RECORDING_RESPONSE: PersistentSubscription._await_descriptor,
    State.AWAIT_REPLAY_RESPONSE: PersistentSubscription._await_replay,
    State.REPLAY: PersistentSubscription._read_replay,
    State.ATTEMPT_SWITCH: PersistentSubscription._attempt_switch,
    State.AWAIT_LIVE: PersistentSubscription._await_live,
    State.LIVE: PersistentSubscription._read_live,
}
