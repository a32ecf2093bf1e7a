"""Where the errors of a service container go: its error log, its counter, and the handlers that the application has named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.agents.counting import CounterWhileOpen
from aerowire.agents.error_recorder import ErrorRecorder
from aerowire.ipc.error_log import DistinctErrorLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aerowire.base.ports import ClockPort
    from aerowire.client.handles.counter import Counter
    from aerowire.cluster.files.mark_file import ClusterMarkFile


class ContainerErrors:
    """Handlers are called first; then the error is counted and put into the log. The agent's thread."""

    def __init__(
        self, mark_file: ClusterMarkFile, counter: Counter, clock: ClockPort, handlers: Sequence[Callable[[BaseException], object]]
    ) -> None:
        self._recorder = ErrorRecorder(
            DistinctErrorLog(mark_file.error_log_buffer), CounterWhileOpen(counter), clock, owner="aerowire service container"
        )
        self._handlers = handlers

    def record(self, error: BaseException) -> None:
        """Take an error; what a handler raises is an error, too."""
        for handler in self._handlers:
            try:
                handler(error)
            except Exception as raised:
                self._recorder.record(raised)
        self._recorder.record(error)

    def warn(self, text: str) -> None:
        """Take what is not an error yet."""
        self._recorder.warn(text)
