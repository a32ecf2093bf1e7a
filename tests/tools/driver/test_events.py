"""`aerowire events` on a driver that notes events."""

from __future__ import annotations

import enum
import json
import select
import subprocess
import sys
from collections.abc import Iterator

import pytest

from aerowire.client import Aeron
from aerowire.codecs.flyweights.events import ArchiveEventCode, ClusterEventCode, DriverEventCode
from aerowire.driver import MediaDriver
from aerowire.tools.main import main
from tests.support import proc
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def aeron_dir() -> Iterator[str]:
    with MediaDriver.launch_embedded(threading_mode="SHARED", event_log="admin") as driver:
        with Aeron.connect(driver.aeron_dir) as aeron, aeron.add_publication("aeron:ipc?alias=a\x1bb", 10):
            pass
        yield driver.aeron_dir


def test_shows_what_was_noted_as_lines(aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--dir", aeron_dir, "--all", "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "START" in lines[0]
    added = next(line for line in lines if "CMD_IN_ADD_PUBLICATION" in line)
    assert "stream_id=10" in added
    assert "\x1b" not in added


def test_shows_only_what_is_asked_for_as_json(aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--dir", aeron_dir, "--all", "--once", "--json", "--only", "CMD_IN_ADD_PUBLICATION,START"]) == 0
    shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in shown] == ["START", "CMD_IN_ADD_PUBLICATION"]
    assert shown[1]["command"]["stream_id"] == 10


def test_once_shows_all_that_is_there(aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--dir", aeron_dir, "--once"]) == 0
    shown = capsys.readouterr().out
    assert main(["events", "--dir", aeron_dir, "--once", "--all"]) == 0
    assert capsys.readouterr().out.startswith(shown)
    assert "START" in shown.splitlines()[0]


def test_what_was_noted_before_is_not_shown_without_being_asked_for(aeron_dir: str) -> None:
    command = [sys.executable, "-m", "aerowire.tools.main", "events", "--dir", aeron_dir, "--json", "--only", "CMD_OUT_COUNTER_READY"]
    with Aeron.connect(aeron_dir) as aeron:
        before = aeron.add_counter(1000, label="the last event before")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            wait_until(lambda: "event-log.dat" in proc.maps_of(process.pid), "the log is not open")
            added = []
            while not select.select([process.stdout], [], [], 0.2)[0]:  # it may have looked for the end after the first ones
                added.append(aeron.add_counter(1000, label="after").registration_id)
            first = json.loads(process.stdout.readline())
            process.terminate()
    assert first["command"]["correlation_id"] in added
    assert first["command"]["correlation_id"] != before.registration_id


@pytest.mark.parametrize(
    ("component", "codes", "last"),
    [
        ([], DriverEventCode, " 61  START"),
        (["driver"], DriverEventCode, " 61  START"),
        (["archive"], ArchiveEventCode, " 49  START"),
        (["cluster"], ClusterEventCode, " 27  START"),
    ],
)
def test_lists_all_events(component: list[str], codes: type[enum.IntEnum], last: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--codes", *component]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    name = "aeron.event.log" if not component or component == ["driver"] else f"aeron.event.{component[0]}.log"
    assert head == f"{name}, {name}.disable:"
    assert len(lines) == len(list(codes))
    assert lines[-1] == last


def test_says_what_is_wrong(tmp_path: object, aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--dir", str(tmp_path), "--once"]) == 2
    assert "there is no event log" in capsys.readouterr().err
    assert main(["events", "--dir", aeron_dir, "--once", "--only", "FRAMES"]) == 2
    assert "--only" in capsys.readouterr().err
