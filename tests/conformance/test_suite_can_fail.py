"""The suite finds a driver that breaks a rule, and lets the same driver pass when it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aerowire.conformance.catalogue import select
from aerowire.conformance.model import Result, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.runner import Runner

MakeFake = Callable[..., Peer]


def run(peer: Peer, case_id: str, *, attempts: int) -> Result:
    peer.start()
    try:
        return Runner(peer, seed=1, attempts=attempts).run(select(case_id))[0]
    finally:
        peer.stop()


def test_passes_a_driver_that_keeps_the_rule(make_fake: MakeFake, kept_rule: str, shm_path: Path) -> None:
    result = run(make_fake(shm_path), kept_rule, attempts=4)
    # A fake in Python beside a busy machine may be late; it must never be found wrong.
    is_starved = result.verdict is Verdict.INCONCLUSIVE and any("machine loaded" in note for note in result.notes)
    assert result.verdict is Verdict.PASS or is_starved, result.to_dict()


def test_fails_a_driver_that_breaks_the_rule(make_fake: MakeFake, broken_rule: tuple[str, str], shm_path: Path) -> None:
    case_id, fault = broken_rule
    result = run(make_fake(shm_path, fault), case_id, attempts=1)
    assert result.verdict is Verdict.FAIL, result.to_dict()
    assert result.expected
    assert result.actual
