"""The measure of the conductor's cycles: the longest, and how many took longer than a threshold. Aeron: DutyCycleStallTracker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.client.handles.counter import Counter


class DutyCycleTracker:
    """Measures from one cycle to the next. The conductor's thread."""

    def __init__(self, longest: Counter, exceeded: Counter, threshold_ns: int) -> None:
        self._longest = longest
        self._exceeded = exceeded
        self._threshold_ns = threshold_ns
        self._last_ns: int | None = None

    def measure(self, now_ns: int, slept_ns: int) -> None:
        """Note the start of a cycle, before which the thread slept for some time because there was nothing to do."""
        elapsed_ns = 0 if self._last_ns is None else now_ns - self._last_ns - slept_ns
        self._last_ns = now_ns
        if self._longest.is_closed:
            return
        self._longest.propose_max(elapsed_ns)
        if elapsed_ns > self._threshold_ns:
            self._exceeded.increment()
