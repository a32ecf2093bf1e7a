"""The catalogue and the golden captures against the official Java driver: the oracle of the suite itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import all_cases
from aerowire.conformance.model import Case, Verdict, is_older
from aerowire.conformance.peers.base import Peer, PeerError
from aerowire.conformance.peers.drivers import JavaPeer, short_timers
from aerowire.conformance.replay import Impairment, replay_file
from aerowire.conformance.runner import Runner

pytestmark = pytest.mark.interop
CAPTURES = Path(__file__).parents[1] / "data" / "captures"


@pytest.fixture(scope="module")
def official() -> Iterator[Peer]:
    """The jar's driver; without Java or the jar its tests are skipped with the reason."""
    if shutil.which("java") is None:
        pytest.skip("no java command")
    try:
        peer = JavaPeer(short_timers())
    except PeerError as error:
        pytest.skip(str(error))
    peer.start()
    try:
        peer.await_ready()
        yield peer
    finally:
        peer.stop()


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_official_driver_keeps_the_rule(official: Peer, case: Case, seed: int) -> None:
    result = Runner(official, seed=seed).run([case])[0]
    if result.verdict is Verdict.INCONCLUSIVE:
        pytest.skip(f"inconclusive: {result.actual}; {result.notes}")
    if result.verdict is Verdict.UNSUPPORTED:
        assert is_older(official.release, case.since), result.to_dict()
        return
    assert result.verdict is Verdict.PASS, result.to_dict()


@pytest.mark.parametrize("impairment", ["", "loss=0.05,seed=7"], ids=["clean", "lossy"])
@pytest.mark.parametrize("name", ["unicast_simple", "fragmented_10k", "loss_data_sender_side", "reorder_dup", "unreliable_gap_fill"])
def test_official_driver_delivers_a_golden_capture(official: Peer, name: str, impairment: str) -> None:
    outcome = replay_file(official, CAPTURES / f"{name}.pcap", impairment=Impairment.parse(impairment))
    assert outcome.is_pass, outcome.to_dict()
