"""Message schemas with something changed in them: 20,000 are read or told to be none, each problem with its place."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.codegen.sbe.schema_mutation import mutated
from tests.soak.bars import Part, Size

COUNT = {Size.FULL: 5_000, Size.SMALL: 100}
SEEDS = (51, 52, 53, 54)


def run(size: Size, seed: int, scratch: Path) -> str:
    told = mutated(seed, COUNT[size], scratch)
    assert told.schemas
    assert told.refused
    return f"{told.schemas + told.refused} mutations: {told.schemas} schemas, {told.refused} refused, {told.problems} problems"


def parts(size: Size) -> list[Part]:
    return [Part(f"seed-{seed}", seed, partial(run, size, seed)) for seed in SEEDS]
