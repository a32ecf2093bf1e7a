"""Lines of a descriptor, in batches, as soon as they can be read. Knows nothing of where they go."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator

READ_LENGTH = 1 << 16
# How often one that waits for input looks at what else there is.
LOOK_S = 0.1


class LineReader:
    """Iterates over batches of lines without their ends: a pipe's line is not kept waiting for the next.

    Invariant: `is_idle` while, and only while, everything that came has been handed out and more is waited for.
    """

    def __init__(self, descriptor: int, *, length_max: int, look: Callable[[], object]) -> None:
        """`look` is called now and then while nothing comes; what it raises ends the iteration."""
        self.is_idle = False
        self._descriptor = descriptor
        self._length_max = length_max
        self._look = look
        # A line whose end has not been read; no longer than the longest line and READ_LENGTH.
        self._begun: list[bytes] = []
        self._begun_length = 0

    def __iter__(self) -> Iterator[list[bytes]]:
        """Yield the batches. A line that is too long ends all: what has been read of it is the last."""
        while data := self._read():
            first, *others = data.split(b"\n")
            self._begun.append(first)
            self._begun_length += len(first)
            if others or self._begun_length > self._length_max:
                yield from self._complete(others)
        if self._begun_length:
            yield [b"".join(self._begun)]

    def _complete(self, others: list[bytes]) -> Iterator[list[bytes]]:
        line, *lines = [b"".join(self._begun), *others]
        rest = lines.pop() if lines else b""
        complete = [line, *lines]
        # What is too long begins a batch, so that the count of sent lines says which it is.
        too_long = next((index for index, line in enumerate(complete) if len(line) > self._length_max), 0)
        if too_long:
            yield complete[:too_long]
        yield complete[too_long:]
        self._begun, self._begun_length = [rest], len(rest)

    def _read(self) -> bytes:
        self.is_idle = not self._begun_length
        while not select.select([self._descriptor], [], [], LOOK_S)[0]:
            self._look()
        self.is_idle = False
        return os.read(self._descriptor, READ_LENGTH)
