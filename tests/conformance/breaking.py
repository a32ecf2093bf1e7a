"""Runs a case on a driver that breaks its rule, or with a stimulus that goes nowhere, and holds the verdict to what it must be.

`make test` does so with the first fault and the first stimulus of each case, the soak bar with all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from aerowire.conformance import replay_receiver, replay_sender
from aerowire.conformance.catalogue import select
from aerowire.conformance.fuzz import FuzzOutcome
from aerowire.conformance.model import Case, Result, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.replay_outcome import ReplayOutcome
from aerowire.conformance.runner import Runner
from tests.conformance.injector import Fault, Match, inject, swallow

# A starved machine may be late in its own way: the fault is found in one of these, by its words. Where the time is what the case looks at,
# such a machine may also let a driver that does not wait look as if it did.
ATTEMPTS = 3
# Enough for every datagram of every case but the hundred equal requests of B08.
EACH_MAX = 30
# A replay that an injector keeps from moving need not be watched for long.
STALL_NS = 500_000_000


def check_found(driver: Peer, fault: Fault, seed: int) -> None:
    """Check that the suite finds `fault` for the right reason."""
    case = select(fault.case_id)[0]
    for attempt in range(ATTEMPTS):
        with pytest.MonkeyPatch.context() as patch:
            inject(patch, fault)
            result = run(driver, case, seed + attempt)
        is_found = result.verdict is Verdict.FAIL
        assert is_found or case.bound, (fault.name, result.to_dict())
        if is_found and fault.expected in result.expected and fault.actual in result.actual:
            return
    raise AssertionError(f"expected {fault.expected!r} and {fault.actual!r} in the verdict, got {result.to_dict()}")


def check_finding(outcome_of: Callable[[], ReplayOutcome | FuzzOutcome], fault: Fault) -> None:
    """Check that a replay or a bombardment finds `fault` for the right reason."""
    for _ in range(ATTEMPTS):
        with pytest.MonkeyPatch.context() as patch:
            inject(patch, fault)
            patch.setattr(replay_sender, "STALL_NS", STALL_NS)
            patch.setattr(replay_receiver, "STALL_NS", STALL_NS)
            outcome = outcome_of()
        assert outcome.verdict is Verdict.FAIL, outcome.to_dict()
        if fault.actual in "\n".join(outcome.lines()):
            return
    raise AssertionError(f"expected {fault.actual!r} among the findings, got {outcome.to_dict()}")


def check_swallowed(driver: Peer, case: Case, seed: int, is_lost: Match) -> int:
    """Check that a case is inconclusive when what it sends goes nowhere where `is_lost` says so; return how much did."""
    lost: list[bytes] = []

    def is_noted(datagram: bytes) -> bool:
        if not is_lost(datagram):
            return False
        lost.append(datagram)
        return True

    with pytest.MonkeyPatch.context() as patch:
        swallow(patch, is_noted)
        result = run(driver, case, seed)
    assert (result.verdict is Verdict.INCONCLUSIVE) is bool(lost), result.to_dict()
    assert not lost or result.expected == "the datagram to leave the socket", result.to_dict()
    return len(lost)


def check_each_swallowed(driver: Peer, case: Case, seed: int) -> int:
    """Check a case with each of its first datagrams lost in turn, until it sends no more; return how many were."""
    for index in range(EACH_MAX):
        countdown = itertools.count()
        if not check_swallowed(driver, case, seed, lambda _, at=index, count=countdown: next(count) == at):  # type: ignore[misc]
            return index
    return EACH_MAX


def is_stimulus(datagram: bytes) -> bool:
    """Say whether a datagram is more than the question whether the driver listens yet."""
    return b"probe" not in datagram


def run(driver: Peer, case: Case, seed: int) -> Result:
    """Run a case once."""
    return Runner(driver, seed=seed, attempts=1).run([case])[0]
