"""`aerowire cluster replay-check` passes a service that is deterministic, and names the message at which another is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from aerowire.tools.main import main
from tests.support.archives.member_logs import MemberLogWriter

SERVICES = "tests.cluster.replay.replayed_services"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directories of a member with a log of messages, a timer and a snapshot whose recording is another service's."""
    writer = MemberLogWriter(tmp_path_factory.mktemp("replay") / "node")
    writer.term()
    writer.open_session(3)
    for word in ("timer", "all", "claim", "raise"):
        writer.message(3, word.encode())
    writer.timer(7)
    writer.snapshot()
    writer.message(3, b"again")
    writer.write()
    return writer.directory


def check(service: str, node: Path, *more: str) -> int:
    return main(["cluster", "replay-check", f"{SERVICES}:{service}", str(node / "cluster"), *more])


def test_a_deterministic_service_passes(node: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check("Sound", node) == 0
    assert capfd.readouterr().out.splitlines() == [
        "log: recording 0, replayed from its beginning to 864, known to be committed to 0",
        "9 messages, and the state at the end: both replays are the same",
    ]


@pytest.mark.parametrize("service", ["OverASet", "ByTheClock", "ByChance", "ByAddress"])
def test_the_first_message_whose_outputs_differ_is_named(node: Path, capfd: pytest.CaptureFixture[str], service: str) -> None:
    assert check(service, node, "--json") == 1
    found = json.loads(capfd.readouterr().out)
    difference = found["difference"]
    assert (found["same"], found["messages"]) == (False, 2)
    assert {name: difference[name] for name in ("position", "template", "session_id", "correlation_id", "output")} == {
        "position": 320,
        "template": "SessionMessageHeader",
        "session_id": 3,
        "correlation_id": None,
        "output": 0,
    }
    first, second = difference["outputs"]
    assert (first["kind"], first["subject"]) == (second["kind"], second["subject"]) == ("session offer", "to session 3")
    assert first["data"] != second["data"]


def test_a_state_that_differs_is_found_in_snapshots_and_shown_where_it_does(node: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert check("KeepsTheClock", node) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:7] == [
        "after 7 messages that are the same, the replays differ:",
        "  position        768",
        "  template        ClusterActionRequest",
        "  session         -",
        "  correlation id  -",
        "  output          4 of 6 and 6",
    ]
    assert lines[7].startswith("  hash seed 1: snapshot message at 768, 12 bytes")
    assert lines[8].startswith("    from byte 0: ")


def test_a_recorded_snapshot_that_the_replay_does_not_have_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    writer = MemberLogWriter(tmp_path / "node")
    writer.term()
    position = writer.snapshot([b"another state"])
    writer.write()
    shutil.move(writer.archive_dir, tmp_path / "elsewhere")
    assert check("Sound", writer.directory, "--archive-dir", str(tmp_path / "elsewhere")) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:4] == [
        f"snapshot at {position} (recording 1): message 1 is not as replayed",
        f"  recorded: snapshot message at {position}, 13 bytes",
        "    from byte 0: 61 6e 6f 74 68 65 72 20 73 74 61 74 65  |another state|",
    ]
    assert lines[-1] == "2 messages, and the state at the end: both replays are the same"


@pytest.mark.parametrize(
    ("service", "more", "text"),
    [
        ("Sound", ("--from-snapshot",), "there is no snapshot of the service"),
        (
            "Sound",
            ("--archive-dir", "nowhere"),
            "archive.catalog does not exist; at nowhere; expected the directory of the member's archive",
        ),
        ("Exits", (), "the service has ended the replay: SystemExit: 3"),
    ],
)
def test_what_cannot_be_replayed_is_an_error(
    node: Path, capfd: pytest.CaptureFixture[str], service: str, more: tuple[str, ...], text: str
) -> None:
    assert check(service, node, *more) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert text in captured.err
    assert captured.err.count("\n") == 1
