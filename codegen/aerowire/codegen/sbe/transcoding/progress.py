"""How far a long run is, on a terminal's last line."""

from __future__ import annotations

import os
import stat
import sys
import time

INTERVAL_S = 0.5
CLEAR = "\r\033[K"


class Progress:
    """Tells on standard error, if that is a terminal and standard output is not, how much of the input is done."""

    def __init__(self, what: str, descriptor: int) -> None:
        self._what = what
        self._is_shown = sys.stderr.isatty() and not sys.stdout.isatty()
        self._is_there = False
        status = os.fstat(descriptor)
        self._size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        self._next_s = time.monotonic() + INTERVAL_S

    def tell(self, count: int, position: int) -> None:
        """Called after each message; writes now and then."""
        if not self._is_shown or (count & 0xFF and position < self._size) or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + INTERVAL_S
        part = f" ({100 * position // self._size} %)" if self._size else ""
        print(f"{CLEAR}{count:,} {self._what}, {position / 1e6:,.1f} MB{part}", end="", file=sys.stderr, flush=True)
        self._is_there = True

    def close(self) -> None:
        """Give the line back."""
        if self._is_there:
            print(CLEAR, end="", file=sys.stderr, flush=True)
            self._is_there = False
