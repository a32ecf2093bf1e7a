"""A view of a stream of bytes that moves on: as much of it is held as the current message needs."""

from __future__ import annotations

import os
import select
from collections.abc import Callable

CHUNK = 1 << 20
# The longest message that is looked for; a length beyond it is damage, and the memory that is used stays within a few times of it.
HELD_MAX = 1 << 26
LINE_MAX = 4 * HELD_MAX  # in JSON a byte may take several


class Window:
    """Bytes of a file descriptor.  `data` is what is held, from `offset` of the stream on; `start` is where in it the reader stands.

    `before_wait` is called before a read that may have to wait, so that what was written can be flushed.
    """

    def __init__(self, descriptor: int, before_wait: Callable[[], None] = lambda: None) -> None:
        self.data = b""
        self.offset = 0
        self.start = 0
        self.is_ended = False
        self._descriptor = descriptor
        self._before_wait = before_wait

    @property
    def position(self) -> int:
        """Where in the stream the reader stands."""
        return self.offset + self.start

    @property
    def held(self) -> int:
        """How many bytes are there from where the reader stands."""
        return len(self.data) - self.start

    def hold(self, wanted: int) -> bool:
        """Hold at least `wanted` bytes from `start`; returns whether the stream has as many."""
        return self.held >= wanted or (self.fill(wanted) and self.held >= wanted)

    def fill(self, wanted: int, patience_s: float = 0.0) -> bool:
        """Drop what is before `start`, and hold at least `wanted` bytes from there; returns whether more came than there was.

        What comes within `patience_s` of the last piece is taken along, up to twice of what there was: a long message that comes in
        many pieces is not to be tried with every one of them.
        """
        held = self.held
        parts = [self.data[self.start :]]
        total = held
        while not self.is_ended and (total < wanted or (total < 2 * held and self._is_ready(patience_s))):
            if not self._is_ready():
                self._before_wait()
            part = os.read(self._descriptor, CHUNK)
            self.is_ended = not part
            parts.append(part)
            total += len(part)
        self.data = b"".join(parts)
        self.offset += self.start
        self.start = 0
        return total > held

    def line(self) -> bytes | None:
        """Take a line without its end; None at the end of the stream.  One that is too long to hold ends where the limit is."""
        searched = 0
        while True:
            end = self.data.find(b"\n", self.start + searched)
            if end >= 0:
                line = self.data[self.start : end]
                self.start = end + 1
                return line
            searched = self.held
            if searched >= LINE_MAX or not self.fill(searched + 1):
                line = self.data[self.start :]
                self.start = len(self.data)
                return line or None

    def skip_line(self) -> None:
        """Go on to the next line without holding the rest of this one."""
        while (end := self.data.find(b"\n", self.start)) < 0:
            self.start = len(self.data)
            if not self.fill(1):
                return
        self.start = end + 1

    def drop(self) -> int:
        """Go on to the end; returns how many bytes there were."""
        count = 0
        while True:
            count += self.held
            self.start = len(self.data)
            if not self.fill(1):
                return count

    def _is_ready(self, patience_s: float = 0.0) -> bool:
        if patience_s > 0 and not self._is_ready():
            self._before_wait()
        return bool(select.select([self._descriptor], [], [], patience_s)[0])
