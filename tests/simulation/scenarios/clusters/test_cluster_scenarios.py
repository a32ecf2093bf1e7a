"""Clusters whose processes, hosts and networks fail keep Raft's rules, and what they have acknowledged."""

from __future__ import annotations

import dataclasses

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.simulation.scenarios.catalogue import CLUSTER_SCENARIOS
from aerowire.simulation.scenarios.clusters.plan import ClusterScenario, Trouble
from aerowire.simulation.scenarios.clusters.run import ClusterRun
from aerowire.simulation.scenarios.outcome import StoppedError
from aerowire.simulation.scenarios.plan import Kept

CLUSTERS = CLUSTER_SCENARIOS["clusters"]
SHORT = dataclasses.replace(CLUSTERS, name="hunt", duration_s=(5, 15), clients=(1, 1), misfortune_s=(0.5, 2.0))
# 2093: a container whose client the driver had dropped worked without end.
# 3061: a leader that had recovered from a snapshot dropped the messages of the sessions in it.
FOUND = (2093, 3061)
ENDS = 1671


@pytest.mark.parametrize("seed", FOUND)
def test_rules_are_kept(seed: int) -> None:
    outcome = ClusterRun(SHORT.plan(seed)).execute()
    assert outcome.is_well, f"seed {seed}: {outcome.failure}"
    assert outcome.messages > 0


def test_a_cluster_comes_back_from_an_upgrade_and_from_its_end_by_a_toggle() -> None:
    kinds = (Trouble.ROLLING_UPGRADE, Trouble.SHUTDOWN, Trouble.ABORT)
    scenario = dataclasses.replace(SHORT, name="ends", sizes=(3,), duration_s=(6, 6), misfortune_s=(2.0, 2.0), kinds=kinds)
    plan = scenario.plan(ENDS)
    assert {misfortune.kind for misfortune in plan.misfortunes} == set(kinds)
    run = ClusterRun(plan)
    outcome = run.execute()
    assert outcome.is_well, outcome.failure
    assert [node.minor_version > 0 for node in run.nodes] == [True, True, True]
    assert min(node.lives for node in run.nodes) >= 3


def test_a_seed_makes_the_same_world_twice() -> None:
    first, second = (ClusterRun(SHORT.plan(2093)).execute() for _ in range(2))
    assert (first.digest, first.steps, first.messages) == (second.digest, second.steps, second.messages)


def test_a_plan_follows_from_its_seed() -> None:
    plans = [CLUSTERS.plan(seed) for seed in range(200)]
    assert CLUSTERS.plan(5) == plans[5]
    assert len(set(plans)) == 200
    assert {plan.nodes for plan in plans} == {1, 2, 3, 5}
    assert {plan.sync_level for plan in plans} == {0, 1, 2}
    assert {misfortune.kind for plan in plans for misfortune in plan.misfortunes} == set(Trouble)


def test_parts_of_a_plan_can_be_left_out() -> None:
    plan = next(plan for plan in map(CLUSTERS.plan, range(100)) if len(plan.streams) > 1 and plan.misfortunes)
    alone = plan.only(Kept(misfortunes=(), streams=(1,)))
    assert (alone.misfortunes, alone.streams) == ((), (1,))


def test_a_run_stops_at_a_step() -> None:
    run = ClusterRun(SHORT.plan(1), stop_at=100)
    with pytest.raises(StoppedError, match="step 100"):
        run.execute()
    run.close()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"clients": (0, 1)}, "clients"),
        ({"duration_s": (5, 1)}, "duration_s"),
        ({"sizes": (4,)}, "sizes"),
        ({"sync_levels": ()}, "sync_levels"),
        ({"loss": (0.5, 0.1)}, "loss"),
        ({"loss": (0.0, 1.5)}, "loss"),
        ({"clients": (1.0, 2.0)}, "clients"),
    ],
)
def test_a_scenario_that_cannot_be_drawn_from_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        dataclasses.replace(ClusterScenario(name="own", about=""), **wrong)  # type: ignore[arg-type]
