"""Random worlds of replicated states: all members have what the log gives them, whatever leaders append in vain."""

from __future__ import annotations

from tests.cluster.consensus.checkers import ViolationError
from tests.cluster.module.replicated.world import ReplicatedWorld
from tests.conftest import SEED

SEEDS = 15


def test_no_rule_is_broken() -> None:
    for seed in range(SEED, SEED + SEEDS):
        try:
            ReplicatedWorld(seed).run()
        except ViolationError as violation:
            raise AssertionError(f"seed {seed}: {violation}") from violation


def test_a_seed_is_replayed() -> None:
    worlds = [ReplicatedWorld(3) for _ in range(2)]
    for world in worlds:
        world.run()
    assert worlds[0].log == worlds[1].log
    assert worlds[0].commit == len(worlds[0].log) > 50
