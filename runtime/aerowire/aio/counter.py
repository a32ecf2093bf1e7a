"""A counter in an event loop: as the client's, and one can wait for it to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.aio.handle import AsyncHandle
from aerowire.aio.handles import watch_counter

if TYPE_CHECKING:
    from aerowire.aio.client import AsyncAeron
    from aerowire.client.handles.counter import Counter


class AsyncCounter(AsyncHandle):
    """A 64-bit number that all who watch the driver can read. From `AsyncAeron.add_counter`."""

    _handle: Counter

    def __init__(self, aeron: AsyncAeron, handle: Counter) -> None:
        super().__init__(aeron, handle)
        self._value_watch = self._add_watch(self._wake)
        self._watched_value = 0

    @property
    def handle(self) -> Counter:
        """The client's counter."""
        return self._handle

    @property
    def counter_id(self) -> int:
        """Number of the counter in the driver's buffer."""
        return self._handle.counter_id

    @property
    def value(self) -> int:
        """The number. Raises ClosedError when closed."""
        return self._handle.value

    @value.setter
    def value(self, to: int) -> None:
        self._handle.value = to

    def increment(self) -> int:
        """Add one, atomically; return the number before."""
        return self._handle.increment()

    def get_and_add(self, by: int) -> int:
        """Add `by`, atomically; return the number before."""
        return self._handle.get_and_add(by)

    async def changed(self, seen: int) -> int:
        """Wait until the number is not `seen` any more, whoever changes it, and return it."""
        while (value := self._handle.value) == seen:
            if self._watched_value != seen:
                self._watched_value = seen
                self._wake()  # who waited for a change of another value has had it, and the watch is for this one now
            if watch_counter(self._aeron._watching.watcher, self._value_watch, self._handle, seen):
                await self._changes.wait()
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._handle!r})"
