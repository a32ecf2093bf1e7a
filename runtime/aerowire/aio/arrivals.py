"""Waiting in a loop until a client of an archive or a cluster has to be polled: for messages in its images, or the time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from aerowire.aio.handles import watch_image
from aerowire.aio.waiting import Waiters

if TYPE_CHECKING:
    from aerowire.aio.client import AsyncAeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.image import Image

T = TypeVar("T")

# The longest sleep between two polls: answers of the driver and deadlines come without a message, and wake nothing.
LOOK_AGAIN_S = 2e-3


def no_images() -> Iterable[Image]:
    """Return the images of a client that has none yet."""
    return ()


class Arrivals:
    """One watch of a loop for the images of a client, and the tasks that poll it. Belongs to the loop's thread."""

    def __init__(self, aeron: AsyncAeron) -> None:
        self._aeron = aeron
        self._waiters = Waiters(aeron._loop)
        self._watch: int | None = aeron._watching.add(self._waiters.wake)

    async def wait(self, pending: Pending[T], images: Callable[[], Iterable[Image]] = no_images) -> T:
        """Poll an operation until it is done, and return its result. Cancelled, it is given up."""
        try:
            while not pending.poll():
                await self.come(images())
        except BaseException:
            pending.abandon()  # the answer may have come together with a cancellation
            raise
        self._waiters.wake()  # the poll may have taken the answers that other tasks wait for
        return pending.result()

    async def come(self, images: Iterable[Image], look_again_s: float = LOOK_AGAIN_S) -> None:
        """Wait until an image has something to be polled, or `wake` is called, at most for `look_again_s`."""
        if self._watch is not None:
            for image in images:
                watch_image(self._aeron._watching.watcher, self._watch, image)
        timer = self._aeron._loop.call_later(look_again_s, self._waiters.wake)
        try:
            await self._waiters.wait()
        finally:
            timer.cancel()

    def wake(self) -> None:
        """Let all waiting tasks poll again."""
        self._waiters.wake()

    def close(self) -> None:
        """Give the watch back, and let all waiting tasks poll again."""
        if self._watch is not None:
            self._aeron._watching.remove(self._watch)
            self._watch = None
        self._waiters.wake()


async def wait_once(aeron: AsyncAeron, pending: Pending[T]) -> T:
    """Poll an operation without images of its own until it is done, and return its result. Cancelled, it is given up."""
    arrivals = Arrivals(aeron)
    try:
        return await arrivals.wait(pending)
    finally:
        arrivals.close()
