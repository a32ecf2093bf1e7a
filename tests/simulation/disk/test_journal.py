"""A journal keeps its entries on a disk that fails in every way, and each defect planted in it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.disk import journal
from tests.simulation.disk.journal_lives import ViolationError, live
from tests.simulation.planted.planting import PLANTED, planted

SEEDS_MAX = 200
SEEDS = 300


def test_a_sound_journal_loses_nothing(seed: int) -> None:
    done = sum(live(seed + number, journal) for number in range(SEEDS))
    assert done > 20 * SEEDS


@pytest.mark.parametrize("patch", sorted(PLANTED.glob("journal--*.patch")), ids=lambda patch: patch.stem)
def test_a_planted_defect_is_found(patch: Path, tmp_path: Path) -> None:
    module = planted(patch, Path("tests/simulation/disk/journal.py"), tmp_path)
    for seed in range(SEEDS_MAX):
        try:
            live(seed, module)
        except ViolationError:
            return
    pytest.fail(f"{patch.stem}: not found by {SEEDS_MAX} seeds")


def test_there_is_a_defect_of_each_kind() -> None:
    assert len(list(PLANTED.glob("journal--*.patch"))) == 6


def test_the_same_seed_is_the_same_life() -> None:
    assert [live(seed, journal) for seed in range(20)] == [live(seed, journal) for seed in range(20)]
