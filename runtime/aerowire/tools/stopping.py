"""The end of a command that runs until it is told to end: by Ctrl-C, by SIGTERM, or by the end of a pipe."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType


class StopPipe:
    """Signals as bytes of a pipe. What runs is ended between two of its steps, never within one.

    A handler only writes: an event or a lock that it shared with the thread it interrupts could stop both for ever.
    """

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        try:
            os.write(self._writer, b"\0")
        except BlockingIOError:
            return  # it is full of reasons to stop already


def is_stopped(ends: list[int], timeout_s: float) -> bool:
    """Wait until one of the descriptors tells to stop, at most `timeout_s`; standard input does by its end alone."""
    return any(end != 0 or not os.read(0, 1) for end in select.select(ends, [], [], timeout_s)[0])
