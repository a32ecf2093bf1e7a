"""The suite finds a driver that breaks a rule, for the right reason, and passes nothing that it could not test."""

from __future__ import annotations

import pytest

from aerowire.conformance.catalogue import all_cases
from aerowire.conformance.harness.wire import confirms_departures
from aerowire.conformance.model import Case
from aerowire.conformance.peers.base import Peer
from tests.conformance.breaking import check_found, check_swallowed
from tests.conformance.faults import FAULTS
from tests.conformance.injector import Fault

# The plainest way to break each rule; the soak bar tries them all.
FIRST = {fault.case_id: fault for fault in reversed(FAULTS)}
# These only listen.
SILENT = {"B01", "B02"}


def test_every_case_has_faults_of_different_names() -> None:
    assert sorted(FIRST) == sorted(case.id for case in all_cases())
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", [FIRST[case.id] for case in all_cases()], ids=str)
def test_broken_rule_fails_its_case_for_the_right_reason(driver: Peer, fault: Fault, seed: int) -> None:
    check_found(driver, fault, seed)


@pytest.mark.skipif(not confirms_departures(), reason="this kernel does not confirm departures")
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_swallowed_stimulus_is_inconclusive(driver: Peer, case: Case, seed: int) -> None:
    assert bool(check_swallowed(driver, case, seed, at_most=1)) is (case.id not in SILENT)
