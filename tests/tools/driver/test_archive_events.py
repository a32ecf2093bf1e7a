"""`aerowire events --archive` on an archive that notes events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.agents.event_log import EventLog
from aerowire.archive import FixedCredentials
from aerowire.archive.control.archive_events import EVENT_OF_TEMPLATE, ArchiveEvents
from aerowire.base.event_selection import ARCHIVE_EVENTS
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.codecs.support.writing import MessageEncoder
from aerowire.system.clock import ManualClock
from aerowire.system.ports import Ports
from aerowire.tools.main import main
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    rig = Rig(tmp_path_factory.mktemp("events") / "archive", event_log="all", event_log_disable="CMD_IN_KEEP_ALIVE")
    rig.connect(credentials_supplier=FixedCredentials(b"user:a secret"))
    rig.record(3)
    rig.client.list_recordings_for_uri("x\x1by", 7)
    yield str(rig.directory)
    rig.close()


def events(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert main(["events", "--once", "--json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_shows_requests_and_changes_of_state_by_name_and_field(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = events(capsys, "--archive", directory)
    assert shown[0]["event"] == "START"
    (started,) = [one["message"] for one in shown if one["event"] == "CMD_IN_START_RECORDING"]
    assert isinstance(started, dict)
    assert (started["channel"], started["stream_id"], started["source_location"]) == (CHANNEL, STREAM_ID, "LOCAL")
    states = [(one["old_state"], one["new_state"]) for one in shown if one["event"] == "RECORDING_SESSION_STATE_CHANGE"]
    assert states[-1][1] == "STOPPED"
    signals = [one["message"]["signal"] for one in shown if isinstance(one.get("message"), dict) and one["event"] == "RECORDING_SIGNAL"]  # type: ignore[index]
    assert signals == ["START", "STOP"]


def test_lines_are_printable_and_hold_no_credentials(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--archive", directory, "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.isprintable()] == []
    assert any("CMD_IN_AUTH_CONNECT" in line and "encoded_credentials=13 bytes" in line for line in lines)
    assert not any("secret" in line or b"secret".hex() in line for line in lines)


def test_shows_only_what_is_asked_for(directory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {one["event"] for one in events(capsys, "--archive", directory, "--only", "START,40")} == {"START", "RECORDING_SIGNAL"}
    assert main(["events", "--archive", directory, "--only", "FRAME_IN"]) == 2
    assert "no event has this name or number" in capsys.readouterr().err


def test_a_directory_without_a_log_is_told_with_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["events", "--archive", str(tmp_path), "--once"]) == 2
    assert "expected an archive that notes events (hint: start it with -Daeron.event.archive.log=all)" in capsys.readouterr().err


def test_every_event_of_a_message_is_shown_with_its_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    region = Ports.system().regions.create(tmp_path / "event-log.dat", EventLog.file_length(1 << 16), sparse=True)
    noted = ArchiveEvents(EventLog(region, ManualClock(), ARCHIVE_EVENTS.all))
    encoders = {encoder.SBE_TEMPLATE_ID: encoder for encoder in _encoders()}
    for template_id in EVENT_OF_TEMPLATE:
        message = bytearray(512)
        encoders[template_id]().wrap_and_apply_header(message)
        noted.message(template_id, bytes(message))
    shown = events(capsys, "--archive", str(tmp_path))
    assert [one["event"] for one in shown] == [code.name for code in EVENT_OF_TEMPLATE.values()]
    assert all("message" in one for one in shown)


def _encoders() -> list[type[MessageEncoder]]:
    found = [getattr(archive, name) for name in archive.__all__ if name.endswith("Encoder")]
    return [encoder for encoder in found if hasattr(encoder, "SBE_TEMPLATE_ID")]


def test_every_event_is_of_a_message_or_a_change() -> None:
    changes = {code for code in ArchiveEventCode if code.name.endswith(("STATE_CHANGE", "DONE", "ERROR", "RESIZE", "START", "LIVE"))}
    assert set(EVENT_OF_TEMPLATE.values()) | changes == set(ArchiveEventCode)
