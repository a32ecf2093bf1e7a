"""Archives in worlds that fail: killed, without power, on disks that tear pages and fail; nothing that was acknowledged is lost.

At full size outcomes are kept in soak/archives.jsonl, so that an interrupted part goes on where it was. `keep_ledger` makes the ledger of a
whole run, with the version of the code that it was made with, a part of the repository.
"""

from __future__ import annotations

from functools import partial

from aerowire.simulation.scenarios.catalogue import ARCHIVE_SCENARIOS
from tests.soak.bars import Part, Size
from tests.soak.worlds.seeds import ROOT, run_few, run_many

LEDGER = ROOT / "soak" / "archives.jsonl"
SEEDS = {"archives": 3_000, "segments": 1_000, "copies": 500}
SEEDS_OF_PART = 250
FEW_SEEDS = range(100_000, 100_001)


def parts(size: Size) -> list[Part]:
    if size is Size.SMALL:
        return [Part(name, FEW_SEEDS[0], partial(run_few, name)) for name in ARCHIVE_SCENARIOS]
    run = partial(run_many, ledger=LEDGER)
    blocks = [(name, range(first, first + SEEDS_OF_PART)) for name in ARCHIVE_SCENARIOS for first in range(0, SEEDS[name], SEEDS_OF_PART)]
    return [Part(f"{name}-{block[0]}", block[0], partial(run, name, block)) for name, block in blocks]
