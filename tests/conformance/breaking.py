"""Runs a case on a driver that breaks its rule, or with a stimulus that goes nowhere, and holds the verdict to what it must be.

`make test` does so with the first fault of each case and some of the datagrams, the soak bar with all.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aerowire.conformance import replay
from aerowire.conformance.catalogue import select
from aerowire.conformance.fuzz import FuzzOutcome
from aerowire.conformance.model import Case, Result, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.replay import ReplayOutcome
from aerowire.conformance.runner import Runner
from tests.conformance.injector import Fault, Swallower, inject, swallow

# A starved machine may be late in its own way; the fault is found each time, by its words in one of these.
ATTEMPTS = 3
# A replay that an injector keeps from moving need not be watched for long.
STALL_NS = 500_000_000


def check_found(driver: Peer, fault: Fault, seed: int) -> None:
    """Check that the suite finds `fault` for the right reason."""
    case = select(fault.case_id)[0]
    for attempt in range(ATTEMPTS):
        with pytest.MonkeyPatch.context() as patch:
            inject(patch, fault)
            result = run(driver, case, seed + attempt)
        assert result.verdict is Verdict.FAIL, (fault.name, result.to_dict())
        if fault.expected in result.expected and fault.actual in result.actual:
            return
    raise AssertionError(f"expected {fault.expected!r} and {fault.actual!r} in the verdict, got {result.to_dict()}")


def check_finding(outcome_of: Callable[[], ReplayOutcome | FuzzOutcome], fault: Fault) -> None:
    """Check that a replay or a bombardment finds `fault` for the right reason."""
    for _ in range(ATTEMPTS):
        with pytest.MonkeyPatch.context() as patch:
            inject(patch, fault)
            patch.setattr(replay, "STALL_NS", STALL_NS)
            outcome = outcome_of()
        assert outcome.verdict is Verdict.FAIL, outcome.to_dict()
        if fault.actual in "\n".join(outcome.lines()):
            return
    raise AssertionError(f"expected {fault.actual!r} among the findings, got {outcome.to_dict()}")


def check_swallowed(driver: Peer, case: Case, seed: int, *, at_most: int) -> int:
    """Check that a case is inconclusive when all that it sends goes nowhere, or any one datagram (a sample of `at_most` and the last).

    Return how many datagrams were tried.
    """
    run_swallowing(driver, case, seed, 0)
    sent = Swallower.count
    indices = [*range(1, sent, -(-sent // at_most)), sent] if sent else []
    for index in (None, *indices) if indices else ():
        result = run_swallowing(driver, case, seed, index)
        if index is not None and Swallower.count < index:
            continue  # This time the case needed fewer.
        assert result.verdict is Verdict.INCONCLUSIVE, (index, result.to_dict())
        assert result.expected == "the datagram to leave the socket", (index, result.to_dict())
    return len(indices)


def run_swallowing(driver: Peer, case: Case, seed: int, index: int | None) -> Result:
    """Run a case once while its `index`-th datagram goes nowhere: every one for None, none for 0."""
    with pytest.MonkeyPatch.context() as patch:
        swallow(patch, index)
        return run(driver, case, seed)


def run(driver: Peer, case: Case, seed: int) -> Result:
    """Run a case once."""
    return Runner(driver, seed=seed, attempts=1).run([case])[0]
