"""Random worlds of members: Raft's rules hold at every step, and faults are found."""

from __future__ import annotations

import pytest

from aerowire.cluster.consensus.options import MILLISECOND_NS
from tests.cluster.consensus.checkers import ViolationError
from tests.cluster.consensus.faults import FAULTS, Plant
from tests.cluster.consensus.random_world import RandomWorld
from tests.conftest import SEED

SEEDS = 15
FAULT_SEEDS_MAX = 300
# Of those, the ones that the search may begin with: faults that need a rare course of events.
FIRST_SEEDS = {"position_before_term": 65}


def test_no_rule_is_broken() -> None:
    for seed in range(SEED, SEED + SEEDS):
        try:
            RandomWorld(seed).run()
        except ViolationError as violation:
            raise AssertionError(f"seed {seed}: {violation}") from violation


def test_a_seed_is_replayed() -> None:
    traces = []
    for _ in range(2):
        world = RandomWorld(3)
        world.trace = []
        world.run()
        traces.append(world.trace)
    assert traces[0] == traces[1]
    assert len(traces[0]) > 100
    assert world.now_ns > 8_000 * MILLISECOND_NS


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    first = FIRST_SEEDS.get(plant.__name__, 0)
    for seed in [*range(first, FAULT_SEEDS_MAX), *range(first)]:
        try:
            RandomWorld(seed).run()
        except ViolationError:
            return
    raise AssertionError(f"{plant.__name__} was not found by {FAULT_SEEDS_MAX} seeds")
