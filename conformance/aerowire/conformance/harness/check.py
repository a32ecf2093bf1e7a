"""Comparisons that end a case with what was expected and what came."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from aerowire.conformance.harness.wire import Arrival
from aerowire.conformance.model import Finding, TimingMiss


def check_equal(what: str, actual: object, expected: object) -> None:
    """Raise Finding unless `actual` is `expected`."""
    if actual != expected:
        raise Finding(f"{what} = {expected}", f"{what} = {actual}")


def intervals_ms(arrivals: Sequence[Arrival]) -> list[float]:
    """Return the times between neighbouring arrivals in milliseconds."""
    return [(after.time_ns - before.time_ns) / 1e6 for before, after in itertools.pairwise(arrivals)]


def check_intervals(what: str, intervals: Sequence[float], *, at_least: int, low: float, high: float) -> None:
    """Check a period: Finding for half of the intervals missing or one halved or doubled, TimingMiss for one just outside."""
    shown = ", ".join(f"{interval:.1f}" for interval in intervals) or "none"
    expected = f"{what} every {low:g} to {high:g} ms"
    if 2 * len(intervals) < at_least:
        raise Finding(expected, f"{len(intervals)} intervals: {shown} ms")
    if len(intervals) < at_least:
        raise TimingMiss(f"at least {at_least} intervals of {what}", f"{len(intervals)}: {shown} ms")
    if min(intervals) < low / 2 or max(intervals) > 2 * high:
        raise Finding(expected, f"{shown} ms")
    if min(intervals) < low or max(intervals) > high:
        raise TimingMiss(expected, f"{shown} ms")
