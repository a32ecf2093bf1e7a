"""What the asyncio handles share: their client, their end, and how long one waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from aerowire.aio.waiting import Waiters
from aerowire.base import arguments

if TYPE_CHECKING:
    from aerowire.aio.client import AsyncAeron

T = TypeVar("T")


class ClientHandle(Protocol):
    """What the handles of the blocking client have in common."""

    @property
    def is_closed(self) -> bool: ...
    def close(self) -> None: ...
    def _repr_html_(self) -> str: ...
    def _ensure_open(self) -> None: ...


class AsyncHandle:
    """A publication, subscription or counter of one event loop. Belongs to the loop's thread.

    Invariant: once its handle has ended, by whatever, everyone who waits on it has been woken.
    """

    def __init__(self, aeron: AsyncAeron, handle: ClientHandle) -> None:
        self._aeron = aeron
        self._handle = handle
        self._changes = Waiters(aeron._loop)
        self._watches: list[int] = []
        self._is_released = False
        aeron._handles.add(self)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or has ended with its client."""
        return self._handle.is_closed

    async def closed(self) -> None:
        """Wait for the end: return when it was closed, here or with its client; raise what ended the client."""
        while not self._handle.is_closed:
            await self._changes.wait()
        self._aeron._raise_failure()

    async def close(self) -> None:
        """Give it back to the driver, without waiting for an answer. A second call does nothing."""
        self._handle.close()
        self._end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        await self.close()

    def _repr_html_(self) -> str:
        """Render as a table, for notebooks: that of the client's handle."""
        return self._handle._repr_html_()

    def _wake(self) -> None:
        """Let everyone look again at the state of things."""
        self._changes.wake()

    def _add_watch(self, on_fire: Callable[[], object]) -> int:
        watch = self._aeron._watching.add(on_fire)
        self._watches.append(watch)
        return watch

    def _end(self) -> None:
        """The handle has ended: give its watches back, wake everyone. Once."""
        if not self._is_released:
            self._is_released = True
            self._aeron._handles.discard(self)
            for watch in self._watches:
                self._aeron._watching.remove(watch)
            self._watches.clear()
        self._wake()


def time_limit_s(timeout_s: float | None) -> float | None:
    """Return a timeout in seconds, None for none. Raises WrongTypeError or ConfigurationError for what is no number of seconds."""
    return None if timeout_s is None else arguments.seconds("timeout_s", timeout_s)


async def within(timeout_s: float | None, wait: Coroutine[Any, Any, T], refusal: Callable[[], BaseException]) -> T:
    """Return what `wait` returns; raise what `refusal()` returns when it takes longer than `timeout_s`, a `time_limit_s`."""
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            return await wait
    except TimeoutError:
        if limit.expired():
            raise refusal() from None
        raise
