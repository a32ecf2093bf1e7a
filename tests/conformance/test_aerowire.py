"""The whole catalogue, the golden captures and a bombardment against this distribution's own driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import all_cases
from aerowire.conformance.fuzz import fuzz
from aerowire.conformance.model import Case, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.peers.drivers import AerowirePeer, short_timers
from aerowire.conformance.replay import Impairment, replay_file
from aerowire.conformance.runner import Runner

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
# The golden captures of one sender and one receiver on unicast, whatever happened between them.
UNICAST = (
    "unicast_simple",
    "unicast_batched",
    "unicast_publisher_first",
    "unicast_revoke",
    "fragmented_10k",
    "flow_control_backpressure",
    "loss_data_sender_side",
    "loss_data_receiver_side",
    "loss_setup_sm_nak",
    "loss_fixed",
    "reorder_dup",
    "large_mtu_8k",
    "late_join",
    "cc_cubic_rtt",
    "subscriber_leaves",
    "image_rejection",
    "ipv6_loopback",
    "unreliable_gap_fill",
)
IMPAIRMENTS = ("", "loss=0.05,seed=7", "loss=0.1,reorder=0.1,duplicate=0.1,seed=8")


@pytest.fixture(scope="module")
def driver() -> Iterator[Peer]:
    """One driver for all tests of the module; the cases are independent."""
    peer = AerowirePeer(short_timers())
    peer.start()
    try:
        peer.await_ready()
        yield peer
    finally:
        peer.stop()


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_driver_keeps_the_rule(driver: Peer, case: Case, seed: int) -> None:
    result = Runner(driver, seed=seed).run([case])[0]
    if result.verdict is Verdict.INCONCLUSIVE:
        pytest.skip(f"inconclusive: {result.actual}; {result.notes}")
    assert result.verdict is Verdict.PASS, result.to_dict()


@pytest.mark.parametrize("impairment", IMPAIRMENTS, ids=lambda text: text or "clean")
@pytest.mark.parametrize("name", UNICAST)
def test_driver_delivers_a_golden_capture(driver: Peer, name: str, impairment: str) -> None:
    outcome = replay_file(driver, CAPTURES / f"{name}.pcap", impairment=Impairment.parse(impairment))
    assert outcome.is_pass, outcome.to_dict()
    assert all(stream.frames_expected for stream in outcome.streams)
    assert impairment or all(stream.frames_delivered == stream.frames_expected for stream in outcome.streams)


def test_driver_delivers_a_capture_at_its_own_pace(driver: Peer) -> None:
    outcome = replay_file(driver, CAPTURES / "loss_data_sender_side.pcap", is_paced=True)
    assert outcome.is_pass, outcome.to_dict()


def test_driver_bears_malformed_datagrams(driver: Peer, seed: int) -> None:
    outcome = fuzz(driver, count=1_500, seed=seed)
    assert outcome.is_pass, outcome.to_dict()
    assert outcome.sent == 1_500
    assert outcome.invalid_counted == outcome.invalid_expected > 1_000


@pytest.mark.soak
def test_driver_bears_ten_thousand_malformed_datagrams(driver: Peer, seed: int) -> None:
    outcome = fuzz(driver, count=10_000, seed=seed)
    assert outcome.is_pass, outcome.to_dict()
