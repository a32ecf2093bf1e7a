"""What the conductor put aside until a log is made by the thread for files: commands of clients and set-ups of images.

Others go on meanwhile. What waited is done again from its start, and finds its log ready.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.driver.conductor.error_recorder import ErrorRecorder
    from aerowire.driver.resources.logs import LogNotReadyError, LogStore


@dataclass(frozen=True, slots=True)
class _Waiting:
    cause: LogNotReadyError
    retry: Callable[[], object]


class WaitingLogs:
    """Everything that waits, oldest first. Invariant: a log that was made for it is used by its retry, or discarded after it."""

    def __init__(
        self, logs: LogStore, errors: ErrorRecorder, *, is_client: Callable[[int], bool], on_over: Callable[[int], object]
    ) -> None:
        """`is_client` tells whether the client that asked for a log is still there; `on_over` hears of each that nobody waits for now."""
        self._logs = logs
        self._errors = errors
        self._is_client = is_client
        self._on_over = on_over
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, cause: LogNotReadyError, retry: Callable[[], object]) -> None:
        """Call `retry` once the log of `cause` is made, or could not be made."""
        self._waiting[cause.identity] = _Waiting(cause, retry)

    def has(self, identity: int) -> bool:
        """Return whether something waits for the log of `identity`."""
        return identity in self._waiting

    def cancel(self, identity: int) -> bool:
        """Forget what waits for the log of `identity`; return whether something did."""
        if self._waiting.pop(identity, None) is None:
            return False
        self._end(identity)
        return True

    def retry(self) -> int:
        """Do again what has its log; returns how much that was."""
        ready = [item for item in self._waiting.values() if item.cause.made.done()]
        for item in ready:
            identity, client_id = item.cause.identity, item.cause.client_id
            del self._waiting[identity]
            try:
                if client_id is None or self._is_client(client_id):
                    item.retry()
            except Exception as error:  # of one image; the others have their turn
                self._errors.record(error)
            finally:
                if identity not in self._waiting:
                    self._end(identity)
        return len(ready)

    def _end(self, identity: int) -> None:
        self._logs.discard(identity)
        self._on_over(identity)
