"""Message schemas with something changed in them: verdict, errors and warnings are those of the official SBE tool."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.interop.sbe.official import official_tool
from tests.interop.sbe.verdicts import check_mutations
from tests.soak.bars import Part, Size

SEEDS = (61, 62)
COUNT = 5_000


def run(seed: int, scratch: Path) -> str:
    with official_tool() as official:
        return check_mutations(official, seed, COUNT, scratch)


def parts(size: Size) -> list[Part]:
    """Nothing at small size: `make interop` compares a few."""
    return [Part(f"seed-{seed}", seed, partial(run, seed)) for seed in SEEDS] if size is Size.FULL else []
