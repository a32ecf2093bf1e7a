"""A client of one event loop: `connect`, and what it opens. Only this module knows how the blocking client is driven from a loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from aerowire.aio.counter import AsyncCounter
from aerowire.aio.handle import AsyncHandle, within
from aerowire.aio.handles import DriverAnswers
from aerowire.aio.opening import Opening
from aerowire.aio.publication import AsyncExclusivePublication, AsyncPublication
from aerowire.aio.subscription import AsyncSubscription
from aerowire.aio.threads import run_in_thread
from aerowire.aio.waiting import LoopWatcher, Waiters
from aerowire.base import arguments
from aerowire.base.errors import AerowireError, ClosedError, ConfigurationError, DriverTimeoutError
from aerowire.client.aeron import Aeron
from aerowire.client.conductor.handlers import LOGGER_NAME
from aerowire.client.context import ClientContext
from aerowire.client.handles.waiting import Pending

if TYPE_CHECKING:
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription
    from aerowire.ipc.counters import CountersReader

    ImageHandler = Callable[[Image], object]

T = TypeVar("T")
H = TypeVar("H", bound=AsyncHandle)

# Handlers of the context that a loop's client calls in the loop.
_HANDLERS = (
    "new_publication_handler",
    "new_exclusive_publication_handler",
    "new_subscription_handler",
    "available_counter_handler",
    "unavailable_counter_handler",
    "publication_error_frame_handler",
    "close_handler",
)


def connect(
    aeron_dir: str | os.PathLike[str] | None = None, *, context: ClientContext | None = None, **options: object
) -> Opening[AsyncAeron]:
    """Connect to a media driver: `async with connect() as aeron`, or `aeron = await connect()`.

    Arguments and errors as `Aeron.connect`, whose handlers are called in the loop here. Waits up to `driver_timeout_ns` for a driver;
    put it into `asyncio.timeout` to wait for less. Raises ConfigurationError for a client without threads of its own.
    """
    chosen = ClientContext.chosen(aeron_dir, context, options)
    chosen.check_types()
    if chosen.use_conductor_agent_invoker or chosen.driver_agent_invoker is not None:
        raise ConfigurationError(
            "a client of an event loop cannot be invoked",
            where="aerowire.aio.connect",
            expected="use_conductor_agent_invoker=False and no driver_agent_invoker",
            hint="its conductor has a thread; use aerowire.client to do without",
        )
    return Opening(lambda: AsyncAeron._connect(chosen))


class AsyncAeron:
    """A connection to one media driver, of one event loop. From `connect`; an asynchronous context manager.

    When the driver dies or drops the client, everything that waits raises the DriverTimeoutError, DriverShutdownError or
    ClientTimeoutError that says so. Belongs to the loop's thread. Invariant: `_handles` are those that have not ended here.
    """

    def __init__(self, client: Aeron, loop: asyncio.AbstractEventLoop, watching: LoopWatcher) -> None:
        self._client = client
        self._loop = loop
        self._watching = watching
        self._handles: set[AsyncHandle] = set()
        self._is_closing = False
        self._ends = Waiters(loop)
        self._driver_listener = DriverAnswers(client._conductor.to_clients_buffer)
        self._answers_seen = self._driver_listener.tail()
        self._answered = Waiters(loop)
        self._answers_watch = watching.add(self._answered.wake)

    # ---- publications, subscriptions, counters

    def add_publication(self, channel: str, stream_id: int, *, timeout_s: float | None = None) -> Opening[AsyncPublication]:
        """Add a publication: `async with aeron.add_publication(...) as publication`, or await it and close it yourself.

        `timeout_s` is how long to wait for the driver; None: the client's driver timeout. Errors as `Aeron.add_publication`. Cancelled, it
        leaves nothing behind.
        """
        return Opening(
            lambda: self._open(
                lambda: self._client.async_add_publication(channel, stream_id), lambda got: AsyncPublication(self, got), timeout_s
            )
        )

    def add_exclusive_publication(
        self, channel: str, stream_id: int, *, timeout_s: float | None = None
    ) -> Opening[AsyncExclusivePublication]:
        """Add a publication with a session of its own. As `add_publication`."""
        return Opening(
            lambda: self._open(
                lambda: self._client.async_add_exclusive_publication(channel, stream_id),
                lambda got: AsyncExclusivePublication(self, got),
                timeout_s,
            )
        )

    def add_subscription(
        self,
        channel: str,
        stream_id: int,
        *,
        available_image_handler: ImageHandler | None = None,
        unavailable_image_handler: ImageHandler | None = None,
        timeout_s: float | None = None,
    ) -> Opening[AsyncSubscription]:
        """Add a subscription. As `add_publication`. The handlers are called in the loop with each image that comes and goes."""
        arguments.function("available_image_handler", available_image_handler)
        arguments.function("unavailable_image_handler", unavailable_image_handler)

        def start(available: ImageHandler, unavailable: ImageHandler) -> Pending[Subscription]:
            return self._client.async_add_subscription(
                channel, stream_id, available_image_handler=available, unavailable_image_handler=unavailable
            )

        def wait(pending: Pending[Subscription]) -> Coroutine[Any, Any, Subscription]:
            return self.wait(pending, timeout_s=timeout_s)

        return Opening(lambda: self._open_subscription(start, wait, available_image_handler, unavailable_image_handler))

    def add_counter(self, type_id: int, label: str = "", *, key: bytes = b"", timeout_s: float | None = None) -> Opening[AsyncCounter]:
        """Add a counter that lives as long as this client keeps it. As `add_publication`."""
        return Opening(
            lambda: self._open(
                lambda: self._client.async_add_counter(type_id, label, key=key), lambda got: AsyncCounter(self, got), timeout_s
            )
        )

    def add_static_counter(
        self, type_id: int, label: str = "", *, registration_id: int, key: bytes = b"", timeout_s: float | None = None
    ) -> Opening[AsyncCounter]:
        """Add, or find again, a counter that outlives its clients. As `add_publication`."""
        return Opening(
            lambda: self._open(
                lambda: self._client.async_add_static_counter(type_id, label, registration_id=registration_id, key=key),
                lambda got: AsyncCounter(self, got),
                timeout_s,
            )
        )

    async def next_session_id(self, stream_id: int, *, timeout_s: float | None = None) -> int:
        """Ask the driver for a session id that nobody uses on the stream."""
        return await self.wait(self._client.async_next_session_id(stream_id), timeout_s=timeout_s)

    async def wait(self, pending: Pending[T], *, timeout_s: float | None = None) -> T:
        """Wait for the answer to anything that `client` has started, and return it. Cancelled, or too late, it is given up.

        Raises WrongTypeError for what is no Pending.
        """
        if not isinstance(pending, Pending):
            raise arguments.wrong_type("pending", pending, "what an async_ call of `client` returned")
        try:
            limit_s = self._client.context.driver_timeout_ns / 1e9 if timeout_s is None else arguments.seconds("timeout_s", timeout_s)
        except ConfigurationError:
            pending.abandon()
            raise
        try:
            return await within(limit_s, self._wait_answer(pending), lambda: self._no_answer(pending, limit_s))
        except BaseException:
            pending.abandon()  # the answer may have come together with the cancellation
            raise

    # ---- the client itself

    @property
    def client(self) -> Aeron:
        """The blocking client, for what does not wait; its `async_` calls can be given to `wait`."""
        return self._client

    @property
    def client_id(self) -> int:
        """Number by which the driver knows this client."""
        return self._client.client_id

    @property
    def counters_reader(self) -> CountersReader:
        """All counters of the driver and its clients, for reading."""
        return self._client.counters_reader

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or has ended with its driver."""
        return self._is_closing or self._client.is_closed

    async def closed(self) -> None:
        """Wait for the end: return when the client was closed; raise what ended it otherwise."""
        while not self._client.is_closed:
            await self._ends.wait()
        self._raise_failure()

    async def close(self) -> None:
        """Close everything that it has opened, take leave of the driver, stop the threads. A second call does nothing."""
        if self._is_closing:
            return
        self._is_closing = True
        self._watching.detach()
        await run_in_thread(self._close_client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncAeron({self._client!r})"

    # ---- below: helpers

    @classmethod
    async def _connect(cls, context: ClientContext) -> AsyncAeron:
        loop = asyncio.get_running_loop()
        made: list[AsyncAeron] = []
        failed: list[BaseException] = []
        told = context.error_handler

        def on_error(error: BaseException) -> None:
            failed.append(error)
            for aeron in made:
                aeron._on_error()
            if told is not None:
                told(error)
            else:
                logging.getLogger(LOGGER_NAME).error("%s: %s", type(error).__name__, error)

        handlers = {name: _in_loop(loop, handler) for name in _HANDLERS if (handler := getattr(context, name)) is not None}
        looped = ClientContext(**{**vars(context), **handlers, "error_handler": _in_loop(loop, on_error)})
        client = await run_in_thread(lambda: Aeron.connect(context=looped), Aeron.close)
        made.append(cls(client, loop, LoopWatcher(loop, on_start=client._on_agent_start)))
        if failed:
            made[0]._on_error()
        return made[0]

    async def _open_subscription(
        self,
        start: Callable[[ImageHandler, ImageHandler], Pending[Subscription]],
        wait: Callable[[Pending[Subscription]], Coroutine[Any, Any, Subscription]],
        available: ImageHandler | None,
        unavailable: ImageHandler | None,
    ) -> AsyncSubscription:
        """Open a subscription of the loop by an operation that takes the handlers of its images; `wait` waits for its result."""
        self._ensure_open()
        opened: list[AsyncSubscription] = []
        available = available or self._client.context.available_image_handler
        unavailable = unavailable or self._client.context.unavailable_image_handler

        def come(image: Image) -> None:
            for subscription in opened:
                subscription._wake()
            if available is not None:
                available(image)

        def go(image: Image) -> None:
            for subscription in opened:
                subscription._on_image_gone(image)
            if unavailable is not None:
                unavailable(image)

        opened.append(AsyncSubscription(self, await wait(start(self._in_loop(come), self._in_loop(go)))))
        return opened[0]

    async def _open(self, start: Callable[[], Pending[T]], make: Callable[[T], H], timeout_s: float | None) -> H:
        self._ensure_open()
        return make(await self.wait(start(), timeout_s=timeout_s))

    async def _wait_answer(self, pending: Pending[T]) -> T:
        while True:
            tail = self._driver_listener.tail()  # BEFORE the look: what is said after it is more than this
            if tail != self._answers_seen:
                # The look may take the answers of others who wait, and the watch is for this from now on.
                self._answers_seen = tail
                self._answered.wake()
            if pending.poll():
                return pending.result()
            if self._client._conductor.is_behind or pending.is_done:  # in this order: who has handled the rest meanwhile has completed it
                await asyncio.sleep(0)
                continue
            self._driver_listener.watch(self._watching.watcher, self._answers_watch, tail)
            await self._answered.wait()

    def _no_answer(self, pending: Pending[T], limit_s: float) -> AerowireError:
        return DriverTimeoutError(
            f"no answer to: {pending.what}", where=self._client.context.aeron_dir, expected=f"an answer within {limit_s:g} s"
        )

    def _in_loop(self, handler: Callable[[Image], object]) -> Callable[[Image], object]:
        return _in_loop(self._loop, handler)

    def _ensure_open(self) -> None:
        if self._is_closing:
            raise ClosedError("the client is closed", where=self._client.context.aeron_dir, expected="an open client")

    def _raise_failure(self) -> None:
        """Raise what ended the client, if it did not end by being closed."""
        if self._client.is_closed and not self._is_closing:
            self._client._conductor.ensure_open()

    def _on_error(self) -> None:
        """Something was reported; when it was the client's end, whoever waits must hear of it."""
        if self._client.is_closed:
            self._wake_all()

    def _wake_all(self) -> None:
        self._ends.wake()
        self._answered.wake()
        for handle in list(self._handles):
            handle._end()

    def _close_client(self) -> None:
        try:
            self._client.close()
            self._watching.stop()
        finally:
            # From here, because whoever called `close` may have been cancelled: who waits must look AFTER the end.
            _in_loop(self._loop, self._wake_all)()


def _in_loop(loop: asyncio.AbstractEventLoop, handler: Callable[..., object]) -> Callable[..., object]:
    """Return a handler for any thread that calls `handler` in the loop; once the loop is closed it does nothing."""

    def call(*arguments: object) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(handler, *arguments)

    return call
