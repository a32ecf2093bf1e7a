"""Archives that are killed, lose power and have failing disks: what they have acknowledged is there in the next life."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.simulation.scenarios.archives.plan import ACTS, SEGMENT_ACTS, Act, ArchivePlan, ArchiveScenario, Trouble
from aerowire.simulation.scenarios.archives.run import ArchiveRun
from aerowire.simulation.scenarios.catalogue import ARCHIVE_SCENARIOS
from aerowire.simulation.scenarios.outcome import StoppedError
from aerowire.simulation.scenarios.plan import Kept
from aerowire.simulation.scenarios.shrinking import shrink
from aerowire.tools.main import main

ARCHIVES, SEGMENTS, COPIES = (ARCHIVE_SCENARIOS[name] for name in ("archives", "segments", "copies"))
# 1: a recording that ended with its last file was taken for faulty. 52: so was a file whose archive died before it had its length.
# 74: files of a truncated recording came back with the power. 39: so did a file whose recording had failed before it had its length.
# 194: what a failed block had left came back after a cut that had failed once.
# 2016: files of a recording that a catalog without its end had forgotten were in the way of the next one with its id.
# 1357: a frame that lacked the end of a sector was taken for one without a checksum. 2730: without checksums a frame in the middle of the
# last block was torn, which no rule forbids. 2194: a purge that came before the end of a replay that was stopped was rightly refused.
FOUND = (1, 39, 52, 74, 194, 1357, 2016, 2194, 2730)


@pytest.mark.parametrize("seed", [*FOUND, 1_000, 1_001, 1_002])
def test_rules_are_kept(seed: int) -> None:
    outcome = ArchiveRun(ARCHIVES.plan(seed)).execute()
    assert outcome.is_well, f"aerowire simulate archives --seed {seed}: {outcome.failure}"


# segments 974: a recording that was about to be moved was purged. copies 467: a copy into an empty recording begins where its source does.
@pytest.mark.parametrize(
    ("name", "seed"), [("segments", 974), ("segments", 1_000), ("segments", 1_001), ("copies", 467), ("copies", 1_000)]
)
def test_rules_of_segments_and_copies_are_kept(name: str, seed: int) -> None:
    outcome = ArchiveRun(ARCHIVE_SCENARIOS[name].plan(seed)).execute()
    assert outcome.is_well, f"aerowire simulate {name} --seed {seed}: {outcome.failure}"


def test_a_seed_makes_the_same_world_twice() -> None:
    first, second = (ArchiveRun(ARCHIVES.plan(7)).execute() for _ in range(2))
    assert (first.digest, first.steps, first.messages) == (second.digest, second.steps, second.messages)


def test_a_plan_follows_from_its_seed() -> None:
    plans = [ARCHIVES.plan(seed) for seed in range(200)]
    assert ARCHIVES.plan(5) == plans[5]
    assert len(set(plans)) == 200
    assert {operation.act for plan in plans for operation in plan.streams} == set(ACTS)
    assert {misfortune.kind for plan in plans for misfortune in plan.misfortunes} == set(Trouble) - {Trouble.COMPACTION}
    assert {(plan.sync_level, bool(plan.checksum)) for plan in plans} == {(level, has) for level in (0, 1, 2) for has in (False, True)}


def test_a_plan_of_segments_has_what_is_done_to_them() -> None:
    plans = [SEGMENTS.plan(seed) for seed in range(50)]
    assert {operation.act for plan in plans for operation in plan.streams} > set(SEGMENT_ACTS)
    assert Trouble.COMPACTION in {misfortune.kind for plan in plans for misfortune in plan.misfortunes}
    assert {(plan.segment_length, plan.catalog_capacity) for plan in plans} == {("64k", "1k")}


def test_a_plan_of_copies_has_a_source_and_checksums() -> None:
    plans = [COPIES.plan(seed) for seed in range(50)]
    assert all(plan.checksum and plan.hosts == 2 for plan in plans if any(one.act is Act.COPY for one in plan.streams))
    assert sum(one.act is Act.COPY for plan in plans for one in plan.streams) > 100


def test_a_plan_is_shrunk_to_the_parts_that_fail() -> None:
    plan = next(plan for plan in map(ARCHIVES.plan, range(100)) if any(one.act is Act.PURGE for one in plan.streams) and plan.misfortunes)

    def fails(smaller: ArchivePlan) -> bool:
        return any(one.act is Act.PURGE for one in smaller.streams)

    kept = shrink(plan, fails)
    assert kept.misfortunes == ()
    assert [one.act for one in plan.only(kept).streams] == [Act.PURGE]


def test_a_run_stops_at_a_step() -> None:
    run = ArchiveRun(ARCHIVES.plan(1), stop_at=100)
    with pytest.raises(StoppedError, match="step 100"):
        run.execute()
    run.close()


def test_parts_of_a_plan_can_be_left_out() -> None:
    plan = ARCHIVES.plan(3)
    alone = plan.only(Kept(misfortunes=(), streams=(0,)))
    assert (alone.misfortunes, alone.streams) == ((), plan.streams[:1])
    assert ArchiveRun(alone).execute().is_well


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lives": (0, 1)}, "lives"),
        ({"operations": (5, 1)}, "operations"),
        ({"kill": 0.6, "power": 0.6}, "one end"),
        ({"acts": ()}, "acts"),
    ],
)
def test_a_scenario_that_cannot_be_drawn_from_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        dataclasses.replace(ArchiveScenario(name="own", about=""), **wrong)  # type: ignore[arg-type]


def test_the_command_runs_archives(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["simulate", "--list"]) == 0
    assert "\narchives " in capsys.readouterr().out
    trace, plan_act = tmp_path / "trace", ARCHIVES.plan(3).streams[0].act.value
    assert main(["simulate", "archives", "--seed", "3", "--streams", "0", "--misfortunes", "none", "--trace", str(trace)]) == 0
    assert "all rules were kept" in capsys.readouterr().out
    assert f" {plan_act} " in f" {trace.read_text()} ".replace("\n", " ")
