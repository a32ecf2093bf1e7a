"""The logs that a client has mapped, and how long one that is given up stays mapped. Aeron: ClientConductor, logBuffers and linger.

Knows nothing of who reads or writes them. Under the conductor's lock.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from aerowire.base.errors import TruncatedFileError
from aerowire.base.units import INT64_MAX
from aerowire.codecs.flyweights.transport import PAGE_SIZE_MIN
from aerowire.logbuffer.log import LogBuffers

if TYPE_CHECKING:
    from aerowire.base.ports import RegionPort
    from aerowire.memory.region import Region

# A log that an explicit close frees stays mapped this long: another thread may be in the middle of it. Aeron: EXPLICIT_CLOSE_LINGER_NS.
CLOSE_LINGER_NS = 1_000_000_000


class MappedLogs:
    """Maps each log once for all that use it. Invariant: a log is mapped while a handle or a lingering holder refers to it."""

    def __init__(self, *, touches: bool, now_ns: Callable[[], int], regions: RegionPort) -> None:
        self._touches = touches
        self._regions = regions
        self._now_ns = now_ns
        self._logs: weakref.WeakValueDictionary[int, LogBuffers] = weakref.WeakValueDictionary()
        self._lingering: list[tuple[int, int, object]] = []  # a heap of deadline, number and holder
        self._numbers = itertools.count()

    def map(self, registration_id: int, log_file: str) -> LogBuffers:
        """Return the log of a stream; raises what mapping its file raises."""
        logs = self._logs.get(registration_id)
        if logs is None or _has_lost_pages(logs):
            logs = LogBuffers.map(log_file, regions=self._regions)
            if logs.region is not None:
                logs.region.guard()
            if self._touches:
                _touch(logs)
            self._logs[registration_id] = logs
        return logs

    def regions(self) -> Iterator[Region]:
        """Yield the mapped file of each log."""
        for logs in list(self._logs.values()):
            if logs.region is not None:
                yield logs.region

    def find_cut(self, registration_id: int) -> bool:
        """Look whether the file of a log was cut short."""
        logs = self._logs.get(registration_id)
        return logs is not None and logs.region is not None and logs.region.find_cut()

    def take_lost(self) -> dict[int, TruncatedFileError]:
        """Return the error for each log whose file has lost pages, by registration id; each log once."""
        lost = {}
        for registration_id, logs in list(self._logs.items()):
            if logs.region is not None and logs.region.lost_pages:
                lost[registration_id] = logs.region.lost_pages_error()
                del self._logs[registration_id]
        return lost

    def linger(self, holder: object, duration_ns: int = CLOSE_LINGER_NS) -> None:
        """Keep what refers to a log for some time more."""
        heapq.heappush(self._lingering, (self._now_ns() + duration_ns, next(self._numbers), holder))

    def release_due(self) -> int:
        """Let go of what has lingered long enough; return how much that was."""
        if not self._lingering:
            return 0
        now_ns, released = self._now_ns(), 0
        while self._lingering and self._lingering[0][0] <= now_ns:
            heapq.heappop(self._lingering)
            released += 1
        return released

    def next_deadline_ns(self) -> int:
        """Return when (ns of the client's clock) the next lingering log is due."""
        return self._lingering[0][0] if self._lingering else INT64_MAX

    def release_all(self) -> None:
        """Let go of everything that lingers, at once."""
        self._lingering.clear()


def _has_lost_pages(logs: LogBuffers) -> bool:
    return logs.region is not None and logs.region.lost_pages > 0


def _touch(logs: LogBuffers) -> None:
    """Write every page of a log as it is, so that no message waits for one. Aeron: LogBuffers.preTouch."""
    if logs.region is not None:
        logs.region.pre_touch(PAGE_SIZE_MIN)
