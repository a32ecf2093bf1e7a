"""Tasks that wait for one thing, and the native watcher that tells them: the loop's side of `watcher`.

Every wait is for a state, never for an event: who is woken looks again, and waits again if it was for nothing. So a task that is
cancelled in the moment in which it is woken takes nothing away from the others.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from aerowire.aio.watcher import Watcher
from aerowire.base.idle import IdleStrategy
from aerowire.base.runner import AgentRunner
from aerowire.system.clock import SystemClock
from aerowire.system.wakeup import Wakeup

# How soon what a closed stream had mapped is looked for again: a few of the watcher's longest rests.
PURGE_DELAY_S = 0.1
STOP_TIMEOUT_S = 5.0


class Waiters:
    """Tasks that wait for the same thing. Of one loop."""

    __slots__ = ("_futures", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._futures: list[asyncio.Future[None]] = []

    def __bool__(self) -> bool:
        return bool(self._futures)

    def wake(self) -> None:
        """Let everyone who waits look again."""
        futures, self._futures = self._futures, []
        for future in futures:
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Wait to be woken once."""
        future = self._loop.create_future()
        self._futures.append(future)
        try:
            await future
        finally:
            with contextlib.suppress(ValueError):
                self._futures.remove(future)


class LoopWatcher:
    """One native watcher and the loop that it wakes. Belongs to the loop's thread.

    Invariant: while it is open the loop reads the bell, and each watch that was added has its callback.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, idle: IdleStrategy | None = None, on_start: Callable[[str], object] | None = None
    ) -> None:
        """`on_start(role_name)` is called on the watcher's thread before it begins."""
        self._loop = loop
        self._bell = Wakeup()
        self.watcher = Watcher(self._bell)
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._runner = AgentRunner([self.watcher], SystemClock(), idle or self.watcher.parking, on_start=on_start)
        self._purge: asyncio.TimerHandle | None = None
        self._is_open = True
        self._runner.start()
        loop.add_reader(self._bell.fileno(), self._on_bell)

    def add(self, on_fire: Callable[[], object]) -> int:
        """Return a watch that calls `on_fire` in the loop each time it fires."""
        watch = self.watcher.add()
        self._callbacks[watch] = on_fire
        return watch

    def remove(self, watch: int) -> None:
        """Give a watch back."""
        if self._callbacks.pop(watch, None) is not None and self._is_open:
            self.watcher.remove(watch)
            self._purge_soon()

    def detach(self) -> None:
        """Take the bell out of the loop: nothing fires from now on."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._bell.fileno())
            if self._purge is not None:
                self._purge.cancel()
            self._callbacks.clear()

    def stop(self) -> None:
        """End the watcher's thread, from any thread, after `detach`."""
        self.watcher.parking.ring()
        if self._runner.stop(STOP_TIMEOUT_S):
            self.watcher.purge(is_stopped=True)
            self._bell.close()

    def _on_bell(self) -> None:
        self._bell.drain()
        for watch in self.watcher.take_fired():
            callback = self._callbacks.get(watch)
            if callback is not None:
                callback()

    def _purge_soon(self) -> None:
        if self._purge is None:
            self._purge = self._loop.call_later(PURGE_DELAY_S, self._let_go)

    def _let_go(self) -> None:
        self._purge = None
        if self.watcher.purge():
            self._purge_soon()
