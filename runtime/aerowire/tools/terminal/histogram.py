"""Durations as a histogram, and as a picture of it for a terminal. Pure; knows nothing of what took so long."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

ROWS = 16
# What lies beyond this part of the durations shares the last row: one stall must not squeeze the rest into the first.
_BODY_SHARE = 0.999
_BAR_LENGTH = 40
_BAR = "#"


class Bucket(NamedTuple):
    """How many durations there are from `low` to below `high`, both in ns; the last bucket has its end."""

    low: float
    high: float
    samples: int


def buckets_of(samples_ns: Sequence[int], rows: int = ROWS) -> list[Bucket]:
    """Return a histogram of at most `rows` buckets, each wider than the one before by the same factor."""
    ordered = sorted(samples_ns)
    if not ordered:
        return []
    low, high = max(ordered[0], 1), ordered[-1]
    body_end = max(ordered[round((len(ordered) - 1) * _BODY_SHARE)], low) + 1
    body_rows = rows if body_end > high else rows - 1
    factor = (body_end / low) ** (1 / body_rows)
    edges = [low * factor**index for index in range(body_rows)] + [float(body_end)] + ([float(high)] if body_end <= high else [])
    edges[0] = float(min(ordered[0], low))
    return list(_counted(ordered, edges))


def _counted(ordered: Sequence[int], edges: Sequence[float]) -> Iterator[Bucket]:
    from bisect import bisect_left

    begin = 0
    for index in range(len(edges) - 1):
        is_last = index == len(edges) - 2
        end = len(ordered) if is_last else bisect_left(ordered, edges[index + 1])
        yield Bucket(edges[index], edges[index + 1], end - begin)
        begin = end


def rows_of(buckets: Sequence[Bucket]) -> Iterator[str]:
    """Yield the picture's lines: from, to, share and a bar, in microseconds."""
    total = sum(bucket.samples for bucket in buckets)
    most = max((bucket.samples for bucket in buckets), default=0)
    for bucket in buckets:
        bar = _BAR * math.ceil(_BAR_LENGTH * bucket.samples / most) if most else ""
        yield f"{bucket.low / 1e3:>12,.2f} -{bucket.high / 1e3:>11,.2f} us {bucket.samples / total:>7.2%}  {bar}".rstrip()


def bar_of(value: float, largest: float) -> str:
    """Return a bar of a value beside the largest one, both above 0, by their logarithms: ten times as much is a fixed length more."""
    if value <= 0 or largest <= 0:
        return ""
    decades = 6  # the shortest bar is of a millionth
    return _BAR * max(1, round(_BAR_LENGTH * (1 + math.log10(value / largest) / decades)))
