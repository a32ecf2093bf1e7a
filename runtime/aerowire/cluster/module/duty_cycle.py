"""The measure of the agent's cycles: the longest, and how many took longer than a threshold. Aeron: DutyCycleStallTracker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.client.handles.counter import Counter


class DutyCycle:
    """Measures from the start of one cycle to that of the next, as the official consensus module does."""

    def __init__(self, longest: Counter, exceeded: Counter, threshold_ns: int) -> None:
        """Start before the first cycle."""
        self._longest = longest
        self._exceeded = exceeded
        self._threshold_ns = threshold_ns
        self._last_ns: int | None = None

    def measure(self, now_ns: int) -> None:
        """Note the start of a cycle."""
        elapsed_ns = 0 if self._last_ns is None else now_ns - self._last_ns
        self._last_ns = now_ns
        if not self._longest.is_closed:
            self._longest.propose_max(elapsed_ns)
            if elapsed_ns > self._threshold_ns:
                self._exceeded.increment()
