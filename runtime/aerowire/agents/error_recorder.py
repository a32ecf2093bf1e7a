"""Where a component's errors go: its distinct error log, its counter of errors and, when the log is full, standard error."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError, StorageSpaceError

if TYPE_CHECKING:
    from aerowire.agents.counting import Counter
    from aerowire.base.ports import ClockPort
    from aerowire.ipc.error_log import DistinctErrorLog


class ErrorRecorder:
    """Records an observation of each error and counts it. Conductor thread only, as the counter has one writer."""

    __slots__ = ("_clock", "_counter", "_log", "_owner")

    def __init__(self, log: DistinctErrorLog, counter: Counter, clock: ClockPort, *, owner: str) -> None:
        """`owner` is the component's name on standard error."""
        self._log = log
        self._counter = counter
        self._clock = clock
        self._owner = owner

    def record(self, error: BaseException | str, *, key: Hashable = None) -> None:
        """Count `error` and note it in the error log.

        Errors of one kind at one place are one entry, whatever number they name, so that neither clients nor peers can fill the
        log; `key` tells the kind and place of an error whose text holds more than them.
        """
        text = error if isinstance(error, str) else describe(error)
        if key is None:
            key = (type(error), error.what, str(error.where)) if isinstance(error, AerowireError) else text
        self._counter.increment()
        if not self._log.record(text, self._clock.now_ms(), key=key):
            print(f"{self._owner}: the error log is full; lost: {text}", file=sys.stderr)

    def warn(self, text: str) -> None:
        """Note what is not an error yet, as official drivers do: in the same log, counted too."""
        self.record(f"WARN - {text}")


def describe(error: BaseException) -> str:
    """Render an error on one line: its class, and what it says."""
    name = type(error).__name__
    text = str(error).replace("\n", " ")
    return f"{name}: {text}" if text else name


def is_storage_error(error: BaseException) -> bool:
    """Return whether `error` says that a file system is full."""
    import errno

    return isinstance(error, StorageSpaceError) or (
        isinstance(error, OSError) and not isinstance(error, AerowireError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    )
