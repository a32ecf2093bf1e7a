"""Waiting in the caller's thread: what every call that blocks does it by."""

from __future__ import annotations

import time
from typing import Protocol

_NS_PER_S = 1_000_000_000


class WaitPort(Protocol):
    """Sleeps in the caller's thread, or the refusal of them where one thread does everything and time passes between its calls."""

    @property
    def is_refused(self) -> bool:
        """Whether `require` raises."""
        ...

    def require(self, call: str, instead: str) -> None:
        """Raise BlockingCallError where nothing may wait. `call` is about to, and `instead` names the form that does not."""
        ...

    def now_ns(self) -> int:
        """Return a time that passes during `sleep` and that nobody sets, for the deadline of a call."""
        ...

    def sleep(self, duration_ns: int) -> None:
        """Sleep. A signal's handler runs when the sleep is over, or may end it by raising."""
        ...


class SystemWaiting:
    """The WaitPort of the operating system: the thread sleeps without the interpreter lock."""

    is_refused = False

    def require(self, call: str, instead: str) -> None:
        """Let every call wait."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def sleep(self, duration_ns: int) -> None:
        sleep(duration_ns)


def sleep(duration_ns: int) -> None:
    """Sleep, without the interpreter lock."""
    time.sleep(duration_ns / _NS_PER_S)
