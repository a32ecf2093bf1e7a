"""Operations of several steps, none of which waits: a generator that yields what the next step depends on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from aerowire.base.errors import ClosedError
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.flyweights.commands import NULL_CORRELATION_ID

T = TypeVar("T")


def _no_work() -> None:
    """Do nothing: something else serves the streams that the steps depend on."""


class Steps(Pending[T]):
    """An operation under way: `poll()` it until it returns true, then take its `result()`.

    The generator yields a Pending and gets its result, or has its error raised at the `yield`; or it yields None, to look again at the
    next `poll`. What it returns is the result, what it raises the error. Given up, it is closed and what it awaits is abandoned: it cleans
    up in `except` or `finally`. `work` is called at each `poll`, where nothing else serves what the generator looks at without a Pending.
    """

    __slots__ = ("_awaited", "_is_advancing", "_steps", "_work")

    def __init__(self, what: str, steps: Generator[Pending[Any] | None, Any, T], work: Callable[[], object] = _no_work) -> None:
        super().__init__(NULL_CORRELATION_ID, what, self._advance, Steps._give_up)
        self._steps = steps
        self._work = work
        self._awaited: Pending[Any] | None = None
        self._is_advancing = False

    def start(self) -> None:
        """Take the first step now, and not at the first `poll`."""
        self._resume(lambda: next(self._steps))

    def interrupt(self, error: BaseException) -> None:
        """Raise an error at the step that the operation has come to, in place of what it waits for."""
        if not self.is_done:
            awaited, self._awaited = self._awaited, None
            if awaited is not None:
                awaited.abandon()
            self._resume(lambda: self._steps.throw(error))

    def _advance(self) -> None:
        if self._is_advancing:
            return  # a handler that its work has called polls it
        self._is_advancing = True
        try:
            self._work()
            while not self.is_done:
                awaited = self._awaited
                if awaited is None:
                    self._resume(lambda: next(self._steps))
                elif awaited.poll():
                    self._resume_with(awaited)
                else:
                    return
                if self._awaited is None:
                    return
        finally:
            self._is_advancing = False

    def _resume_with(self, awaited: Pending[Any]) -> None:
        try:
            value = awaited.result()
        except Exception as raised:
            error = raised
            self._resume(lambda: self._steps.throw(error))
        else:
            self._resume(lambda: self._steps.send(value))

    def _resume(self, run: Callable[[], Pending[Any] | None]) -> None:
        self._awaited = None
        try:
            self._awaited = run()
        except StopIteration as end:
            self.complete(end.value)
        except Exception as error:
            self.fail(error)

    @staticmethod
    def _give_up(pending: Pending[T]) -> None:
        assert isinstance(pending, Steps)
        awaited, pending._awaited = pending._awaited, None
        if awaited is not None:
            awaited.abandon()
        pending._steps.close()
        pending.fail(ClosedError(f"given up: {pending.what}"))
