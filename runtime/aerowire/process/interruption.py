"""Ctrl-C and SIGTERM in a command: one exception for both, held back while the command is being loaded.

Knows nothing of commands and their exit codes, and loads little: it is there before the command is.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
# A second Ctrl-C while the first one is being cleaned up after would leave files behind. One that comes later is for a command that hangs.
DEAF_S = 1.0
# Within an import the exception may come out as another one, or be lost, and beside a fork or in a destructor it is lost: it is raised
# again so much later, until it is seen.
RETRY_SIGNAL = signal.SIGALRM
RETRY_S = 0.01


class Interruption:
    """Turns SIGINT and SIGTERM into KeyboardInterrupt while it is entered, from `release()` on, in the main thread only.

    A signal that the process was started with as ignored, as a shell does for background jobs, stays ignored.
    Invariant: `is_requested` is set before the exception is raised, and never reset.
    """

    def __init__(self, *, is_last: bool) -> None:
        """`is_last`: the process ends after this, so that later signals are to change nothing; else the handlers before are put back."""
        self.is_requested = False
        self._is_last = is_last
        self._is_over = False
        self._deaf_until_s = 0.0
        self._before: dict[signal.Signals, object] = {}
        self._unraisable_hook_before = sys.unraisablehook

    def __enter__(self) -> Interruption:
        # Held back from the first: what loads the command has not begun to look after signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                try:
                    signal.signal(number, self._on_signal)
                except ValueError:  # not the main thread: signals are not ours
                    break
                self._before[number] = before
        if self._before:
            self._before[RETRY_SIGNAL] = signal.signal(RETRY_SIGNAL, self._raise)
            self._unraisable_hook_before, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
        return self

    def __exit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        self._is_over = True
        self.release()
        if not self._is_last:
            for number, before in self._before.items():
                signal.signal(number, before)  # type: ignore[arg-type]
            sys.unraisablehook = self._unraisable_hook_before

    def release(self) -> None:
        """Let signals through, once everything is loaded; raises KeyboardInterrupt for those that have come."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if time.monotonic() >= self._deaf_until_s:
            self.is_requested = True
            self._raise(number, frame)

    def _raise(self, _number: int, frame: FrameType | None) -> None:
        if self._is_over:
            return
        if _is_importing(frame):
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
            return
        self._deaf_until_s = time.monotonic() + DEAF_S
        raise KeyboardInterrupt

    def _on_unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        if self.is_requested and not self._is_over and isinstance(lost.exc_value, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, RETRY_S)
        else:
            self._unraisable_hook_before(lost)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


@contextmanager
def deferred() -> Iterator[None]:
    """Let signals wait while something is made that must not be lost before it has a name, such as a child process.

    They are raised when the block is left, so its result has to be kept within. Unlike a blocked signal this is not inherited by a child.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: handler for number in (*SIGNALS, RETRY_SIGNAL) if (handler := signal.getsignal(number)) is not None}
    for number in before:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)
