"""The application's handlers: what it wants to be told of counters and of the client's end, and of errors that no caller can be given.

A handler that fails ends nothing: what it raises is reported like any other error.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.base import arguments
from aerowire.base.errors import AerowireError

if TYPE_CHECKING:
    from aerowire.client.context import ConcludedContext

Handler = Callable[..., object]

LOGGER_NAME = "aerowire.client"
AVAILABLE_COUNTER, UNAVAILABLE_COUNTER, CLOSE = "available_counter", "unavailable_counter", "close"


class Handlers:
    """Handlers by the kind of event. Any thread; they are called in the order in which they were added."""

    def __init__(self, context: ConcludedContext) -> None:
        self._error_handler = context.error_handler
        self._handlers: dict[str, dict[int, Handler]] = {AVAILABLE_COUNTER: {}, UNAVAILABLE_COUNTER: {}, CLOSE: {}}
        self._numbers = itertools.count(1)
        self._here = threading.local()
        for kind, handler in (
            (AVAILABLE_COUNTER, context.available_counter_handler),
            (UNAVAILABLE_COUNTER, context.unavailable_counter_handler),
            (CLOSE, context.close_handler),
        ):
            if handler is not None:
                self.add(kind, handler)

    @property
    def is_calling(self) -> bool:
        """Whether this thread is in one of the handlers now."""
        return getattr(self._here, "depth", 0) > 0

    def add(self, kind: str, handler: Handler) -> int:
        """Add a handler for AVAILABLE_COUNTER, UNAVAILABLE_COUNTER or CLOSE; return the number to remove it by."""
        arguments.function(f"{kind} handler", handler)
        number = next(self._numbers)
        self._handlers[kind][number] = handler
        return number

    def remove(self, kind: str, handler: int | Handler) -> bool:
        """Remove a handler by its number, or by itself (the first of several); return whether it was there."""
        known = self._handlers[kind]
        number = handler if isinstance(handler, int) else next((key for key, value in known.items() if value == handler), 0)
        return known.pop(number, None) is not None

    def announce(self, kind: str, *arguments: object) -> None:
        """Call every handler for a kind of event."""
        for handler in list(self._handlers[kind].values()):
            self.call(handler, *arguments)

    def announce_close(self) -> None:
        """Call the handlers for CLOSE, which happens once, also when one of them closes the client."""
        handlers, self._handlers[CLOSE] = self._handlers[CLOSE], {}
        for handler in handlers.values():
            self.call(handler)

    def call(self, handler: Handler | None, *arguments: object) -> None:
        """Call a handler if there is one; report what it raises."""
        if handler is None:
            return
        try:
            self._run(handler, *arguments)
        except Exception as error:
            self.report(error)

    def report(self, error: BaseException) -> None:
        """Hand an error that no caller can be given to the error handler, or to the log."""
        import logging

        logger = logging.getLogger(LOGGER_NAME)
        if self._error_handler is None:
            logger.error("%s: %s", type(error).__name__, error, exc_info=None if isinstance(error, AerowireError) else error)
            return
        try:
            self._run(self._error_handler, error)
        except Exception:
            logger.exception("the error handler failed")

    def _run(self, handler: Handler, *arguments: object) -> None:
        here = self._here
        here.depth = getattr(here, "depth", 0) + 1
        try:
            handler(*arguments)
        finally:
            here.depth -= 1
