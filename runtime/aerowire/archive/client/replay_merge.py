"""A recording that is replayed until it meets its live stream, and then the live stream alone. Aeron: ReplayMerge.

Both come through one subscription with `control-mode=manual`, in one image: a position is delivered once, and none is left out.

Where the official client has merged as soon as the live stream's first frame has come, this one waits: a publisher that has received no
status message yet goes on without sending, and what it skips would be missing. The replay is left only when several status messages have
gone to the publisher, and begins again where the live stream does not bring what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from aerowire.archive.client.parameters import NULL_POSITION, ReplayParams
from aerowire.archive.client.replay_commands import session_id_of
from aerowire.base import arguments, units
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import AerowireError, ArchiveError, ArchiveTimeoutError, ConfigurationError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

# How far behind the recording the replay is, at most, when the live stream is added: beyond a window the live stream would outrun it.
LIVE_ADD_MAX_WINDOW: Final = 32 * 1024 * 1024
PROGRESS_TIMEOUT_NS: Final = 5_000_000_000
# How often the archive is asked for the recorded position: sooner at first, for a recording that is being caught up with.
BACKOFF_MIN_NS: Final = 8_000_000
BACKOFF_MAX_NS: Final = 500_000_000
# Transports of an image whose replay and live stream both arrive.
MERGED_TRANSPORTS: Final = 2
# How long both arrive before the replay is left: five intervals of status messages, of which one has to reach the live publisher.
LIVE_SETTLE_NS: Final = 1_000_000_000
# How long the live stream alone may bring nothing of what is recorded, before the replay begins again.
LIVE_SILENCE_NS: Final = 1_000_000_000


class MergeState(Enum):
    """What a merge is doing."""

    RESOLVE_REPLAY_PORT = auto()
    DESCRIBE_RECORDING = auto()
    GET_RECORDING_POSITION = auto()
    REPLAY = auto()
    CATCHUP = auto()
    ATTEMPT_LIVE_JOIN = auto()
    LEAVE_REPLAY = auto()
    AWAIT_LIVE = auto()
    MERGED = auto()
    FAILED = auto()
    CLOSED = auto()


_ENDS = (MergeState.MERGED, MergeState.FAILED, MergeState.CLOSED)


class ReplayMerge:
    """A merge under way: call `poll` until `is_merged`, then go on with the image, or with `poll` as before. Belongs to one thread.

    The subscription is the caller's, and stays. Two merges of one archive's client do not disturb each other. `poll` and `do_work` raise
    what ends the merge, once; `state` is FAILED then. Invariant: it is merged only when the replay was left, and every byte has been read
    that the archive had recorded after that.
    """

    def __init__(
        self,
        subscription: Subscription,
        archive: AeronArchive,
        replay_channel: str,
        replay_destination: str,
        live_destination: str,
        recording_id: int,
        start_position: int = NULL_POSITION,
        *,
        merge_progress_timeout_ns: int | str = PROGRESS_TIMEOUT_NS,
    ) -> None:
        """Begin to replay from `start_position`; NULL_POSITION: the start of the recording.

        The archive publishes the replay on `replay_channel`, at the endpoint of `replay_destination` (port 0: one that the system chooses),
        with the session of the recording unless the channel has a `session-id`. Raises ConfigurationError for channels that cannot merge.
        """
        _check_channels(subscription.channel, replay_channel, replay_destination, live_destination)
        self.state = self._furthest = MergeState.RESOLVE_REPLAY_PORT
        self._subscription = subscription
        self._archive = archive
        self._clock = archive.aeron.context.clock
        self._replay_destination = replay_destination
        self._live_destination = live_destination
        self._recording_id = recording_id
        self._start_position = start_position
        self._progress_timeout_ns = arguments.duration_ns("merge_progress_timeout_ns", merge_progress_timeout_ns)
        self._replay_channel = ChannelUri.parse(replay_channel)
        self._replay_channel.parameters.update({"linger": "0", "eos": "false"})
        self._request: Pending[Any] | None = None
        self._destinations: list[Pending[int]] = []
        self._is_replay_added = False
        self._image: Image | None = None
        self._replay_session_id: int | None = None
        self._replay_error: ArchiveError | None = None
        self._replay_correlation_id: int | None = None
        self._target = NULL_POSITION
        self._is_live_added = False
        self._live_since_ns: int | None = None
        self._removal: Pending[None] | None = None
        self._is_target_new = False
        self._retry_ns = 0
        self._other_addresses: set[str] = set()
        self._position = NULL_POSITION
        self._progress_ns = self._entered_ns = self._ask_ns = self._clock.now_ns()
        self._backoff_ns = BACKOFF_MIN_NS
        self._add_replay_destination()

    # ---- use

    @property
    def subscription(self) -> Subscription:
        """The subscription of both streams."""
        return self._subscription

    @property
    def image(self) -> Image | None:
        """The image of both streams; None before the replay has come."""
        return self._image

    @property
    def is_merged(self) -> bool:
        """Whether the replay has met the live stream, and is over."""
        return self.state is MergeState.MERGED

    @property
    def has_failed(self) -> bool:
        """Whether an error has ended the merge."""
        return self.state is MergeState.FAILED

    @property
    def is_live_added(self) -> bool:
        """Whether the live stream was added to the subscription."""
        return self._is_live_added

    def poll(self, handler: Callable[[memoryview, int, int, Header], object], fragment_limit: int = 10) -> int:
        """Do what is due, and read fragments of the image; return how many."""
        self.do_work()
        return 0 if self._image is None else self._image.poll(handler, fragment_limit)

    def do_work(self) -> int:
        """Do what is due, without reading; return how much was done. For callers that read the image by other means."""
        if self.state in _ENDS:
            return 0
        try:
            self._archive.poll()
            self._check_ends()
            work = _STEPS[self.state](self)
            if self.state not in _ENDS:
                self._check_progress()
            return work
        except BaseException:
            self._enter(MergeState.FAILED)
            raise

    def close(self) -> None:
        """End a merge: stop the replay, and take its destination from the subscription unless it is merged. The live stream stays."""
        if self.state is MergeState.CLOSED:
            return
        self._enter(MergeState.CLOSED)
        if self._archive.aeron.is_closed:
            return
        if self._is_replay_added and not self._subscription.is_closed:
            self._subscription.async_remove_destination(self._replay_destination)
        self._stop_replay()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"ReplayMerge(recording_id={self._recording_id}, state={self.state.name}, position={self._position}, target={self._target}, "
            f"is_live_added={self._is_live_added})"
        )

    # ---- the steps; each returns how much it did

    def _resolve_replay_port(self) -> int:
        endpoint = ChannelUri.parse(self._replay_destination).get("endpoint") or ""
        if endpoint.endswith(":0"):
            bound = [address for address in self._subscription.local_socket_addresses if address not in self._other_addresses]
            if not bound:
                return 0
            endpoint = f"{endpoint.rpartition(':')[0]}:{bound[0].rpartition(':')[2]}"
        self._replay_channel.parameters["endpoint"] = endpoint
        return self._enter(MergeState.DESCRIBE_RECORDING)

    def _describe_recording(self) -> int:
        if self._request is None:
            self._request = self._archive.async_list_recording(self._recording_id)
        if not self._request.poll():
            return 0
        found: list[RecordingDescriptor] = self._request.result()
        if not found:
            raise ArchiveError(
                f"there is no recording {self._recording_id} to merge",
                where=self._archive,
                error_code=ArchiveErrorCode.UNKNOWN_RECORDING,
                recording_id=self._recording_id,
            )
        self._replay_channel.parameters.setdefault("session-id", str(found[0].session_id))
        if self._start_position == NULL_POSITION:
            self._start_position = found[0].start_position
        return self._enter(MergeState.GET_RECORDING_POSITION)

    def _get_recording_position(self) -> int:
        return self._enter(MergeState.REPLAY) if self._has_target() else 0

    def _start_replay(self) -> int:
        if self._request is None:
            if self._clock.now_ns() < self._retry_ns:
                return 0
            params = ReplayParams(position=self._start_position, length=units.INT64_MAX)
            channel, stream_id = str(self._replay_channel), self._subscription.stream_id
            self._request = self._archive.async_start_replay(self._recording_id, channel, stream_id, params)
            self._replay_correlation_id = self._request.correlation_id
            self._archive._session.listen(self._replay_correlation_id, on_error=self._on_replay_error)
        if not self._request.poll():
            return 0
        try:
            self._replay_session_id = self._request.result()
        except ArchiveError:
            if self._image is None:
                raise
            # The publication of the replay before may take some seconds to end, and has the session that this one needs.
            self._request, self._retry_ns = None, self._clock.now_ns() + BACKOFF_MAX_NS
            return 0
        self._backoff_ns, self._ask_ns = BACKOFF_MIN_NS, self._clock.now_ns()
        return self._enter(MergeState.CATCHUP)

    def _catch_up(self) -> int:
        image = self._image
        if image is None:
            assert self._replay_session_id is not None
            image = self._subscription.image_by_session_id(session_id_of(self._replay_session_id))
            if image is None:
                return 0
            self._check_join(image)
            self._image = image
        self._note_progress(image.position)
        return self._enter(MergeState.ATTEMPT_LIVE_JOIN) if image.position >= self._target else 0

    def _attempt_live_join(self) -> int:
        image = self._image
        assert image is not None
        self._note_progress(image.position)
        if not self._has_target():
            return 0
        behind = self._target - image.position
        if not self._is_live_added and behind <= min(image.term_buffer_length // 4, LIVE_ADD_MAX_WINDOW):
            self._destinations.append(self._subscription.async_add_destination(self._live_destination))
            self._is_live_added = True
            self._progress_ns = self._clock.now_ns()
        elif self._is_live_added and image.active_transport_count < MERGED_TRANSPORTS:
            self._live_since_ns = None
        elif self._is_live_added and behind <= 0 and self._has_settled():
            return self._enter(MergeState.LEAVE_REPLAY)
        return self._enter(MergeState.CATCHUP)

    def _leave_replay(self) -> int:
        """Take the replay's destination away BEFORE the replay is stopped: its end must not be taken for that of the image."""
        if self._removal is None:
            self._removal = self._subscription.async_remove_destination(self._replay_destination)
        if not self._removal.poll():
            return 0
        self._removal.result()
        self._removal = None
        self._is_replay_added = False
        self._stop_replay()
        self._backoff_ns, self._ask_ns, self._is_target_new = BACKOFF_MIN_NS, self._clock.now_ns(), False
        return self._enter(MergeState.AWAIT_LIVE)

    def _await_live(self) -> int:
        image = self._image
        assert image is not None
        self._note_progress(image.position)
        self._is_target_new = self._is_target_new or self._has_target()
        if self._is_target_new and image.position >= self._target:
            return self._enter(MergeState.MERGED)
        if self._clock.now_ns() - max(self._entered_ns, self._progress_ns) <= LIVE_SILENCE_NS:
            return 0
        self._start_position = image.position
        self._live_since_ns = None
        self._add_replay_destination()
        return self._enter(MergeState.RESOLVE_REPLAY_PORT)

    # ---- below: helpers

    def _enter(self, state: MergeState) -> int:
        """Go on to a state; one that was not reached before is progress."""
        self.state = state
        self._request = None
        self._entered_ns = self._clock.now_ns()
        if state.value > self._furthest.value:
            self._furthest = state
            self._progress_ns = self._entered_ns
        return 1

    def _add_replay_destination(self) -> None:
        self._other_addresses = set(self._subscription.local_socket_addresses)
        self._destinations.append(self._subscription.async_add_destination(self._replay_destination))
        self._is_replay_added = True

    def _has_settled(self) -> bool:
        """Return whether replay and live stream have both arrived for long enough."""
        now_ns = self._clock.now_ns()
        if self._live_since_ns is None:
            self._live_since_ns = self._progress_ns = now_ns
        return now_ns - self._live_since_ns >= min(LIVE_SETTLE_NS, self._progress_timeout_ns // 2)

    def _has_target(self) -> bool:
        """Return whether the archive has just told how far the recording has come; ask it, less and less often."""
        now_ns = self._clock.now_ns()
        if self._request is None:
            if now_ns < self._ask_ns:
                return False
            self._request = self._archive.async_get_max_recorded_position(self._recording_id)
            self._backoff_ns = min(self._backoff_ns * 2, BACKOFF_MAX_NS)
            self._ask_ns = now_ns + self._backoff_ns
        if not self._request.poll():
            return False
        position = self._request.result()
        self._request = None
        if position == NULL_POSITION:
            return False
        self._target = position
        return True

    def _note_progress(self, position: int) -> None:
        if position > self._position:
            self._position = position
            self._progress_ns = self._clock.now_ns()

    def _check_join(self, image: Image) -> None:
        """Raise for an image that begins behind the start of the replay: it is not the replay's, and messages would be missing."""
        if image.join_position > self._start_position:
            raise AerowireError(
                "the image begins behind the position to merge from, so that messages would be missing",
                where=f"{self._subscription.channel}, stream {self._subscription.stream_id}, session {image.session_id}",
                expected=f"position {self._start_position}",
                actual=f"position {image.join_position}",
                hint="the session was received already: merge by a subscription of its own, before the live stream is added",
            )

    def _check_ends(self) -> None:
        if self._replay_error is not None:
            raise self._replay_error
        if not self._archive.is_connected:
            raise self._archive._session.disconnection()
        for pending in self._destinations:
            if pending.poll():
                pending.result()
        self._destinations = [pending for pending in self._destinations if not pending.is_done]
        if self._image is not None and self._image.is_closed:
            raise AerowireError(
                "the image of a merge has ended before it was merged",
                where=f"{self._subscription.channel}, stream {self._subscription.stream_id}",
                expected=f"position {self._target} of recording {self._recording_id}",
                actual=f"position {self._position} in {self.state.name}",
            )

    def _check_progress(self) -> None:
        if self._clock.now_ns() - self._progress_ns <= self._progress_timeout_ns:
            return
        transports = 0 if self._image is None else self._image.active_transport_count
        raise ArchiveTimeoutError(
            f"a merge of recording {self._recording_id} makes no progress",
            where=f"{self._replay_channel} and {self._live_destination}, stream {self._subscription.stream_id}",
            expected=f"progress within {self._progress_timeout_ns / 1e9:g} s",
            actual=f"{self.state.name} at position {self._position} of {self._target}, with {transports} transports",
            hint="does the live stream arrive, with the session of the recording?" if self._is_live_added else None,
            recording_id=self._recording_id,
        )

    def _on_replay_error(self, error: ArchiveError) -> None:
        self._replay_error = error

    def _stop_replay(self) -> None:
        if self._replay_correlation_id is not None:
            self._archive._session.forget(self._replay_correlation_id)
            self._replay_correlation_id = None
        if self._replay_session_id is not None and self._archive.is_connected:
            self._archive.async_stop_replay(self._replay_session_id)
        self._replay_session_id = None


_STEPS: Final[dict[MergeState, Callable[[ReplayMerge], int]]] = {
    MergeState.RESOLVE_REPLAY_PORT: ReplayMerge._resolve_replay_port,
    MergeState.DESCRIBE_RECORDING: ReplayMerge._describe_recording,
    MergeState.GET_RECORDING_POSITION: ReplayMerge._get_recording_position,
    MergeState.REPLAY: ReplayMerge._start_replay,
    MergeState.CATCHUP: ReplayMerge._catch_up,
    MergeState.ATTEMPT_LIVE_JOIN: ReplayMerge._attempt_live_join,
    MergeState.LEAVE_REPLAY: ReplayMerge._leave_replay,
    MergeState.AWAIT_LIVE: ReplayMerge._await_live,
}


def _check_channels(subscription_channel: str, *channels: str) -> None:
    """Raise ConfigurationError for channels that cannot merge: they are not UDP, or the subscription takes no destinations."""
    for channel in (subscription_channel, *channels):
        if not ChannelUri.parse(channel).is_udp:
            raise ConfigurationError("only UDP channels can merge", where=channel, expected="aeron:udp")
    if ChannelUri.parse(subscription_channel).get("control-mode") != "manual":
        raise ConfigurationError("the subscription takes no destinations", where=subscription_channel, expected="control-mode=manual")
