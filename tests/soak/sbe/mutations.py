"""Messages of any SBE schema with bytes changed: read back to the same bytes or told to be none, each at once; nothing else ever."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.codegen.sbe.mutation import mutated
from tests.soak.bars import Part, Size

COUNT = {Size.FULL: 100_000, Size.SMALL: 1_000}
SEEDS = (41, 42)


def run(size: Size, seed: int, _scratch: Path) -> str:
    told = mutated(seed, COUNT[size])
    return f"{told.messages + told.errors} mutations: {told.messages} messages, {told.errors} clean errors"


def parts(size: Size) -> list[Part]:
    return [Part(f"seed-{seed}", seed, partial(run, size, seed)) for seed in SEEDS]
