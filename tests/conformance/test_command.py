"""The `conformance` command: what it prints and how it exits."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.conformance.catalogue import all_cases, select
from aerowire.conformance.command_line import make_peer, parser
from aerowire.conformance.main import main
from aerowire.conformance.peers.base import as_environment, as_properties
from aerowire.conformance.peers.drivers import CommandPeer, JavaPeer, RunningPeer, find_jar

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def test_list_names_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "  A01  A receiver with interest" in out
    assert out.count("\n  ") == len(all_cases())
    assert main(["list", "--case", "E*", "--json"]) == 0
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out)] == [case.id for case in select("E*")]


def test_explain_says_all_of_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "e03"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("E03  As long as the gap stays open, the NAK is repeated.")
    for word in ("stimulus", "expected", "bound", "source", "LossDetector"):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "Z99"], "no case is named 'Z99'"),
        (["run", "--case", "P*"], "no case is named 'P*'"),
        (["run", "--driver", "running"], "--driver running needs --dir"),
        (["run", "--driver", "running", "--dir", "/nowhere/at/all"], "/nowhere/at/all: no such driver directory"),
        (["run", "--driver", "command"], "--driver command needs --driver-command"),
        (["run", "--driver-command", "/no/such/driver"], "cannot start /no/such/driver"),
        (["run", "-Dnonsense"], "expected NAME=VALUE"),
        (["run", "--driver", "java", "--jar", "/no/aeron-all-1.51.0.jar"], "/no/aeron-all-1.51.0.jar: no such jar"),
        (["replay", "/no/such.pcap"], "/no/such.pcap: no such capture"),
        (["replay", __file__], "neither pcap nor pcapng"),
        (["replay", str(CAPTURES / "unicast_simple.pcap"), "--impair", "loss=2"], "a share is at least 0 and below 1"),
        (["replay", str(CAPTURES / "unicast_simple.pcap"), "--impair", "wind=0.1"], "expected loss=, loss.burst=, loss.every=, loss.of="),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_replay_plays_the_end_that_is_asked_for(role: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(CAPTURES / "mdc_manual.pcap"), "--as", role, "--impair", "loss.every=6,duplicate=0.1,seed=7", "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["as"]) == ("pass", role)
    assert (document["impairment"]["loss.every"], document["impairment"]["seed"]) == (6, 7)
    (stream,) = document["streams"]
    assert (stream["receivers"], stream["messages_delivered"]) == (2, 60)
    assert stream["datagrams_dropped"] > 0 < stream["frames_resent"]


def test_driver_that_ends_at_once_is_reported_with_its_last_words(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"{sys.executable} -c \"raise SystemExit('no driver here')\""
    assert main(["run", "--driver-command", command]) == 2
    error = capsys.readouterr().err
    assert "no driver made this file ready" in error
    assert "no driver here" in error


def test_directory_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    precious = tmp_path / "thesis.txt"
    precious.write_text("years of work")
    assert main(["run", "--dir", str(tmp_path), "--case", "A01"]) == 2
    assert "holds files of somebody else" in capsys.readouterr().err
    assert precious.read_text() == "years of work"


def test_unknown_option_exits_with_2() -> None:
    process = subprocess.run([sys.executable, "-m", "aerowire.conformance.main", "run", "--nonsense"], capture_output=True, check=False)
    assert process.returncode == 2


def test_properties_reach_a_command_as_arguments_and_environment(tmp_path: Path) -> None:
    directory = tmp_path / "d"
    properties = {"aeron.timer.interval": "100ms"}
    assert as_properties(properties, directory) == [f"-Daeron.dir={directory}", "-Daeron.timer.interval=100ms"]
    assert as_environment(properties, directory) == {"AERON_DIR": str(directory), "AERON_TIMER_INTERVAL": "100ms"}
    peer = CommandPeer("driver --at {dir} {properties}", properties, directory)
    peer.directory = directory
    assert peer.command() == ["driver", "--at", str(directory), f"-Daeron.dir={directory}", "-Daeron.timer.interval=100ms"]


def test_properties_get_free_ports_where_they_ask_for_them() -> None:
    properties = {"aeron.driver.resolver.interface": "127.0.0.1:{free_port}"}
    *_, argument = as_properties(properties, Path("anywhere"))
    name, _, port = argument.rpartition(":")
    assert name == "-Daeron.driver.resolver.interface=127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taker:
        taker.bind(("127.0.0.1", int(port)))
    assert "{" not in as_environment(properties, Path("anywhere"))["AERON_DRIVER_RESOLVER_INTERFACE"]


def test_jar_names_its_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "aeron-all-1.51.0.jar"
    jar.write_bytes(b"")
    monkeypatch.setenv("AERON_ALL_JAR", str(jar))
    assert find_jar() == jar
    assert JavaPeer().release == "1.51.0"


def test_running_driver_keeps_its_own_timers(tmp_path: Path) -> None:
    peer = make_peer(parser().parse_args(["run", "--driver", "running", "--dir", str(tmp_path), "--release", "1.50"]))
    assert isinstance(peer, RunningPeer)
    assert peer.properties == {}
    assert peer.release == "1.50"
