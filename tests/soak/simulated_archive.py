"""Archives in worlds that fail: killed, without power, on disks that tear pages and fail; nothing that was acknowledged is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.simulation.archive_lives import LIVES, live
from tests.soak.bars import Part, Size

SEEDS = {Size.FULL: 3_000, Size.SMALL: 4}
SEEDS_OF_PART = 250
FIRST_SEED = 1_000


def lives(seeds: range, _scratch: Path) -> str:
    for seed in seeds:
        live(seed)
    return f"{len(seeds)} seeds of {LIVES} lives: nothing that was acknowledged is lost"


def parts(size: Size) -> list[Part]:
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS[size])
    blocks = [seeds[place : place + SEEDS_OF_PART] for place in range(0, len(seeds), SEEDS_OF_PART)]
    return [Part(f"lives-{block[0]}", block[0], partial(lives, block)) for block in blocks]
