"""Whole clusters in worlds that fail: Raft's rules hold, and the answers to clients are linearizable and lasting.

At full size outcomes are kept in soak/clusters.jsonl, so that an interrupted part goes on where it was.
"""

from __future__ import annotations

from functools import partial

from aerowire.simulation.scenarios.catalogue import CLUSTER_SCENARIOS
from tests.soak.bars import Part, Size
from tests.soak.worlds.seeds import ROOT, run_many

LEDGER = ROOT / "soak" / "clusters.jsonl"
SEEDS = {"clusters": 5_000, "sessions": 1_000}
SEEDS_OF_PART = 250


def parts(size: Size) -> list[Part]:
    """Return the parts. The small size is tests/simulation/scenarios/clusters."""
    if size is Size.SMALL:
        return []
    run = partial(run_many, ledger=LEDGER)
    blocks = [(name, range(first, first + SEEDS_OF_PART)) for name in CLUSTER_SCENARIOS for first in range(0, SEEDS[name], SEEDS_OF_PART)]
    return [Part(f"{name}-{block[0]}", block[0], partial(run, name, block)) for name, block in blocks]
