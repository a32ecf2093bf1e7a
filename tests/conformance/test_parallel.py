"""Cases on several drivers at once: every one is evaluated, whatever becomes of the harness's processes, and nothing is left."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import select
from aerowire.conformance.model import Case, Result, Verdict
from aerowire.conformance.parallel import _Gathering, run_in_parallel, tasks_of
from aerowire.conformance.peers.base import PeerError
from aerowire.conformance.peers.drivers import AerowirePeer, CommandPeer, short_timers
from tests.conformance.test_runner import make_case, raising
from tests.support.waiting import wait_until

CASES = "A01,A07,B06,C01,E01,F01"


class Vanishing(AerowirePeer):
    """A driver whose start ends the harness's process."""

    def start(self) -> None:
        os._exit(3)


def test_cases_run_in_parallel_and_are_reported_in_order(seed: int) -> None:
    begun: list[Case] = []
    told: list[Result] = []
    cases = select(CASES)
    results = run_in_parallel(AerowirePeer(short_timers()), cases, seed=seed, jobs=3, on_start=begun.append, on_result=told.append)
    assert [result.case.id for result in results] == [case.id for case in cases]
    assert [result.verdict for result in results] == [Verdict.PASS] * len(cases), [result.to_dict() for result in results]
    assert sorted(case.id for case in begun) == sorted(result.case.id for result in told) == [case.id for case in cases]


def test_cases_of_one_set_of_options_follow_each_other() -> None:
    def wanting(case_id: str, **properties: str) -> Case:
        return Case(case_id, "r", "s", "s", "e", raising(None), properties=properties)

    cases = [make_case(raising(None)), wanting("X02", a="1"), wanting("X03", a="2"), wanting("X04", a="1")]
    assert list(tasks_of(cases)) == [["X02", "X04"], ["X03"], ["X01"]]


def test_process_that_ends_leaves_no_case_without_a_verdict(seed: int) -> None:
    results = run_in_parallel(Vanishing(short_timers()), select(CASES), seed=seed, jobs=2)
    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * len(results)
    assert {result.actual for result in results} == {"no process of the harness is left"}


def test_process_that_ends_while_it_is_told_what_to_do_is_lost_alone() -> None:
    ours, theirs = multiprocessing.Pipe()
    theirs.send(("idle",))
    theirs.close()
    cases = select("A01,A07")
    found = _Gathering(cases, tasks_of(cases), None, None).gather([ours])
    assert {result.verdict for result in found.values()} == {Verdict.INCONCLUSIVE}
    assert sorted(found) == ["A01", "A07"]


def test_driver_that_cannot_be_started_is_told() -> None:
    with pytest.raises(PeerError, match="cannot start /no/such/driver"):
        run_in_parallel(CommandPeer("/no/such/driver"), select(CASES), seed=1, jobs=2)


def test_interrupted_run_leaves_no_driver() -> None:
    command = [sys.executable, "-m", "aerowire.conformance.main", "run", "--jobs", "3", "--case", "A*,B*", "--driver", "command"]
    marker = f"aerowire-interrupted-{os.getpid()}"
    driver = f"{sys.executable} -m aerowire.tools.main driver -Daeron.client.name={marker} -Daeron.dir={{dir}}"
    with subprocess.Popen([*command, "--driver-command", driver], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if " pass " in line:
                break
        assert running(marker)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    assert errors == "conformance: interrupted\n"
    wait_until(lambda: not running(marker), "a driver is left")


def running(marker: str) -> list[str]:
    """Return the command lines of the drivers that carry a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"-Daeron.client.name={marker}".encode() in words:
            found.append(b" ".join(words).decode())
    return found
