"""Commands of clients and set-ups of images that go on when the thread for files has made a log. Others go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerowire.agents.error_recorder import ErrorRecorder
    from aerowire.driver.resources.logs import LogStore


@dataclass(frozen=True, slots=True)
class _Waiting:
    made: Future[Any]
    then: Callable[[], object]
    client_id: int | None
    stream: Hashable


class WaitingLogs:
    """Everything that waits, oldest first. Invariant: a log that was begun for it is used when it goes on, or discarded after that."""

    def __init__(
        self, logs: LogStore, errors: ErrorRecorder, *, is_client: Callable[[int], bool], answer_error: Callable[[int, Exception], object]
    ) -> None:
        """`is_client` tells whether the client that asked for a log is still there; `answer_error` tells it why there is no stream."""
        self._logs = logs
        self._errors = errors
        self._is_client = is_client
        self._answer_error = answer_error
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(
        self, identity: int, made: Future[Any], then: Callable[[], object], *, client_id: int | None = None, stream: Hashable = None
    ) -> None:
        """Call `then` once `made` is done, with or without an error, unless the client has gone by then.

        An error that `then` raises is sent to the client; without a client it is recorded.

        `identity` is the command or the image that waits, `stream` what others could share.
        """
        self._waiting[identity] = _Waiting(made, then, client_id, stream)

    def has(self, identity: int) -> bool:
        """Return whether that command or image waits."""
        return identity in self._waiting

    def of_stream(self, stream: Hashable) -> Future[Any] | None:
        """Return the end of the log that is being made for a stream that can be shared."""
        return next((item.made for item in self._waiting.values() if item.stream == stream and not item.made.done()), None)

    def cancel(self, identity: int) -> bool:
        """Forget a command that waits; return whether it did."""
        if self._waiting.pop(identity, None) is None:
            return False
        self._logs.discard(identity)
        return True

    def proceed(self) -> int:
        """Go on with what has its log; return how much that was."""
        ended = [(identity, item) for identity, item in self._waiting.items() if item.made.done()]
        for identity, item in ended:
            del self._waiting[identity]
            try:
                if item.client_id is None or self._is_client(item.client_id):
                    item.then()
            except Exception as error:  # of one stream; the others have their turn
                if item.client_id is None:
                    self._errors.record(error)
                else:
                    self._answer_error(identity, error)
            finally:
                if identity not in self._waiting:
                    self._logs.discard(identity)
        return len(ended)
