"""Recording signals and errors that answer no request of an archive's client, handed to the operation that they are about."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingSignalEvent
    from aerowire.base.errors import ArchiveError

# Errors that concern no operation are taken each cycle; an operation that has begun listens within one.
_ERRORS_MAX: Final = 64
_SIGNALS_MAX: Final = 64


class ArchiveSignals:
    """The handlers of a consensus module's archive client. Changed by `listen` and `forget`, and as the client is polled."""

    def __init__(self) -> None:
        """Start without listeners."""
        self._listeners: dict[int, tuple[Callable[[RecordingSignalEvent], object], Callable[[ArchiveError], object]]] = {}
        self._unheard: deque[RecordingSignalEvent] = deque(maxlen=_SIGNALS_MAX)
        self.errors: deque[ArchiveError] = deque(maxlen=_ERRORS_MAX)

    def listen(
        self, correlation_id: int, on_signal: Callable[[RecordingSignalEvent], object], on_error: Callable[[ArchiveError], object]
    ) -> None:
        """Call the handlers with signals and errors of an operation, and with its signals that came before its number was known."""
        self._listeners[correlation_id] = (on_signal, on_error)
        for event in [event for event in self._unheard if event.correlation_id == correlation_id]:
            self._unheard.remove(event)
            on_signal(event)

    def forget(self, correlation_id: int) -> None:
        """End a `listen`."""
        self._listeners.pop(correlation_id, None)

    def on_signal(self, event: RecordingSignalEvent) -> None:
        """Take a recording signal."""
        listener = self._listeners.get(event.correlation_id)
        if listener is not None:
            listener[0](event)
        else:
            self._unheard.append(event)

    def on_error(self, error: ArchiveError) -> None:
        """Take an error that answers no request; without a listener it is kept in `errors`."""
        listener = self._listeners.get(error.correlation_id)
        if listener is not None:
            listener[1](error)
        else:
            self.errors.append(error)
