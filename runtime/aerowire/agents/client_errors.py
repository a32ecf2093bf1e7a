"""Errors of a component's own client: they are reported in the client's thread, and recorded by the component's agent."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from aerowire.base.errors import AerowireError

if TYPE_CHECKING:
    from collections.abc import Callable

# As many as wait for the agent; one that does not run is asked about by other means.
_ERRORS_MAX = 256


class ClientErrors:
    """The error handler of a client. Any thread reports; one takes."""

    def __init__(self) -> None:
        """Start without errors."""
        self._errors: deque[BaseException] = deque()
        self._lost_count = 0

    def __call__(self, error: BaseException) -> None:
        """Keep an error until it is taken; what has no room is counted."""
        if len(self._errors) < _ERRORS_MAX:
            self._errors.append(error)
        else:
            self._lost_count += 1

    def __bool__(self) -> bool:
        """Return whether there are errors to take."""
        return bool(self._errors)

    def take(self, record: Callable[[BaseException], object]) -> int:
        """Record what was reported since the last call; return how many errors that were."""
        taken, lost = len(self._errors), self._lost_count
        for _ in range(taken):
            record(self._errors.popleft())
        if lost:
            self._lost_count -= lost
            record(AerowireError("errors of the client were lost", expected=f"{_ERRORS_MAX} that wait at most", actual=f"{lost} more"))
        return taken
