"""`aerowire simulate` as a user runs it: what it prints, its exit codes, and its ledger."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from aerowire.pcap import Capture, read_frames
from aerowire.simulation.scenarios import traffic
from aerowire.simulation.scenarios.plan import Medium, Scenario
from aerowire.simulation.world import EPOCH_MS
from aerowire.tools.main import main
from tests.support.captures.tshark import fields, needs_tshark

MINE = Scenario(name="mine", about="two hosts", hosts=(2, 2), duration_s=(2, 2), streams=(1, 1), media=(Medium.UDP,), rate=(20, 20))
NOT_MINE = "something else"
NAME = f"{__name__}:MINE"
LOSSY = dataclasses.replace(MINE, name="lossy", loss=(0.1, 0.1), rate=(50, 50))
LOSSY_NAME = f"{__name__}:LOSSY"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let messages be changed on their way."""
    encode = traffic.encode
    monkeypatch.setattr(traffic, "encode", lambda *arguments: encode(*arguments)[:-1] + b"!")


def simulate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["simulate", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_seeds_pass_and_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = simulate(capsys, NAME, "--seeds", "0-4")
    assert code == 0
    assert out.startswith("5 passed, 0 failed; ")


def test_seeds_run_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    one = simulate(capsys, "quiet", "--seeds", "0-1", "--json")
    other = simulate(capsys, "quiet", "--seeds", "0-1", "--json", "--jobs", "2")
    assert one[0] == other[0] == 0
    assert sorted(one[1].splitlines()) == sorted(other[1].splitlines())


@pytest.mark.usefixtures("broken")
def test_a_seed_that_fails_tells_how_and_how_to_repeat_it(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = simulate(capsys, NAME, "--seed", "3")
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith(f"{NAME}, seed 3: FAILED: step ")
    assert "messages arrive unchanged" in lines[0]
    assert any(line.startswith("  10.0.0.1: ") for line in lines)
    assert f"again: aerowire simulate {NAME} --seed 3" in lines
    assert lines[-1].startswith("0 passed, 1 failed; ")


@pytest.mark.usefixtures("broken")
def test_a_seed_that_fails_is_shrunk(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = simulate(capsys, NAME, "--seed", "3", "--shrink")
    assert code == 1
    assert "FAILED: step " in out
    assert out.splitlines()[-1] == f"again: aerowire simulate {NAME} --seed 3 --misfortunes none --streams 0 --habits none --churners none"


def test_a_ledger_keeps_what_was_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ledger = tmp_path / "seeds.jsonl"
    assert simulate(capsys, NAME, "--seeds", "0-2", "--ledger", str(ledger))[0] == 0
    code, out, _ = simulate(capsys, NAME, "--seeds", "0-3", "--ledger", str(ledger))
    assert (code, out.partition(";")[0]) == (0, "4 passed, 0 failed, of them 3 by the ledger")
    entries: list[dict[str, Any]] = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [(entry["scenario"], entry["seed"], entry["outcome"]) for entry in entries] == [(NAME, seed, "passed") for seed in range(4)]


def test_a_seed_that_makes_another_world_is_found(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(1_000_000))
    encode = traffic.encode

    def differing(stream: int, incarnation: int, number: int, length: int) -> bytes:
        return encode(stream, incarnation, number, length + next(numbers) // 40)

    monkeypatch.setattr(traffic, "encode", differing)
    code, out, _ = simulate(capsys, NAME, "--seed", "0", "--repeat-every", "1")
    assert code == 1
    assert "the same seed made another world: digest " in out


def test_what_a_scenario_raises_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise ZeroDivisionError("a mistake of mine")

    monkeypatch.setattr(traffic, "encode", fail)
    code, out, _ = simulate(capsys, NAME, "--seed", "0")
    assert code == 1
    assert out.splitlines()[0].startswith(f"{NAME}, seed 0: RAISED: ZeroDivisionError: a mistake of mine (test_simulate.py:")


def test_a_trace_has_events_and_packets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    code, out, _ = simulate(capsys, NAME, "--seed", "0", "--trace", str(path))
    assert code == 0
    assert "all rules were kept" in out
    lines = path.read_text().splitlines()
    assert any("a driver starts" in line for line in lines)
    assert sum(" delivered " in line for line in lines) > 40
    code, out, _ = simulate(capsys, NAME, "--seed", "0", "--stop-at", "20")
    assert (code, out.splitlines()[0][:18]) == (0, "stopped at step 20")


def test_scenarios_and_replacements_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split()[0] for line in simulate(capsys, "--list")[1].splitlines()] == [
        "quiet",
        "mild",
        "partitions",
        "crashes",
        "rough",
        "archives",
        "segments",
        "copies",
        "clusters",
        "sessions",
    ]
    assert "A simulated world replaces these, and nothing else" in simulate(capsys, "--about")[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nosuch"], "no such scenario; at nosuch; expected quiet, mild, partitions, crashes, rough"),
        (["nosuch:X"], "the scenario cannot be loaded; at nosuch:X; got No module named 'nosuch'"),
        ([f"{__name__}:NOT_MINE"], "not a scenario; "),
        ([NAME, "--seed", "0", "--streams", "0,7"], "no such streams; at --streams; expected numbers below 1; got 0,7"),
        ([NAME, "--seed", "0", "--habits", "1"], "no such habits; at --habits; expected numbers below 1; got 1"),
        ([NAME, "--seed", "0", "--churners", "0,2"], "no such churners; at --churners; expected numbers below 2; got 0,2"),
        (["--shrink"], "--shrink is of one seed; at simulate; expected SCENARIO and --seed"),
    ],
)
def test_what_cannot_be_run_is_told(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    code, _, error = simulate(capsys, *arguments)
    assert code == 2
    assert told in error


@pytest.mark.parametrize(
    "arguments", [["--seeds", "5-2"], ["--seeds", "x"], ["--seed", "-1"], ["--jobs", "0"], ["--minutes", "0"], ["--streams", "a"]]
)
def test_wrong_arguments_are_usage(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        simulate(capsys, *arguments)
    assert ended.value.code == 2
    assert "expected " in capsys.readouterr().err


# -- Captures ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[".pcapng", ".pcap"])
def captured(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> tuple[Path, int]:
    """Return the capture of a world that loses packets, and how many were sent."""
    path = tmp_path / f"world{request.param}"
    plain = json.loads(simulate(capsys, LOSSY_NAME, "--seed", "1", "--json")[1])
    code, out, _ = simulate(capsys, LOSSY_NAME, "--seed", "1", "--pcap", str(path))
    told = re.search(r"digest (\w+)", out)
    assert code == 0
    assert told is not None
    assert told[1] == plain["digest"]  # the capture changes nothing
    return path, plain["packets"]


def test_a_capture_has_every_datagram_that_was_sent(captured: tuple[Path, int]) -> None:
    path, sent = captured
    capture = Capture(path, columns=("type", "ts_ns", "src_address", "is_retransmission"))
    frames = capture.read()
    assert capture.statistics.packets == sent
    assert set(frames["src_address"].to_pylist()) == {"10.0.0.1", "10.0.0.2"}
    assert {"SETUP", "DATA", "SM", "NAK"} <= set(frames["type"].to_pylist())
    assert any(frames["is_retransmission"].to_pylist())
    times = frames["ts_ns"].to_pylist()
    assert times == sorted(times)
    assert times[0] == EPOCH_MS * 1_000_000
    assert 2 < (times[-1] - times[0]) / 1e9 < 120


@needs_tshark
def test_tshark_reads_a_capture(captured: tuple[Path, int]) -> None:
    path, sent = captured
    packets = fields(
        path,
        ("ip.src", "ip.checksum.status", "udp.checksum.status"),
        preferences={"ip.check_checksum": "TRUE", "udp.check_checksum": "TRUE"},
    )
    assert len(packets) == sent
    assert {packet["ip.src"][0] for packet in packets} == {"10.0.0.1", "10.0.0.2"}
    assert {packet["ip.checksum.status"][0] for packet in packets} == {"1"}


def test_a_capture_replaces_no_file_unasked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "world.pcap"
    path.write_text("something of value")
    code, _, error = simulate(capsys, NAME, "--seed", "1", "--pcap", str(path))
    assert code == 2
    assert "the capture's file is there" in error
    assert "--pcap-overwrite" in error
    assert path.read_text() == "something of value"
    assert simulate(capsys, NAME, "--seed", "1", "--pcap", str(path), "--pcap-overwrite")[0] == 0
    assert len(read_frames(path)) > 10


def test_a_capture_is_of_one_seed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, error = simulate(capsys, NAME, "--seeds", "0-1", "--pcap", str(tmp_path / "world.pcap"))
    assert code == 2
    assert "--pcap is of one seed" in error
