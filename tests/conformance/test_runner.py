"""How verdicts come about, how cases are chosen, and what reports say."""

from __future__ import annotations

import json
import os
import signal
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.catalogue import GROUPS, UnknownCaseError, all_cases, select
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.harness.cnc import CncFile
from aerowire.conformance.harness.load import LoadGauge
from aerowire.conformance.model import (
    MACHINE_LACKS,
    Case,
    Finding,
    MachineLacks,
    NotSent,
    NotSupported,
    Result,
    TimingMiss,
    Verdict,
    case,
    is_older,
    parse_release,
)
from aerowire.conformance.peers.base import Peer, started
from aerowire.conformance.peers.drivers import AerowirePeer, RunningPeer, short_timers
from aerowire.conformance.report import exit_code, summary, to_document, write_report
from aerowire.conformance.runner import Runner

# How many cases each group has, numbered from 1.
WHOLE = {"A": 26, "B": 23, "C": 24, "D": 8, "E": 16, "F": 19, "G": 7, "H": 16, "I": 13, "J": 15, "K": 11, "L": 18, "M": 33, "N": 8, "O": 4}
WHOLE |= {"Q": 9, "S": 10, "T": 9, "U": 5, "V": 5, "W": 15}
CATALOGUE = [f"{letter}{number:02}" for letter, count in WHOLE.items() for number in range(1, count + 1)]


def make_case(run: Callable[[Bench], None], since: str = "") -> Case:
    return Case("X01", "the requirement", "the source", "the stimulus", "the expectation", run, since=since)


def raising(*errors: Exception | None) -> Callable[[Bench], None]:
    """A case whose attempts end in turn as told."""
    pending = list(errors)

    def run(_: Bench) -> None:
        error = pending.pop(0) if len(pending) > 1 else pending[0]
        if error is not None:
            raise error

    return run


