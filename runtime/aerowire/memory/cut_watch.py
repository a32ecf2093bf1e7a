"""A regular look at mapped files: whether another process has cut one short.

An access to a page that a file has lost raises SIGBUS. Zeros in the page that holds the new end of the file raise nothing, and a reader
that finds them waits for a message that does not come. The length of the file tells in both cases.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.memory.region import Region

# Files for one look: a look at a file takes 2 us.
_FILES_PER_LOOK = 512


class CutWatch:
    """Looks at the lengths of files once in an interval, at most 512 of them at a time. `Region.lost_pages` holds the result."""

    def __init__(self, interval_ns: int, now_ns: Callable[[], int]) -> None:
        self._interval_ns = interval_ns
        self._now_ns = now_ns
        self._deadline_ns = now_ns()
        # Weakly: a file that nothing else refers to is unmapped.
        self._remaining: deque[weakref.ref[Region]] = deque()

    def look(self, regions: Callable[[], Iterable[Region | None]]) -> None:
        """Look at the next files if it is time; `regions` returns all of them when a round begins."""
        now_ns = self._now_ns()
        if now_ns < self._deadline_ns:
            return
        self._deadline_ns = now_ns + self._interval_ns
        if not self._remaining:
            self._remaining.extend(weakref.ref(region) for region in regions() if region is not None)
        for _ in range(min(_FILES_PER_LOOK, len(self._remaining))):
            region = self._remaining.popleft()()
            if region is not None:
                region.find_cut()
