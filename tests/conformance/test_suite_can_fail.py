"""The suite finds a driver that breaks a rule, for the right reason, and passes nothing that it could not test."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.codecs.flyweights.transport import TERM_LENGTH_MIN
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.conformance.cases.ipv6_streams import carries_groups
from aerowire.conformance.catalogue import all_cases
from aerowire.conformance.fuzz import FuzzOutcome, fuzz
from aerowire.conformance.harness.wire import confirms_departures
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import Case, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.replay import replay_file
from aerowire.conformance.replay_outcome import ReplayOutcome
from aerowire.conformance.rules import is_valid_data, is_valid_frame
from tests.conformance.breaking import check_finding, check_found, check_swallowed, is_stimulus
from tests.conformance.faults import FAULTS
from tests.conformance.injector import Fault, answer, drop, edit, every_other, once, read, repeat, replace, swallow
from tests.conformance.misbehaviour import (
    HALF_TERM,
    announce_to_one,
    doubled,
    elsewhere,
    flipped,
    frozen,
    is_data,
    is_nak,
    is_no_frame,
    is_setup,
    more,
    to_one,
)

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
CAPTURE = CAPTURES / "unicast_simple.pcap"
# The plainest way to break each rule; the soak bar tries them all.
FIRST = {fault.case_id: fault for fault in reversed(FAULTS)}
# These only listen, or send nothing but commands.
ATTEMPTS = 3
SILENT = {"A18", "A19", "B01", "B02", "H15", "I02", "I09", "I10", "J08", "L18", "S10", "V03", *(f"W{number:02}" for number in range(2, 16))}
if not carries_groups():
    SILENT.add("U02")


def is_first_frame(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).term_offset == 0


def is_whole_data(datagram: bytes) -> bool:
    return is_data(datagram) and is_valid_frame(datagram) and is_valid_data(datagram, TERM_LENGTH_MIN)


def test_every_case_has_faults_of_different_names() -> None:
    assert sorted(FIRST) == sorted(case.id for case in all_cases())
    assert len({str(fault) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.sample(40)
@pytest.mark.parametrize("fault", [FIRST[case.id] for case in all_cases()], ids=str)
def test_broken_rule_fails_its_case_for_the_right_reason(driver: Peer, fault: Fault, seed: int) -> None:
    check_found(driver, fault, seed)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("replay", "delivers other bytes", "", "was delivered changed", hears=replace(is_data, flipped)),
        Fault("replay", "loses a frame for ever", "", "delivery stopped at position 0", hears=drop(is_first_frame)),
        Fault("replay", "joins elsewhere", "", "the image joins at 32", hears=edit(is_setup, term_offset=32)),
        Fault("replay", "makes no image", "", "no image within", hears=drop(is_setup)),
    ],
    ids=str,
)
def test_replay_finds_a_driver_that_breaks_the_stream(driver: Peer, fault: Fault) -> None:
    check_finding(lambda: replay_file(driver, CAPTURE), fault)


@pytest.mark.parametrize(
    ("fault", "name", "impairment"),
    [
        (
            Fault("replay", "asks for nothing", "", "delivery stopped at position", says=drop(is_nak)),
            "unicast_simple",
            "loss.every=5,loss.of=data",
        ),
        (
            Fault("replay", "counts no damage", "", "INVALID_PACKETS went up by 0", counts=frozen(SystemCounter.INVALID_PACKETS)),
            "unicast_simple",
            "flip=0.3",
        ),
        (
            Fault("replay", "counts damage twice", "", "INVALID_PACKETS went up by", counts=doubled(SystemCounter.INVALID_PACKETS)),
            "unicast_simple",
            "truncate=0.3",
        ),
        (Fault("replay", "forgets a subscriber", "", "no image within", announces=announce_to_one()), "multicast_two_subs", ""),
        (Fault("replay", "listens elsewhere", "", "no image within", asks=elsewhere), "mds_manual", ""),
        (Fault("replay", "forgets a destination", "", "delivery stopped at position 0", hears=every_other(is_data)), "mdc_manual", ""),
        (Fault("replay", "loses what came", "", "where 0 was due", hears=drop(is_first_frame)), "unreliable_gap_fill", ""),
    ],
    ids=str,
)
def test_replay_over_a_bad_network_finds_a_driver_that_does_not_bear_it(driver: Peer, fault: Fault, name: str, impairment: str) -> None:
    check_finding(lambda: replay_file(driver, CAPTURES / f"{name}.pcap", impairment=Impairment.parse(impairment)), fault)


@pytest.mark.parametrize(
    ("fault", "name", "impairment"),
    [
        (Fault("replay", "sends other bytes", "", "the first 0 of them", says=replace(is_data, flipped)), "unicast_simple", ""),
        (
            Fault("replay", "ignores a NAK", "", "the stream got to position", hears=drop(is_nak)),
            "fragmented_10k",
            "loss.every=5,loss.of=data",
        ),
        (Fault("replay", "repeats itself", "", "though no NAK asked for it", says=repeat(is_data, 0.0)), "unicast_simple", ""),
        (
            Fault("replay", "ignores the window", "", f"more than {HALF_TERM}", says=edit(is_data, term_offset=more(HALF_TERM))),
            "unicast_simple",
            "",
        ),
        (
            Fault("replay", "repeats other bytes", "", "was sent again with other bytes", says=once(is_nak, replace(is_data, flipped))),
            "fragmented_10k",
            "loss.every=5,loss.of=data",
        ),
        (Fault("replay", "forgets a receiver", "", "the stream got to position 0", says=to_one(is_data)), "mdc_manual", ""),
        (Fault("replay", "sends to nobody", "", "a first frame of the publication", says=drop(lambda _: True)), "unicast_simple", ""),
        (
            Fault("replay", "counts none of the damage", "", "INVALID_PACKETS went up by 0", counts=frozen(SystemCounter.INVALID_PACKETS)),
            "flow_control_backpressure",
            "flip=0.5",
        ),
    ],
    ids=str,
)
def test_replay_as_receiver_finds_a_driver_that_breaks_a_rule(driver: Peer, fault: Fault, name: str, impairment: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    check_finding(lambda: replay_file(driver, path, role="receiver", impairment=Impairment.parse(impairment)), fault)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("fuzz", "counts twice", "", "INVALID_PACKETS up by", counts=doubled(SystemCounter.INVALID_PACKETS)),
        Fault("fuzz", "counts none", "", "INVALID_PACKETS up by", counts=frozen(SystemCounter.INVALID_PACKETS)),
        Fault("fuzz", "answers", "", "no reply to malformed datagrams", hears=answer(is_no_frame, lambda _: b"huh")),
        Fault("fuzz", "loses its stream", "", "0 came, the first 0 of them as sent", hears=drop(is_whole_data, after=3)),
    ],
    ids=str,
)
def test_fuzz_finds_a_driver_that_breaks_a_rule(driver: Peer, fault: Fault, seed: int) -> None:
    check_finding(lambda: fuzz(driver, count=200, seed=seed), fault)


@pytest.mark.skipif(not confirms_departures(), reason="this kernel does not confirm departures")
def test_swallowed_replay_and_fuzz_are_inconclusive(driver: Peer, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    swallow(monkeypatch, lambda _: True)
    replays = [replay_file(driver, CAPTURE, role=role) for role in ("sender", "receiver")]
    outcomes: list[ReplayOutcome | FuzzOutcome] = [*replays, fuzz(driver, count=100, seed=seed)]
    assert [outcome.verdict for outcome in outcomes] == [Verdict.INCONCLUSIVE] * 3
    assert not any(outcome.is_pass for outcome in outcomes)


@pytest.mark.skipif(not confirms_departures(), reason="this kernel does not confirm departures")
@pytest.mark.sample(20)
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.id)
def test_swallowed_stimulus_is_inconclusive(driver: Peer, case: Case, seed: int) -> None:
    assert bool(check_swallowed(driver, case, seed, lambda _: True)) is (case.id not in SILENT)
    # On a busy machine a case may end by a bound before it sends anything.
    sends = any(check_swallowed(driver, case, seed, is_stimulus) for _ in range(1 if case.id in SILENT else ATTEMPTS))
    assert sends is (case.id not in SILENT)