@pytest.fixture
def run_case(driver: Peer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a made-up case on a driver that is as old as told, on a machine that is quiet or loaded as told."""

    def run(case: Case, *, load: str | None = None, release: str | None = None) -> Result:
        monkeypatch.setattr(LoadGauge, "reason_since", lambda *_: load)
        monkeypatch.setattr("aerowire.conformance.runner.RETRY_PAUSE_S", 0.0)
        monkeypatch.setattr(driver, "release", release)
        return Runner(driver, seed=1).run([case])[0]

    return run


LATE = TimingMiss("soon", "late")
WRONG = Finding("this", "that")
PORT_TAKEN = CommandRefused("a channel", ErrorCode.GENERIC_ERROR, "cannot bind UDP socket; got [Errno 98] Address already in use")


@pytest.mark.parametrize(
    ("errors", "load", "verdict", "attempts"),
    [
        ([None], None, Verdict.PASS, 1),
        ([WRONG], None, Verdict.FAIL, 1),
        ([WRONG], "starved", Verdict.FAIL, 4),
        ([WRONG, None], "starved", Verdict.PASS, 2),
        ([LATE, None], None, Verdict.PASS, 2),
        ([LATE], None, Verdict.FAIL, 4),
        ([LATE], "starved", Verdict.INCONCLUSIVE, 4),
        ([LATE, WRONG], "starved", Verdict.FAIL, 4),
        ([NotSent("to leave", "it stayed")], None, Verdict.INCONCLUSIVE, 4),
        ([NotSent("to leave", "it stayed"), None], None, Verdict.PASS, 2),
        ([NotSupported("a feature", "no such feature")], None, Verdict.UNSUPPORTED, 1),
        ([MachineLacks("a route", "no route")], "starved", Verdict.UNSUPPORTED, 1),
        ([CommandRefused("a command", ErrorCode.NOT_SUPPORTED, "no")], None, Verdict.UNSUPPORTED, 1),
        ([CommandRefused("a command", ErrorCode.INVALID_CHANNEL, "no")], None, Verdict.FAIL, 1),
        ([PORT_TAKEN, None], None, Verdict.PASS, 2),
        ([PORT_TAKEN], None, Verdict.FAIL, 4),
        ([ZeroDivisionError("a bug")], None, Verdict.INCONCLUSIVE, 1),
    ],
)
def test_verdict_of_attempts(
    run_case: Callable[..., Result], errors: list[Exception | None], load: str | None, verdict: Verdict, attempts: int
) -> None:
    result = run_case(make_case(raising(*errors)), load=load)
    assert (result.verdict, result.attempts) == (verdict, attempts)
    assert (result.actual == "") is (verdict is Verdict.PASS)


def test_result_notes_that_the_machine_is_to_blame(run_case: Callable[..., Result]) -> None:
    assert run_case(make_case(raising(MachineLacks("a route", "no route")))).notes == [MACHINE_LACKS]
    assert run_case(make_case(raising(NotSupported("a feature", "no such feature")))).notes == []


def test_older_driver_that_breaks_a_newer_rule_is_unsupported(run_case: Callable[..., Result]) -> None:
    result = run_case(make_case(raising(WRONG), since="1.53"), release="1.51.0")
    assert result.verdict is Verdict.UNSUPPORTED
    assert result.notes == ["the rule holds since 1.53; this driver is 1.51.0"]


def test_dead_driver_fails_the_case_and_is_started_anew_for_the_next() -> None:
    def kill(bench: Bench) -> None:
        os.kill(CncFile(bench.peer.directory, timeout_s=1.0).pid, signal.SIGKILL)
        assert bench.wait_until(lambda: not bench.peer.is_alive(), 5_000)

    with started(AerowirePeer(short_timers())) as peer:
        dead, alive = Runner(peer, seed=1).run([make_case(kill), make_case(raising(None))])
    assert dead.verdict is Verdict.FAIL
    assert dead.actual == "the driver ended: it passed the case, but its process is gone"
    assert "exit code -9" in "".join(dead.notes)
    assert alive.verdict is Verdict.PASS


@pytest.mark.parametrize(("text", "numbers"), [("1.53.0-SNAPSHOT", (1, 53, 0)), ("1.51", (1, 51)), ("x", ())])
def test_release_is_its_leading_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_release(text) == numbers


def test_unknown_release_is_never_older() -> None:
    assert is_older("1.51.0", "1.53")
    assert not is_older("1.53.0", "1.53")
    assert not is_older(None, "1.53")
    assert not is_older("1.51.0", "")


def test_catalogue_holds_exactly_these_cases_and_says_all_of_each() -> None:
    cases = all_cases()
    assert [case.id for case in cases] == [each for each in CATALOGUE if each in {case.id for case in cases}]
    for one in cases:
        assert one.group in GROUPS
        assert all((one.requirement, one.source, one.stimulus, one.expected)), one.id
        assert one.requirement.endswith("."), one.id


def test_cases_are_chosen_by_id_and_pattern_in_the_catalogues_order() -> None:
    assert [case.id for case in select("e01, a01, E02")] == ["A01", "E01", "E02"]
    assert select("e*") == [case for case in all_cases() if case.group == "E"]
    assert select(None) == all_cases()
    for pattern in ("Z99", "A01,", "A0", ""):
        with pytest.raises(UnknownCaseError):
            select(pattern)


def test_exit_code_and_reports(tmp_path: Path) -> None:
    passed = Result(make_case(raising(None)), Verdict.PASS)
    unsupported = Result(make_case(raising(None)), Verdict.UNSUPPORTED, "a", "b")
    failed = Result(make_case(raising(None)), Verdict.FAIL, "this", "that", notes=["a note"])
    unknown = Result(make_case(raising(None)), Verdict.INCONCLUSIVE, "x", "y")
    assert exit_code([passed, unsupported]) == 0
    assert exit_code([passed, failed]) == 1
    assert exit_code([passed, unknown]) == 1
    assert summary([passed, failed]) == {"pass": 1, "fail": 1, "unsupported": 0, "inconclusive": 0}
    results = [passed, unsupported, failed, unknown]
    write_report(tmp_path / "report", results, {"driver": "fake"})
    document = json.loads((tmp_path / "report" / "results-fake.json").read_text())
    expected = to_document(results, {"driver": "fake"})
    assert {**document, "results": None} == {**expected, "results": None}
    assert document["results"][2]["actual"] == "that"
    suite = ET.parse(tmp_path / "report" / "junit-fake.xml").getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "a note" in (failure.text or "")


def test_case_with_options_gets_a_driver_of_its_own_that_ends_with_it(driver: Peer) -> None:
    used: list[Peer] = []

    def note(bench: Bench) -> None:
        used.append(bench.peer)
        assert bench.option_ns("timer_interval_ns") == bench.option_ns("image_liveness_timeout_ns") == 10**8

    wanted = {"image_liveness_timeout_ns": "100ms"}
    with_options = case("X02", requirement="r", source="s", stimulus="s", expected="e", options=wanted)(note)
    plain = make_case(lambda bench: used.append(bench.peer))
    results = Runner(driver, seed=1).run([with_options, plain, with_options])
    assert [result.verdict for result in results] == [Verdict.PASS] * 3
    assert used[0] is driver
    assert used[1] is used[2] is not driver
    assert driver.is_alive()
    assert not used[1].is_alive()


def test_case_with_options_is_unsupported_where_the_driver_runs_already(driver: Peer) -> None:
    wanted = {"image_liveness_timeout_ns": "100ms"}
    with_options = case("X02", requirement="r", source="s", stimulus="s", expected="e", options=wanted)(raising(WRONG))
    result = Runner(RunningPeer(driver.directory), seed=1).run([with_options])[0]
    assert result.verdict is Verdict.UNSUPPORTED
    assert "aeron.image.liveness.timeout=100ms" in result.actual
