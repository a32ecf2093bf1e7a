"""Progress on one line of standard error that is written over. Says nothing where that is not a terminal."""

from __future__ import annotations

import sys
from typing import TextIO

from aerowire.conformance.text import printable

CLEAR_LINE = "\r\x1b[K"


class LiveLine:
    """The line; what is printed beside it calls `clear` first."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """`stream` is standard error without one."""
        self._stream = stream or sys.stderr
        self._is_live = self._stream.isatty()

    def show(self, text: str) -> None:
        """Put `text` where the last one was; an empty text clears the line."""
        if self._is_live:
            self._stream.write(CLEAR_LINE + printable(text))
            self._stream.flush()

    def clear(self) -> None:
        """Take the text away."""
        self.show("")
