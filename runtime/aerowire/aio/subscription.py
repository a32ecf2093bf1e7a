"""Receiving in an event loop: `async for message in subscription`, or batches of fragments for speed.

What has been read from the stream and not been asked for yet stays here, whoever is cancelled. Knows nothing of shared memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from aerowire.aio.handle import AsyncHandle, time_limit_s, within
from aerowire.aio.handles import watch_image
from aerowire.aio.message import Message, MessageCollector
from aerowire.base import arguments, units
from aerowire.base.errors import ClosedError, NotConnectedError
from aerowire.client.subscriptions.assembler import FragmentAssembler

if TYPE_CHECKING:
    from aerowire.aio.client import AsyncAeron
    from aerowire.client.subscriptions.batch import FragmentBatch
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

# Fragments that are read at a time: while they are handed on the stream's window does not move, and nothing else is read.
FRAGMENT_LIMIT = 64
BATCH_FRAGMENTS = 4096


class AsyncSubscription(AsyncHandle):
    """The messages of one channel and stream in an event loop. From `AsyncAeron.add_subscription`.

    An asynchronous iterator of whole messages that ends when the subscription is closed, and raises what ended the client. Several tasks
    may iterate: each message goes to one of them. A task that is cancelled takes no message with it, and a `timeout` around `anext`
    loses none.

    Invariant: the stream is read only when no message is left here, so that a reader that stands still holds up its publishers.
    """

    _handle: Subscription

    def __init__(self, aeron: AsyncAeron, handle: Subscription) -> None:
        super().__init__(aeron, handle)
        self._messages: deque[Message] = deque()
        self._assembler = FragmentAssembler(MessageCollector(self._messages).take)
        self._image_watches: dict[int, int] = {}
        self._has_read = False

    # ---- messages

    def __aiter__(self) -> AsyncSubscription:
        return self

    async def __anext__(self) -> Message:
        messages = self._messages
        while not messages:
            if self._has_read:
                # What was read has been handed on, and nothing was waited for since: let the other tasks have their turn.
                self._has_read = False
                await asyncio.sleep(0)
            elif self._handle.is_closed:
                self._aeron._raise_failure()
                raise StopAsyncIteration
            elif self._handle.poll(self._assembler, FRAGMENT_LIMIT) > 0:
                self._has_read = True
            else:
                await self._wait_fragments()
        return messages.popleft()

    async def receive(self) -> Message:
        """Wait for the next message and return it. Raises ClosedError when the subscription is closed, or what ended the client."""
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise ClosedError("the subscription is closed", where=self._handle, expected="an open one") from None

    async def batches(self, fragment_limit: int = BATCH_FRAGMENTS) -> AsyncIterator[FragmentBatch]:
        """Iterate over what is there as FragmentBatch objects of at most `fragment_limit` fragments, never empty; for speed.

        Long messages come as their fragments (`FragmentBatch.flags`). Not beside an iteration over messages: each takes from the other.
        Raises ConfigurationError for a limit below one, which no batch meets.
        """
        arguments.whole_number("fragment_limit", fragment_limit, 1, units.INT32_MAX, where=self._handle)
        while not self._handle.is_closed:
            batch = self._handle.poll_many(fragment_limit)
            if len(batch):
                yield batch
                await asyncio.sleep(0)
            elif not self._handle.is_closed:
                await self._wait_fragments()
        self._aeron._raise_failure()

    async def readable(self) -> None:
        """Wait until there is something to poll: for who reads through `handle`. Returns also when the subscription ends."""
        if not self._messages and not self._handle.is_closed:
            await self._wait_fragments()

    # ---- destinations

    async def add_destination(self, channel: str, *, timeout_s: float | None = None) -> int:
        """Add a source to a channel of control-mode=manual; return its registration id. Raises RegistrationError."""
        return await self._aeron.wait(self._handle.async_add_destination(channel), timeout_s=timeout_s)

    async def remove_destination(self, channel: str, *, timeout_s: float | None = None) -> None:
        """Remove a source by its channel. Raises RegistrationError."""
        await self._aeron.wait(self._handle.async_remove_destination(channel), timeout_s=timeout_s)

    # ---- waiting

    async def connected(self, *, timeout_s: float | None = None) -> None:
        """Wait until there is an image. Raises NotConnectedError when there is none in time, and what ended the subscription."""
        await within(
            time_limit_s(timeout_s),
            self._wait_image(),
            lambda: NotConnectedError(
                "no publisher",
                where=self._handle,
                expected=f"one within {timeout_s} s",
                hint="is a publication open on the same channel and stream?",
            ),
        )

    # ---- what it is

    @property
    def handle(self) -> Subscription:
        """The client's subscription, with everything that does not wait."""
        return self._handle

    @property
    def channel(self) -> str:
        """Channel that it was added with."""
        return self._handle.channel

    @property
    def stream_id(self) -> int:
        """Stream that it receives."""
        return self._handle.stream_id

    @property
    def images(self) -> tuple[Image, ...]:
        """The images, one for each publication, in the order in which they came."""
        return self._handle.images

    @property
    def is_connected(self) -> bool:
        """Whether there is an open image."""
        return self._handle.is_connected

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._handle!r})"

    # ---- below: helpers

    async def _wait_fragments(self) -> None:
        """Wait until an image has something to be polled, until images come or go, or until the end."""
        watcher = self._aeron._watching.watcher
        for image in self._handle.images:
            watch = self._image_watches.get(image.correlation_id)
            if watch is None:
                watch = self._image_watches[image.correlation_id] = self._add_watch(self._wake)
            watch_image(watcher, watch, image)
        await self._changes.wait()

    async def _wait_image(self) -> None:
        while not self._handle.is_connected:
            self._handle._ensure_open()
            await self._changes.wait()

    def _on_image_gone(self, image: Image) -> None:
        """An image has ended: its watch and what was put together of its last message are of no use any more."""
        watch = self._image_watches.pop(image.correlation_id, None)
        if watch is not None and not self._is_released:
            self._watches.remove(watch)
            self._aeron._watching.remove(watch)
        self._assembler.free_session_buffer(image.session_id)
        self._wake()
