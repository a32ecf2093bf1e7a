"""Random lives of a member's files: votes, terms and whole sets of snapshots are there in the next life."""

from __future__ import annotations

from tests.cluster.consensus.checkers import ViolationError
from tests.cluster.module.recovered.world import RecoveredWorld
from tests.conftest import SEED

SEEDS = 25


def test_no_rule_is_broken() -> None:
    recorded = noted = 0
    for seed in range(SEED, SEED + SEEDS):
        world = RecoveredWorld(seed)
        try:
            world.run()
        except ViolationError as violation:
            raise AssertionError(f"seed {seed}: {violation}") from violation
        recorded, noted = recorded + len(world.archive), noted + world.noted
    assert recorded > 100
    assert noted > 0
