"""`conformance run --pcap`: captures beside the catalogue, in both roles, through a network as bad as asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerowire.conformance.impairment import Impairment
from aerowire.conformance.main import main
from aerowire.conformance.model import Finding, NotSent, Verdict
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.replay_cases import ROLES, check_outcome, load
from aerowire.conformance.replay_outcome import ReplayOutcome, StreamOutcome
from aerowire.conformance.runner import Runner
from tests.conformance.injector import Fault, drop, inject, replace
from tests.conformance.misbehaviour import flipped, is_data

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
CAPTURE = CAPTURES / "loss_fixed.pcap"


@pytest.mark.parametrize("role", ROLES)
def test_replays_pass_and_their_datagrams_are_kept(driver: Peer, role: str) -> None:
    case = load(CAPTURE, role, Impairment.parse("loss=0.05,reorder=0.1,seed=7"))
    result = Runner(driver, seed=1).run([case])[0]
    assert (result.verdict, result.actual) == (Verdict.PASS, "")
    assert case.id == f"P-loss_fixed-as-{role}"
    assert "seed=7" in case.stimulus
    # For the report: what went over the wire.
    assert result.exchanges


@pytest.mark.parametrize(
    ("role", "fault"),
    [
        ("sender", Fault("replay", "delivers other bytes", "", "was delivered changed", hears=replace(is_data, flipped))),
        ("receiver", Fault("replay", "sends nothing", "", "the stream got to position 0 of", says=drop(is_data))),
    ],
)
def test_a_stream_that_does_not_come_through_fails(driver: Peer, role: str, fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, fault)
    result = Runner(driver, seed=1, attempts=1).run([load(CAPTURE, role, Impairment())])[0]
    assert result.verdict is Verdict.FAIL
    assert result.expected == "the content of each stream"
    assert result.actual.startswith("session ")
    assert fault.actual in result.actual


def test_a_broken_stream_outweighs_one_that_could_not_be_sent() -> None:
    unsent, broken = StreamOutcome(1, 1, inconclusive="it did not leave"), StreamOutcome(2, 1, finding="it came changed")
    outcome = ReplayOutcome(CAPTURE.name, 0, 0, Impairment(), "sender")
    outcome.streams.append(unsent)
    with pytest.raises(NotSent, match="session 1 stream 1: it did not leave"):
        check_outcome(outcome)
    outcome.streams.append(broken)
    with pytest.raises(Finding, match="session 2 stream 1: it came changed"):
        check_outcome(outcome)


def test_command_runs_captures_beside_cases_and_reports_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--case", "A01", "--pcap", str(CAPTURE), str(CAPTURES / "unicast_simple.pcap"), "--impair", "swap=0.2,seed=3"]
    assert main([*arguments, "--jobs", "2", "--json", "--report", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    found = {result["id"]: result["verdict"] for result in document["results"]}
    assert found == dict.fromkeys(["A01", *(f"P-{name}-as-{role}" for name in ("loss_fixed", "unicast_simple") for role in ROLES)], "pass")
    assert "Captures replayed" in (tmp_path / "report.html").read_text()


def test_only_captures_run_when_no_case_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--pcap", str(CAPTURE), "--json"]) == 0
    assert [result["group"] for result in json.loads(capsys.readouterr().out)["results"]] == ["P", "P"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--impair", "loss=0.1"], "--impair needs --pcap"),
        (["--pcap", "nowhere.pcap"], "nowhere.pcap: no such capture"),
        (["--pcap", str(CAPTURE), "--impair", "rain=0.1"], "impairment 'rain=0.1': expected loss="),
        (["--pcap", str(CAPTURES / "README.md")], "README.md: neither pcap nor pcapng"),
        (["--pcap", str(CAPTURES / "spies_simulate_connection.pcap")], "no stream with a SETUP and data"),
        (["--pcap", str(CAPTURE), str(CAPTURE)], "two files make a case called P-loss_fixed-as-sender"),
    ],
)
def test_what_cannot_be_replayed_is_told_before_anything_runs(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert complaint in capsys.readouterr().err
