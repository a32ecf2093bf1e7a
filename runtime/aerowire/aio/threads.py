"""Blocking calls off the event loop, in a thread that no loop waits for when it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(call: Callable[[], T], dispose: Callable[[T], object] | None = None) -> T:
    """Return what `call()` returns, or raise what it raises. Cancelled, it goes on, and `dispose` gets what nobody waits for any more.

    A daemon thread of its own: the loop's executor is waited for at the loop's end, however long a call takes.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            if error is None and dispose is not None:
                _start(lambda: dispose(result))  # type: ignore[arg-type]
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = call()
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the loop is closed
            if error is None and dispose is not None:
                dispose(result)  # type: ignore[arg-type]

    _start(run)
    try:
        return await future
    except asyncio.CancelledError:
        if future.done() and not future.cancelled() and future.exception() is None and dispose is not None:
            opened = future.result()
            _start(lambda: dispose(opened))
        raise


def _start(run: Callable[[], object]) -> None:
    threading.Thread(target=run, name="aeron-aio-call", daemon=True).start()
