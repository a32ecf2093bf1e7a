"""`aerowire ping` and `throughput`: that they measure, not how fast."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.base.errors import AerowireError, ConfigurationError
from aerowire.tools.main import main
from aerowire.tools.measure.measure import Plan, check_is_measured, percentiles
from tests.support.processes import free_port

Run = Callable[..., tuple[int, str, str]]
BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
LIMIT_S = 60
MESSAGES = {"pingpong.py": "50", "throughput.py": "20000"}
UDP = "UDP"  # in its place comes a channel with a free port


def placed(arguments: list[str]) -> list[str]:
    return [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" if argument == UDP else argument for argument in arguments]


def test_percentiles_are_of_the_sorted_samples() -> None:
    found = percentiles([1000 * value for value in range(100_000, -1, -1)])
    assert list(found.values()) == [50_000, 90_000, 99_000, 99_900, 99_990, 99_999, 100_000]
    assert list(found)[-2:] == ["p99_999_us", "max_us"]


WRONG = [
    {"length": -1},
    {"messages": 0},
    {"warmup": -1},
    {"batch_count": 0},
    {"rate": -1},
    {"rate": float("inf")},
    {"rate": 5, "peer": "pyzmq"},
]


def test_a_rate_that_is_no_number_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ping", "--rate", "nan"]) == 2
    assert "--rate; expected at least 0; got nan" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", WRONG)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    plan = Plan(**{"channel": "aeron:ipc", "reply_channel": "aeron:ipc", "length": 32, "messages": 1, "warmup": 0, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        plan.check()
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "arguments",
    [
        ["ping"],
        ["ping", "--length", "3000", "--one-thread"],
        ["ping", "--channel", UDP, "--reply-channel", UDP, "--one-thread"],
        ["ping", "--rate", "2000"],
        ["ping", "--rate", "2000", "--one-thread", "--length", "3000"],
    ],
)
def test_ping_prints_percentiles(run_command: Run, arguments: list[str]) -> None:
    code, output, errors = run_command(*placed(arguments), "--messages", "50", "--warmup", "5", "--json")
    assert (code, errors) == (0, "")
    result = json.loads(output)
    assert 0 < result["p50_us"] <= result["p90_us"] <= result["p99_us"] <= result["p99_999_us"] <= result["max_us"]
    assert sum(number for _, _, number in result["histogram_us"]) == 50
    assert result["driver"] == "running"


@pytest.mark.parametrize("arguments", [[], ["--mode", "batch"], ["--length", "0"], ["--channel", UDP, "--mode", "batch"]])
def test_throughput_prints_a_rate(run_command: Run, arguments: list[str]) -> None:
    code, output, errors = run_command("throughput", *placed(arguments), "--messages", "20000", "--json", "--runs", "2")
    assert (code, errors) == (0, "")
    assert json.loads(output)["msgs_per_s"] > 0


def test_output_for_people_has_the_setting_beside_it(run_command: Run) -> None:
    code, output, errors = run_command("ping", "--messages", "20", "--warmup", "5", "--one-thread")
    assert code == 0
    assert "p50_us" in output
    assert " us  " in output.splitlines()[-1]
    assert "idle=" in errors


@pytest.mark.parametrize("script", ["pingpong.py", "throughput.py"])
@pytest.mark.parametrize("driver", ["process", "embedded"])
def test_the_scripts_start_a_driver_of_their_own(script: str, driver: str) -> None:
    command = [
        sys.executable,
        str(BENCHMARKS / script),
        "--messages",
        MESSAGES[script],
        "--warmup",
        "0",
        "--driver",
        driver,
        "--idle",
        "sleeping-ms",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["driver"] == f"{driver}, SHARED"
    assert result["idle"] == "sleeping-ms"


@pytest.mark.parametrize("script", ["pingpong.py", "throughput.py"])
def test_the_scripts_measure_another_library(script: str) -> None:
    pytest.importorskip("zmq")
    command = [sys.executable, str(BENCHMARKS / script), "--peer", "pyzmq", "--messages", MESSAGES[script], "--warmup", "0", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["peer"] == "pyzmq"


def test_a_pong_that_runs_elsewhere_answers(start: Callable[..., subprocess.Popen[bytes]], run_command: Run) -> None:
    pong = start("pong", "--stream", "2001", "--idle", "sleeping")
    code, output, errors = run_command(
        "ping", "--far", "--stream", "2001", "--messages", "50", "--warmup", "5", "--length", "3000", "--json"
    )
    assert (code, errors) == (0, "")
    assert json.loads(output)["p50_us"] > 0
    pong.terminate()
    assert pong.wait(LIMIT_S) == 0


def test_each_end_of_a_throughput_may_be_a_process_of_its_own(start: Callable[..., subprocess.Popen[bytes]], run_command: Run) -> None:
    common = ("--stream", "2003", "--messages", "20000", "--length", "2000", "--json")
    receiving = start("throughput", "--role", "receive", *common)
    code, output, errors = run_command("throughput", "--role", "publish", *common)
    assert (code, errors) == (0, "")
    received, _ = receiving.communicate(timeout=LIMIT_S)
    assert json.loads(output)["msgs_per_s"] > 0
    assert json.loads(received)["msgs_per_s"] > 0


@pytest.mark.parametrize("arguments", [["ping", "--far"], ["throughput", "--role", "receive"]])
def test_one_end_alone_needs_a_driver_that_others_have_too(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "both ends must have the same driver; at --" in capsys.readouterr().err


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("arguments", [["--messages", "1"], ["--messages", "1", "--mode", "batch"]])
def test_what_arrives_at_once_has_no_rate(run_command: Run, form: list[str], arguments: list[str]) -> None:
    code, output, errors = run_command("throughput", *arguments, *form)
    assert (code, output) == (2, "")
    assert errors.startswith("aerowire: too short to be measured; at --messages; ")
    assert "1 of 1 at once (hint: give more --messages)" in errors


@pytest.mark.parametrize(("timed", "is_measured"), [(0, False), (49, False), (50, True), (99, True)])
def test_a_rate_is_of_most_messages(timed: int, is_measured: bool) -> None:
    if is_measured:
        check_is_measured(timed, 100)
    else:
        with pytest.raises(AerowireError, match="of 100 at once"):
            check_is_measured(timed, 100)


@pytest.mark.parametrize("command", ["ping", "throughput"])
@pytest.mark.parametrize("way", ["--dir", "-Daeron.dir", "AERON_DIR"])
def test_a_driver_that_is_named_is_used(
    driver_dir: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, way: str
) -> None:
    # The weaker ways name a driver that is not there.
    monkeypatch.setenv("AERON_DIR", driver_dir if way == "AERON_DIR" else "/nonexistent")
    named = {"--dir": ["-Daeron.dir=/nonexistent", "--dir", driver_dir], "-Daeron.dir": [f"-Daeron.dir={driver_dir}"], "AERON_DIR": []}[way]
    messages = {"ping": "20", "throughput": "20000"}[command]
    assert main([command, *named, "--messages", messages, "--warmup", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["driver"], found["aeron_dir"]) == ("running", driver_dir)


def test_a_driver_that_is_named_and_not_there_is_an_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AERON_DIR", "/nonexistent")
    monkeypatch.setenv("AERON_DRIVER_TIMEOUT", "200ms")
    assert main(["ping", "--one-thread", "--messages", "20"]) == 2
    assert "/nonexistent" in capsys.readouterr().err
    assert main(["ping", "--far", "--messages", "20"]) == 2
    assert "/nonexistent" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["ping", "throughput"])
def test_the_help_says_which_driver_is_used(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "Uses the driver that --dir, aeron.dir or AERON_DIR names, and starts one of its own where none does." in told
    assert "(default: aeron.dir, or AERON_DIR, or that of a driver of its own, started for the measurement)" in told
