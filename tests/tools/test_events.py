"""`aerowire events` on a driver that notes events."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from aerowire.client import Aeron
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.driver import MediaDriver
from aerowire.tools.main import main


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


def test_lists_all_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--codes"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(DriverEventCode)


def test_says_what_is_wrong(tmp_path: object, aeron_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--dir", str(tmp_path), "--once"]) == 2
    assert "there is no event log" in capsys.readouterr().err
    assert main(["events", "--dir", aeron_dir, "--once", "--only", "FRAMES"]) == 2
    assert "--only" in capsys.readouterr().err
