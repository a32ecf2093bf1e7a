"""Messages and bytes a second, told once an interval. Aeron: RateReporter. Pure: times are arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rate:
    """What went by within an interval, and in all."""

    messages_per_s: float
    bytes_per_s: float
    messages: int
    length: int

    def to_dict(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "messages_per_s": round(self.messages_per_s, 3),
            "bytes_per_s": round(self.bytes_per_s, 3),
            "messages": self.messages,
            "bytes": self.length,
        }

    def __str__(self) -> str:
        """Return it for people, as the official samples write it."""
        total = f"totals {self.messages} messages {self.length // 1_000_000} MB payloads"
        return f"{self.messages_per_s:.4g} msgs/sec, {self.bytes_per_s:.4g} bytes/sec, {total}"


class RateReporter:
    """Counts, and says what the rate was whenever an interval has gone by.

    Invariant: the totals never decrease.
    """

    __slots__ = ("_begin_ns", "_interval_ns", "_length_before", "_messages_before", "length", "messages")

    def __init__(self, now_ns: int, interval_ns: int = 1_000_000_000) -> None:
        self.messages = 0
        self.length = 0
        self._interval_ns = interval_ns
        self._begin_ns = now_ns
        self._messages_before = 0
        self._length_before = 0

    def poll(self, now_ns: int) -> Rate | None:
        """Return the rate of the interval that has ended; None while one is under way."""
        if now_ns - self._begin_ns < self._interval_ns:
            return None
        return self.take(now_ns)

    def take(self, now_ns: int) -> Rate:
        """Return the rate since the last one and begin a new interval."""
        elapsed_s = max(now_ns - self._begin_ns, 1) / 1e9
        messages, length = self.messages - self._messages_before, self.length - self._length_before
        rate = Rate(messages / elapsed_s, length / elapsed_s, self.messages, self.length)
        self._begin_ns = now_ns
        self._messages_before, self._length_before = self.messages, self.length
        return rate


class Pace:
    """How many messages are due at a rate; behind schedule they become due at once, but no more than a second's worth."""

    __slots__ = ("_begin_ns", "_rate", "_sent")

    def __init__(self, now_ns: int, rate: float) -> None:
        self._begin_ns = now_ns
        self._rate = rate
        self._sent = 0

    def due(self, now_ns: int) -> int:
        """Return how many messages should be sent now."""
        due = int((now_ns - self._begin_ns) * self._rate / 1e9) + 1 - self._sent
        if due > self._rate + 1:
            # What was missed while nobody took anything is not made up for.
            self._begin_ns = now_ns
            self._sent = 0
            due = 1
        return due

    def sent(self, count: int) -> None:
        """Tell how many were."""
        self._sent += count
