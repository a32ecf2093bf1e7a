"""Operations under way for the consensus machine, each of several steps that do not wait. What one ends with goes back as a result."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.steps import Steps
from aerowire.base.errors import AerowireError
from aerowire.cluster.consensus.inputs import EffectFailed, Result

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending

StepsOf = Generator["Pending[Any] | None", Any, Result | None]


class Operations:
    """The operations of one member. Changed by `start`, `poll` and `abandon`."""

    def __init__(self, give: Callable[[Result], object], on_error: Callable[[BaseException], object]) -> None:
        """`give` gets the result of each operation that has one, EffectFailed of one that failed; `on_error` its error before."""
        self._give = give
        self._on_error = on_error
        self._running: list[Steps[Result | None]] = []

    def __len__(self) -> int:
        return len(self._running)

    def start(self, what: str, steps: StepsOf) -> None:
        """Begin an operation: its first step is taken at the next `poll`."""
        self._running.append(Steps(what, steps))

    def poll(self) -> int:
        """Proceed with all; return how many have ended."""
        ended = 0
        for operation in tuple(self._running):
            if operation in self._running and operation.poll():  # the result of one may have ended others
                self._running.remove(operation)
                ended += 1
                self._end(operation)
        return ended

    def abandon(self) -> None:
        """Give all up, which cleans up after them; nothing of them is a result any more."""
        running, self._running = self._running, []
        for operation in running:
            try:
                operation.abandon()
            except AerowireError as error:
                self._on_error(error)

    def _end(self, operation: Steps[Result | None]) -> None:
        try:
            result = operation.result()
        except AerowireError as error:
            self._on_error(error)
            self._give(EffectFailed(f"{operation.what}: {error}"))
        else:
            if result is not None:
                self._give(result)
