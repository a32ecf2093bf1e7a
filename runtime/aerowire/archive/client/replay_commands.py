"""Operations that replay recordings, over channels of the client and over response channels. Aeron: AeronArchive.replay, startReplay."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from aerowire.archive.client.archive_commands import ArchiveCommands, blocking, nothing, number
from aerowire.archive.client.archive_proxy import ArchiveProxy
from aerowire.archive.client.client_options import is_response_channel
from aerowire.archive.client.control_session import SessionState
from aerowire.archive.client.parameters import NULL_VALUE, ReplayParams
from aerowire.archive.client.requests import ArchiveRequest
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ArchiveTimeoutError, ConfigurationError
from aerowire.codecs.flyweights.archive.messages.bounded_replay_request import BoundedReplayRequest
from aerowire.codecs.flyweights.archive.messages.replay_request import ReplayRequest
from aerowire.codecs.flyweights.archive.messages.replay_token_request import ReplayTokenRequest
from aerowire.codecs.flyweights.archive.messages.stop_all_replays_request import StopAllReplaysRequest
from aerowire.codecs.flyweights.archive.messages.stop_replay_request import StopReplayRequest

if TYPE_CHECKING:
    from aerowire.archive.client.archive_proxy import Message
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

    ImageHandler = Callable[[Image], object]
    Handlers: TypeAlias = tuple[ImageHandler | None, ImageHandler | None]  # of images that come, and that go

_DEFAULTS = ReplayParams()
# Of the control channel, what would make another publication of it the same one, or begin it elsewhere.
_OF_ONE_PUBLICATION = ("session-id", "term-id", "init-term-id", "term-offset", "response-correlation-id")
_TERM_LENGTH = str(64 * 1024)


class OpenReplay(NamedTuple):
    """A replay to this client: its subscription, and the id to stop it by."""

    subscription: Subscription
    replay_session_id: int


class ReplayCommands(ArchiveCommands):
    """Replay. A replay's session id is the low 32 bits of its replay session id."""

    def async_start_replay(
        self, recording_id: int, replay_channel: str, replay_stream_id: int, params: ReplayParams = _DEFAULTS
    ) -> Pending[int]:
        """Have the archive publish a recording on a channel; the result is the replay session id.

        Subscribe to the channel with the replay's session id before or after. A response channel (`control-mode=response`) needs the
        `subscription_registration_id` of its subscription in `params`. Refused with UNKNOWN_RECORDING, INVALID_POSITION, MAX_REPLAYS,
        EMPTY_RECORDING.
        """
        if not is_response_channel(replay_channel):
            return self._start_replay(recording_id, replay_channel, replay_stream_id, params)
        if params.subscription_registration_id == NULL_VALUE:
            raise ConfigurationError(
                "a replay by a response channel needs its subscription",
                where="ReplayParams.subscription_registration_id",
                expected="the registration id of a subscription to the response channel",
                hint="or call replay(), which adds the subscription",
            )
        return self._steps(
            f"replay recording {recording_id} by {replay_channel}",
            self._replay_by_response(recording_id, replay_channel, replay_stream_id, params, params.subscription_registration_id),
        )

    start_replay = blocking(async_start_replay)

    def async_replay(
        self,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        params: ReplayParams = _DEFAULTS,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> Pending[Subscription]:
        """Replay a recording to this client; the result is a subscription to the replay alone. Refused as `start_replay`.

        `replay_channel` may have an endpoint with port 0, for one that the system chooses, or be a response channel: then the archive
        opens the replay's publication to this client by itself.
        """
        handlers = (available_image_handler, unavailable_image_handler)
        replay = self._open_replay(recording_id, replay_channel, replay_stream_id, params, handlers)
        return self._steps(f"replay recording {recording_id} by {replay_channel}", _subscription_of(replay))

    replay = blocking(async_replay)

    def async_open_replay(
        self,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        params: ReplayParams = _DEFAULTS,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> Pending[OpenReplay]:
        """Replay a recording to this client, as `replay`; the result is the subscription, and the replay session id to stop it by."""
        handlers = (available_image_handler, unavailable_image_handler)
        replay = self._open_replay(recording_id, replay_channel, replay_stream_id, params, handlers)
        return self._steps(f"replay recording {recording_id} by {replay_channel}", replay)

    open_replay = blocking(async_open_replay)

    def async_stop_replay(self, replay_session_id: int) -> Pending[None]:
        """Stop a replay; one that has ended is stopped."""
        return self._ask(StopReplayRequest, f"stop replay {replay_session_id}", nothing, replay_session_id=replay_session_id)

    stop_replay = blocking(async_stop_replay)

    def async_stop_all_replays(self, recording_id: int = NULL_VALUE) -> Pending[None]:
        """Stop all replays of a recording, those of other clients too; -1: of all recordings."""
        return self._ask(StopAllReplaysRequest, f"stop all replays of recording {recording_id}", nothing, recording_id=recording_id)

    stop_all_replays = blocking(async_stop_all_replays)

    def async_request_replay_token(self, recording_id: int) -> Pending[int]:
        """Get a token with which a replay of the recording can be asked for on another publication than this session's."""
        return self._ask(ReplayTokenRequest, f"get a replay token for recording {recording_id}", number, recording_id=recording_id)

    request_replay_token = blocking(async_request_replay_token)

    # ---- below: helpers

    def _start_replay(self, recording_id: int, channel: str, stream_id: int, params: ReplayParams) -> Pending[int]:
        kind, fields = _replay_request(channel, stream_id, params)
        return self._ask(kind, _words(recording_id, channel, params), number, recording_id=recording_id, **fields)

    def _open_replay(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams, handlers: Handlers
    ) -> Generator[Pending[Any] | None, Any, OpenReplay]:
        uri = ChannelUri.parse(channel)
        if is_response_channel(channel):
            return self._replay_to_subscription(recording_id, channel, stream_id, params, handlers, self._replay_by_response_channel)
        if uri.is_udp and (uri.get("endpoint") or "").endswith(":0"):
            return self._replay_to_subscription(recording_id, channel, stream_id, params, handlers, self._replay_to_port)
        return self._replay_to_session(recording_id, uri, stream_id, params, handlers)

    def _replay_to_session(
        self, recording_id: int, uri: ChannelUri, stream_id: int, params: ReplayParams, handlers: Handlers
    ) -> Generator[Pending[Any] | None, Any, OpenReplay]:
        """Start the replay, and subscribe to its session."""
        replay_session_id: int = yield self._start_replay(recording_id, str(uri), stream_id, params)
        try:
            uri.parameters["session-id"] = str(session_id_of(replay_session_id))
            subscription: Subscription = yield self._subscribe(str(uri), stream_id, handlers)
        except BaseException:
            if not self._aeron.is_closed and self._session.state is SessionState.CONNECTED:
                self.async_stop_replay(replay_session_id)
            raise
        return OpenReplay(subscription, replay_session_id)

    def _replay_to_subscription(
        self,
        recording_id: int,
        channel: str,
        stream_id: int,
        params: ReplayParams,
        handlers: Handlers,
        replay: Callable[[int, str, int, ReplayParams, Subscription], Generator[Pending[Any] | None, Any, int]],
    ) -> Generator[Pending[Any] | None, Any, OpenReplay]:
        """Subscribe first, for a channel that only the replay comes by, and then start the replay."""
        with ExitStack() as opened:
            subscription: Subscription = yield self._subscribe(channel, stream_id, handlers)
            opened.callback(subscription.close)
            replay_session_id = yield from replay(recording_id, channel, stream_id, params, subscription)
            opened.pop_all()
            return OpenReplay(subscription, replay_session_id)

    def _replay_to_port(
        self, recording_id: int, _channel: str, stream_id: int, params: ReplayParams, subscription: Subscription
    ) -> Generator[Pending[Any] | None, Any, int]:
        while (resolved := subscription.try_resolve_channel_endpoint_port()) is None:
            yield None
        replay_session_id: int = yield self._start_replay(recording_id, resolved, stream_id, params)
        return replay_session_id

    def _subscribe(self, channel: str, stream_id: int, handlers: Handlers) -> Pending[Subscription]:
        available, unavailable = handlers
        return self._aeron.async_add_subscription(
            channel, stream_id, available_image_handler=available, unavailable_image_handler=unavailable
        )

    def _replay_by_response_channel(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams, subscription: Subscription
    ) -> Generator[Pending[Any] | None, Any, int]:
        return (yield from self._replay_by_response(recording_id, channel, stream_id, params, subscription.registration_id))

    def _replay_by_response(
        self, recording_id: int, channel: str, stream_id: int, params: ReplayParams, registration_id: int
    ) -> Generator[Pending[Any] | None, Any, int]:
        """Ask for the replay on a publication of its own, whose image tells the archive where the response channel is."""
        token = yield self.async_request_replay_token(recording_id)
        params = replace(params, replay_token=token)
        what = _words(recording_id, channel, params)
        with ExitStack() as opened:
            publication: ExclusivePublication = yield self._aeron.async_add_exclusive_publication(
                self._request_channel(registration_id), self._session.context.control_request_stream_id
            )
            opened.callback(publication.close)
            yield from self._connected(publication, what)
            kind, fields = _replay_request(channel, stream_id, params)
            replay_session_id: int = yield self._session.ask(
                kind,
                lambda ticket: ArchiveRequest(what, ticket, number),
                proxy=ArchiveProxy(publication),
                control_session_id=self._session.session_id,
                recording_id=recording_id,
                **fields,
            )
            return replay_session_id

    def _request_channel(self, registration_id: int) -> str:
        uri = ChannelUri.parse(self._session.context.control_request_channel)
        for key in _OF_ONE_PUBLICATION:
            uri.parameters.pop(key, None)
        uri.parameters.update({"response-correlation-id": str(registration_id), "term-length": _TERM_LENGTH, "ssc": "false"})
        return str(uri)

    def _connected(self, publication: ExclusivePublication, what: str) -> Generator[Pending[Any] | None, Any, None]:
        """Wait until a publication has a subscriber and room for a message."""
        clock, timeout_ns = self._aeron.context.clock, self._session.context.message_timeout_ns
        deadline_ns = clock.now_ns() + timeout_ns
        while not publication.is_connected or publication.position_limit <= 0:
            if clock.now_ns() >= deadline_ns:
                raise ArchiveTimeoutError(
                    "the archive did not connect to the publication that asks for a replay",
                    where=f"{publication.channel}, stream {publication.stream_id}",
                    expected=f"a connected publication within {timeout_ns / 1e9:g} s",
                    actual="no subscriber" if not publication.is_connected else "no room for a message",
                    request=what,
                )
            yield None


def _subscription_of(replay: Generator[Pending[Any] | None, Any, OpenReplay]) -> Generator[Pending[Any] | None, Any, Subscription]:
    return (yield from replay).subscription


def session_id_of(replay_session_id: int) -> int:
    """Return the session id of a replay's publication: the low 32 bits of its id, with their sign."""
    return (replay_session_id + (1 << 31)) % (1 << 32) - (1 << 31)


def _replay_request(channel: str, stream_id: int, params: ReplayParams) -> tuple[type[Message], dict[str, Any]]:
    fields: dict[str, Any] = {
        "position": params.position,
        "length": params.length,
        "replay_channel": channel,
        "replay_stream_id": stream_id,
        "file_io_max_length": params.file_io_max_length,
        "replay_token": params.replay_token,
    }
    if not params.is_bounded:
        return ReplayRequest, fields
    return BoundedReplayRequest, {**fields, "limit_counter_id": params.bounding_limit_counter_id}


def _words(recording_id: int, channel: str, params: ReplayParams) -> str:
    return f"replay recording {recording_id} from {params.position} by {channel}"
