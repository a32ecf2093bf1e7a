"""Scenarios: plans that follow from seeds, worlds that keep their rules, and rules that find what breaks them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from aerowire.simulation.scenarios import traffic
from aerowire.simulation.scenarios.catalogue import SCENARIOS
from aerowire.simulation.scenarios.checkers import Counters, Leftovers, Progress
from aerowire.simulation.scenarios.outcome import Outcome, StoppedError
from aerowire.simulation.scenarios.plan import SECOND, Kept, Kind, Medium, Misfortune, Plan, Scenario, StreamPlan
from aerowire.simulation.scenarios.run import Run
from aerowire.simulation.scenarios.shrinking import shrink
from aerowire.simulation.scenarios.violation import ViolationError

SEED = 1_000  # of each scenario; many more are run apart
PAIR = Scenario(name="pair", about="two hosts", hosts=(2, 2), duration_s=(5, 5), streams=(1, 1), media=(Medium.UDP,), rate=(20, 20))


def run(plan: Plan, **options: Any) -> Outcome:
    return Run(plan, **options).execute()


@pytest.mark.parametrize("name", SCENARIOS)
def test_rules_are_kept(name: str) -> None:
    outcome = run(SCENARIOS[name].plan(SEED))
    assert outcome.is_well, f"aerowire simulate {name} --seed {SEED}: {outcome.failure}"
    assert outcome.messages > 0


def test_a_wall_clock_is_set_on_a_host_whose_monotonic_clock_has_just_begun() -> None:
    # The driver took a look at time 0 for none, and so all clients for silent at the next one.
    plan = SCENARIOS["rough"].plan(200_090).only(Kept(misfortunes=(0, 6), streams=(2,), habits=(), churners=()))
    outcome = run(plan)
    assert outcome.is_well, outcome.failure


def test_a_plan_follows_from_its_seed() -> None:
    for scenario in SCENARIOS.values():
        assert scenario.plan(5) == scenario.plan(5)
        assert len({scenario.plan(seed) for seed in range(20)}) == 20
        for plan in map(scenario.plan, range(50)):
            assert 1 <= plan.hosts <= 5
            assert 10 * SECOND <= plan.duration_ns <= 60 * SECOND
            assert {misfortune.kind for misfortune in plan.misfortunes} <= set(scenario.kinds)
            for stream in plan.streams:
                assert (stream.medium is Medium.IPC) == (set(stream.subscribers) == {stream.publisher})
                assert {stream.publisher, *stream.subscribers, *plan.churners} <= set(range(plan.hosts))
                assert len(stream.poll_ns) in (0, len(stream.subscribers))


def test_streams_have_habits() -> None:
    plans = [SCENARIOS["quiet"].plan(seed) for seed in range(200)]
    streams = [stream for plan in plans for stream in plan.streams]
    assert {len(stream.subscribers) for stream in streams if stream.medium is Medium.IPC} == {1, 2, 3}
    assert {bool(pause) for stream in streams for pause in stream.poll_ns} == {False, True}
    assert 0.2 < sum(stream.hold_ns > 0 for stream in streams) / len(streams) < 0.4
    assert 0.2 < sum(stream.ends_after > 0 for stream in streams) / len(streams) < 0.4
    assert 0.2 < sum(len(plan.churners) for plan in plans) / sum(plan.hosts for plan in plans) < 0.4
    assert all(stream.poll_ns == () for stream in streams if stream.medium in (Medium.GROUP, Medium.DYNAMIC))


def test_the_rough_scenario_has_the_ranges_that_it_tells() -> None:
    plans = [SCENARIOS["rough"].plan(seed) for seed in range(300)]
    assert max(plan.faults.loss for plan in plans) > 0.28
    assert max(plan.faults.replay for plan in plans) > 0.48
    assert {plan.faults.queue_length for plan in plans} == set(range(2, 21))
    assert {plan.faults.jitter_ns // 10_000_000 for plan in plans} >= set(range(3, 10))
    assert {misfortune.kind for plan in plans for misfortune in plan.misfortunes} == set(Kind)


def test_a_message_tells_what_it_is_and_whether_it_is_whole() -> None:
    message = traffic.encode(3, 7, 1 << 40, 200)
    assert len(message) == 200
    assert traffic.decode(message) == (3, 7, 1 << 40)
    for at in range(len(message)):
        damaged = bytearray(message)
        damaged[at] ^= 1
        assert traffic.decode(bytes(damaged)) is None
    assert traffic.decode(message[:10]) is None


# -- Rules find what breaks them ---------------------------------------------------------------------------------------


def test_a_message_that_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = traffic.encode

    def skipping(stream: int, incarnation: int, number: int, length: int) -> bytes:
        return encode(stream, incarnation, number + (number > 30), length)

    monkeypatch.setattr(traffic, "encode", skipping)
    outcome = run(PAIR.plan(1))
    assert outcome.failure is not None
    assert "contiguous and in order: at stream 0 at 10.0.0." in outcome.failure
    assert "expected message 31 of publisher 1; saw message 32 of publisher 1" in outcome.failure


def test_a_message_that_was_changed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = traffic.encode
    monkeypatch.setattr(traffic, "encode", lambda *arguments: encode(*arguments)[:-1] + b"!")
    outcome = run(PAIR.plan(1))
    assert outcome.failure is not None
    assert "messages arrive unchanged" in outcome.failure


def test_a_position_that_steps_back_is_found() -> None:
    class Meddling(Counters):
        def on_step(self, run: Run) -> None:
            super().on_step(run)
            if run.world.steps == 300:
                for host in run.drivers():
                    counters = host.cnc.counters_manager()
                    for info in counters.for_each():
                        if info.label.startswith("sub-pos"):
                            counters.set_value(info.counter_id, info.value - 32)

    outcome = run(PAIR.plan(1), checkers=(Meddling,))
    assert outcome.failure is not None
    assert "positions never step back: at 10.0.0." in outcome.failure


def test_a_world_that_makes_no_progress_tells_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "_FRAGMENTS", 0)
    outcome = run(PAIR.plan(1), checkers=(Progress,))
    assert outcome.failure is not None
    assert "what lives makes progress: at stream 0 at host" in outcome.failure
    assert "connected, " in outcome.failure
    assert "0 received, images: " in outcome.failure


def test_what_is_left_behind_is_found() -> None:
    class Forgetful(Leftovers):
        def on_recovered(self, run: Run) -> None:
            run.drivers()[0].regions.create("/left", 4096, sparse=True)

    outcome = run(PAIR.plan(1), checkers=(Forgetful,))
    assert outcome.failure is not None
    assert "the dead leave nothing behind: at 10.0.0.1: expected the driver's own files; saw ['/left']" in outcome.failure


def test_what_a_checker_raises_besides_is_raised() -> None:
    class Broken(Counters):
        def on_step(self, run: Run) -> None:
            del run
            raise ZeroDivisionError("a mistake")

    with pytest.raises(ZeroDivisionError, match="a mistake"):
        run(PAIR.plan(1), checkers=(Broken,))


def test_a_run_stops_at_a_step_and_has_its_last_events() -> None:
    lines: list[str] = []
    stopped = Run(PAIR.plan(1), stop_at=100, on_event=lines.append)
    with pytest.raises(StoppedError, match="step 100, "):
        stopped.execute()
    assert set(stopped.events) == {"10.0.0.1", "10.0.0.2"}
    assert sum(map(len, stopped.events.values())) == len(lines) == 4
    stopped.close()


# -- Smaller plans -----------------------------------------------------------------------------------------------------


def test_a_plan_is_shrunk_to_what_it_fails_by() -> None:
    misfortunes = tuple(Misfortune(number, Kind.PAUSE, 0, 1, number) for number in range(37))
    streams = tuple(StreamPlan(number, Medium.IPC, 0, (0, 0), 1, 1, ends_after=number % 2) for number in range(5))
    plan = dataclasses.replace(PAIR.plan(1), hosts=9, misfortunes=misfortunes, streams=streams, churners=(2, 4, 8))
    tried = []

    def fails(smaller: Plan) -> bool:
        tried.append(smaller)
        happen = {misfortune.seed for misfortune in smaller.misfortunes}
        return {7, 30} <= happen and streams[3] in smaller.streams and 4 in smaller.churners

    kept = shrink(plan, fails)
    assert kept == Kept(misfortunes=(7, 30), streams=(3,), habits=(3,), churners=(4,))
    assert len(tried) < 90
    smaller = plan.only(kept)
    assert (smaller.misfortunes, smaller.streams, smaller.churners) == ((misfortunes[7], misfortunes[30]), (streams[3],), (4,))
    assert all(not fails(plan.only(dataclasses.replace(kept, **{kind: ()}))) for kind in ("misfortunes", "streams", "habits", "churners"))


def test_parts_of_parts_of_a_plan_are_told_by_the_whole() -> None:
    misfortunes = tuple(Misfortune(number, Kind.PAUSE, 0, 1, number) for number in range(6))
    plan = dataclasses.replace(PAIR.plan(1), misfortunes=misfortunes)
    first, second = Kept(misfortunes=(1, 3, 5)), Kept(misfortunes=(0, 2), streams=(0,), habits=(), churners=())
    assert first.further(second) == Kept(misfortunes=(1, 5), streams=(0,), habits=(), churners=())
    assert plan.only(first).only(second) == plan.only(first.further(second))
    assert first.further(Kept()) == first


def test_a_stream_without_habits_is_read_once_on_each_host_and_does_not_end() -> None:
    stream = StreamPlan(0, Medium.IPC, 1, (1, 1, 2), 10, 100, poll_ns=(1, 0, 2), hold_ns=5, ends_after=7)
    assert stream.without_habits() == StreamPlan(0, Medium.IPC, 1, (1, 2), 10, 100)


def test_a_violation_says_all_of_it() -> None:
    violation = ViolationError("a rule", 1, 2, "a place")
    assert str(violation) == "a rule: at a place: expected 1; saw 2"


def test_nothing_is_left_of_a_run() -> None:
    made = Run(PAIR.plan(2))
    assert made.execute().is_well
    assert [host for host in made.world.hosts if host.has_power] == []
