"""The time of the conductor's duty cycle, for everything that runs in it."""

from __future__ import annotations


class CycleTime:
    """Both times of the current cycle. Changed by the conductor at the top of each cycle."""

    __slots__ = ("now_ms", "now_ns")

    def __init__(self, now_ns: int = 0, now_ms: int = 0) -> None:
        self.now_ns = now_ns
        self.now_ms = now_ms

    def update(self, now_ns: int, now_ms: int) -> None:
        """Go on to a new cycle."""
        self.now_ns = now_ns
        self.now_ms = now_ms
