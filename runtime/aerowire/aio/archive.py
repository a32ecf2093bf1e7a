"""The client of an archive in an event loop: the operations of AeronArchive, awaited. Only this module knows archives here.

from aerowire import aio
from aerowire.aio.archive import connect_archive

async with aio.connect() as aeron, connect_archive(aeron, control_request_channel=..., control_response_channel=...) as archive:
    for recording in await archive.list_recordings():
        print(recording)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial, update_wrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

from aerowire.aio.arrivals import Arrivals, wait_once
from aerowire.aio.opening import Opening
from aerowire.aio.publication import AsyncExclusivePublication, AsyncPublication
from aerowire.archive import AeronArchive, ReplayParams
from aerowire.base.errors import ConfigurationError

if TYPE_CHECKING:
    from aerowire.aio.client import AsyncAeron
    from aerowire.aio.subscription import AsyncSubscription
    from aerowire.archive import ArchiveClientContext, OpenReplay
    from aerowire.base.errors import ArchiveError
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication, Publication
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

    ImageHandler = Callable[[Image], object]

P = ParamSpec("P")
T = TypeVar("T")


def connect_archive(aeron: AsyncAeron, context: ArchiveClientContext | None = None, **options: object) -> Opening[AsyncAeronArchive]:
    """Connect to an archive by a client of the loop: `async with connect_archive(...) as archive`, or await it.

    Arguments and errors as `AeronArchive.connect`, whose handlers are called in the loop here. The archive's client ends with the
    loop's. Cancelled, it leaves nothing open.
    """
    if context is not None and context.aeron is not None:
        raise ConfigurationError(
            "the client of an archive uses the client of the loop",
            where="connect_archive",
            expected="no option 'aeron'",
        )
    if context is None:
        options["aeron"] = aeron.client
    else:
        context = type(context)(**{**vars(context), "aeron": aeron.client})
    return Opening(lambda: AsyncAeronArchive._connect(aeron, context, options))


def _awaited(start: Callable[Concatenate[AeronArchive, P], Pending[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the form of an operation that is awaited: `x` of `async_x`."""
    name = start.__name__.removeprefix("async_")

    async def call(self: AsyncAeronArchive, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.wait(start(self.client, *args, **kwargs))

    update_wrapper(call, start)
    call.__name__ = name
    call.__qualname__ = f"AsyncAeronArchive.{name}"
    return call


class AsyncContinuedPublication(NamedTuple):
    """As ContinuedPublication, in the loop."""

    publication: AsyncExclusivePublication
    recording_id: int
    position: int


class AsyncOpenReplay(NamedTuple):
    """As OpenReplay, in the loop."""

    subscription: AsyncSubscription
    replay_session_id: int


class AsyncAeronArchive:
    """A control session with one archive, of one event loop. From `connect_archive`; an asynchronous context manager.

    Its operations are those of AeronArchive, with their arguments, results and errors. Cancelled, an operation is given up; the archive may
    have carried it out. Belongs to the loop's thread.
    """

    def __init__(self, aeron: AsyncAeron, client: AeronArchive) -> None:
        self._aeron = aeron
        self._client = client
        self._arrivals = Arrivals(aeron)

    start_recording = _awaited(AeronArchive.async_start_recording)
    extend_recording = _awaited(AeronArchive.async_extend_recording)
    stop_recording = _awaited(AeronArchive.async_stop_recording)
    try_stop_recording = _awaited(AeronArchive.async_try_stop_recording)
    try_stop_recording_by_identity = _awaited(AeronArchive.async_try_stop_recording_by_identity)
    truncate_recording = _awaited(AeronArchive.async_truncate_recording)
    purge_recording = _awaited(AeronArchive.async_purge_recording)
    update_channel = _awaited(AeronArchive.async_update_channel)
    start_replay = _awaited(AeronArchive.async_start_replay)
    stop_replay = _awaited(AeronArchive.async_stop_replay)
    stop_all_replays = _awaited(AeronArchive.async_stop_all_replays)
    request_replay_token = _awaited(AeronArchive.async_request_replay_token)
    list_recordings = _awaited(AeronArchive.async_list_recordings)
    list_recordings_for_uri = _awaited(AeronArchive.async_list_recordings_for_uri)
    list_recording = _awaited(AeronArchive.async_list_recording)
    list_recording_subscriptions = _awaited(AeronArchive.async_list_recording_subscriptions)
    find_last_matching_recording = _awaited(AeronArchive.async_find_last_matching_recording)
    get_start_position = _awaited(AeronArchive.async_get_start_position)
    get_recording_position = _awaited(AeronArchive.async_get_recording_position)
    get_stop_position = _awaited(AeronArchive.async_get_stop_position)
    get_max_recorded_position = _awaited(AeronArchive.async_get_max_recorded_position)
    detach_segments = _awaited(AeronArchive.async_detach_segments)
    delete_detached_segments = _awaited(AeronArchive.async_delete_detached_segments)
    purge_segments = _awaited(AeronArchive.async_purge_segments)
    attach_segments = _awaited(AeronArchive.async_attach_segments)
    migrate_segments = _awaited(AeronArchive.async_migrate_segments)
    replicate = _awaited(AeronArchive.async_replicate)
    stop_replication = _awaited(AeronArchive.async_stop_replication)
    try_stop_replication = _awaited(AeronArchive.async_try_stop_replication)
    copy_recording = _awaited(AeronArchive.async_copy_recording)
    await_recorded = _awaited(AeronArchive.async_await_recorded)
    add_recording_events = _awaited(AeronArchive.async_add_recording_events)

    async def add_recorded_publication(self, channel: str, stream_id: int) -> AsyncPublication:
        """As `AeronArchive.add_recorded_publication`; the publication is one of the loop."""
        pending = self._client.async_add_recorded_publication(channel, stream_id)
        publication: Publication = await self.wait(pending)
        return AsyncPublication(self._aeron, publication)

    async def add_recorded_exclusive_publication(self, channel: str, stream_id: int) -> AsyncExclusivePublication:
        """As `AeronArchive.add_recorded_exclusive_publication`; the publication is one of the loop."""
        pending = self._client.async_add_recorded_exclusive_publication(channel, stream_id)
        publication: ExclusivePublication = await self.wait(pending)
        return AsyncExclusivePublication(self._aeron, publication)

    async def add_continued_publication(self, channel: str, stream_id: int) -> AsyncContinuedPublication:
        """As `AeronArchive.add_continued_publication`; the publication is one of the loop."""
        found = await self.wait(self._client.async_add_continued_publication(channel, stream_id))
        return AsyncContinuedPublication(AsyncExclusivePublication(self._aeron, found.publication), found.recording_id, found.position)

    async def replay(
        self,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        params: ReplayParams | None = None,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> AsyncSubscription:
        """As `AeronArchive.replay`; the subscription is one of the loop, and its handlers are called in the loop."""
        opened = await self.open_replay(
            recording_id,
            replay_channel,
            replay_stream_id,
            params,
            available_image_handler=available_image_handler,
            unavailable_image_handler=unavailable_image_handler,
        )
        return opened.subscription

    async def open_replay(
        self,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        params: ReplayParams | None = None,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> AsyncOpenReplay:
        """As `replay`; the result has the replay session id, too, to stop it by."""
        chosen = ReplayParams() if params is None else params
        start = partial(self._client.async_open_replay, recording_id, replay_channel, replay_stream_id, chosen)
        return await self._opened(start, available_image_handler, unavailable_image_handler)

    async def tail(
        self,
        recording_id: int,
        replay_channel: str,
        replay_stream_id: int,
        *,
        length: int,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
    ) -> AsyncOpenReplay:
        """As `AeronArchive.tail`; the result is as that of `open_replay`."""
        start = partial(self._client.async_tail, recording_id, replay_channel, replay_stream_id, length=length)
        return await self._opened(start, available_image_handler, unavailable_image_handler)

    async def _opened(
        self, start: Callable[..., Pending[OpenReplay]], available: ImageHandler | None, unavailable: ImageHandler | None
    ) -> AsyncOpenReplay:
        opened: list[OpenReplay] = []

        async def wait(pending: Pending[Any]) -> Subscription:
            opened.append(await self.wait(pending))
            return opened[0].subscription

        def start_with(come: ImageHandler, go: ImageHandler) -> Pending[Any]:
            return start(available_image_handler=come, unavailable_image_handler=go)

        subscription = await self._aeron._open_subscription(start_with, wait, available, unavailable)
        return AsyncOpenReplay(subscription, opened[0].replay_session_id)

    # ---- the session

    @property
    def client(self) -> AeronArchive:
        """The archive's client, for what does not wait; its `async_` calls can be given to `wait`."""
        return self._client

    @property
    def is_connected(self) -> bool:
        """Whether requests can be made."""
        return self._client.is_connected

    async def wait(self, pending: Pending[T]) -> T:
        """Wait for the result of anything that `client` has started, and return it. Cancelled, it is given up."""
        return await self._arrivals.wait(pending, self._images)

    async def error_response(self) -> ArchiveError:
        """Wait for the next error that answers no request, of a replay or a replication, or for the end of the session; return it."""
        while True:
            error = self._client.poll_for_error_response()
            if error is not None:
                return error
            await self._arrivals.come(self._images())

    async def close(self) -> None:
        """Close the session. Requests that are waited for fail. A second call does nothing."""
        self._client.close()
        self._arrivals.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.close()

    def _images(self) -> Iterable[Image]:
        return self._client.response_subscription.images

    def __repr__(self) -> str:
        return f"AsyncAeronArchive({self._client!r})"

    @classmethod
    async def _connect(cls, aeron: AsyncAeron, context: ArchiveClientContext | None, options: dict[str, object]) -> AsyncAeronArchive:
        return cls(aeron, await wait_once(aeron, AeronArchive.async_connect(context, **options)))
