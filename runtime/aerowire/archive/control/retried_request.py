"""An addition to the driver that is asked for again while the driver refuses it for the moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from aerowire.base.errors import RegistrationError
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.tables.errors import ErrorCode

T = TypeVar("T")

# A name that does not resolve yet, or a log that cannot be made yet, takes the driver longer than that.
RETRY_INTERVAL_MS = 10


class RetriedRequest(Generic[T]):
    """One addition: `poll` it until it returns what was added. Its client is serviced elsewhere: a poll does not look for answers."""

    def __init__(self, start: Callable[[], Pending[T]]) -> None:
        """`start` sends the command. Raises what it raises."""
        self._start = start
        self._pending: Pending[T] | None = start()
        self._retry_ms = 0

    def poll(self, now_ms: int) -> T | None:
        """Return what was added; None while the driver has not answered, or refuses it temporarily. Raises what it refused it with."""
        if self._pending is None:
            if now_ms < self._retry_ms:
                return None
            self._pending = self._start()
        if not self._pending.is_done:
            return None
        try:
            return self._pending.result()
        except RegistrationError as error:
            if error.error_code != ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            self._pending = None
            self._retry_ms = now_ms + RETRY_INTERVAL_MS
            return None

    def abandon(self) -> None:
        """Give it up, and give back what the driver makes or has made for it."""
        if self._pending is not None:
            self._pending.abandon()
