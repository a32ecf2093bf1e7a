"""Which NAK each late frame answers, compared with a list of all NAKs for each position, and what it costs."""

from __future__ import annotations

import random
from bisect import bisect_right

import numpy as np
import pytest

from aerowire.pcap.analysis.naks import Late, Naks, answered


def numbers(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def late(frames: list[tuple[int, int, int]]) -> Late:
    """Return late frames of (row, position, row of the one before it)."""
    return Late(*(numbers([frame[part] for frame in frames]) for part in range(3)))


def listed(naks: list[tuple[int, int, int]], frames: list[tuple[int, int, int]]) -> list[int]:
    """The dumb twin, of one path."""
    left: dict[int, list[int]] = {}
    out = []
    for row, position, earlier in frames:
        asking = left.setdefault(position, [row for row, start, end in naks if start <= position < end])
        count, since = bisect_right(asking, row), bisect_right(asking, earlier)
        out.append(asking.pop(since if since < count else 0) if count else -1)
    return out


@pytest.mark.parametrize("number", range(60))
def test_agrees_with_lists_of_naks(seed: int, number: int) -> None:
    rng = random.Random(seed + number)
    naks: list[tuple[int, int, int]] = []
    paths: list[list[tuple[int, int, int]]] = [[] for _ in range(rng.randint(1, 4))]
    came: list[dict[int, int]] = [{} for _ in paths]
    positions, reach = rng.randint(1, 12), rng.choice((1, 4, 12))
    for row in range(rng.choice((5, 100, 2500))):
        position, path = rng.randrange(positions), rng.randrange(len(paths))
        if rng.random() < 0.5:
            naks.append((row, position, position + rng.randint(0, reach)))
            continue
        if position in came[path] or rng.random() < 0.5:  # else the first one there, which is not late
            paths[path].append((row, position, came[path].get(position, -1)))
        came[path][position] = row
    columns = Naks(*(numbers([nak[part] for nak in naks]) for part in range(3)))
    assert [mine.tolist() for mine in answered(columns, [late(frames) for frames in paths])] == [listed(naks, frames) for frames in paths]


def test_nothing_is_answered_without_naks_or_late_frames() -> None:
    none = Naks(numbers([]), numbers([]), numbers([]))
    assert answered(none, []) == []
    assert [mine.tolist() for mine in answered(none, [late([(3, 0, -1)]), late([])])] == [[-1], []]
    assert [mine.tolist() for mine in answered(Naks(numbers([1]), numbers([0]), numbers([32])), [late([])])] == [[]]


@pytest.mark.parametrize("path_count", [1, 50_000])
def test_many_naks_for_many_late_frames_are_not_listed(path_count: int) -> None:
    count = 50_000  # 2,500 million pairs
    at = np.arange(count)
    naks = Naks(at, np.zeros(count, dtype=np.int64), np.full(count, 64 * count))
    frames = Late(count + at, 64 * at, np.full(count, -1))
    parts = [Late(*(column[path::path_count] for column in (frames.rows, frames.positions, frames.earlier))) for path in range(path_count)]
    found = np.concatenate(answered(naks, parts))
    assert (found == 0).all()  # each position's first
