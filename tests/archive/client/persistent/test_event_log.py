"""The event log of an application: what its persistent subscriptions note, as `aerowire events` shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import ArchiveEventLog
from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights.cnc import PersistentSubscriptionState as State
from aerowire.simulation.world import SimulatedWorld
from aerowire.tools.main import main
from tests.archive.client.persistent.test_subscription import SECOND, Setting
from tests.archive.client.replaying_archive import FRAME, LIVE_DESTINATION, RECORDING_ID, STREAM_ID

STREAM = {
    "recording_id": RECORDING_ID,
    "replay_channel": "aeron:udp?endpoint=10.0.0.2:0|rejoin=false",
    "replay_stream_id": STREAM_ID + 1,
    "live_channel": LIVE_DESTINATION,
    "live_stream_id": STREAM_ID,
}


def shown(directory: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the events of a log, without their times and sequences."""
    capsys.readouterr()
    assert main(["events", "--archive", str(directory), "--once", "--json"]) == 0
    return [
        {name: fact for name, fact in json.loads(line).items() if name not in {"time_ns", "sequence"}}
        for line in capsys.readouterr().out.splitlines()
    ]


def test_a_subscription_notes_its_states_and_where_it_joined_and_left_the_live_stream(
    world: SimulatedWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ArchiveEventLog(tmp_path / "deep" / "log", environ={}) as log:
        setting = Setting(world, recorded=300, event_log=log)
        setting.until(State.LIVE)
        setting.archive.restart_live()
        assert world.run(60 * SECOND, until=lambda: "left" in setting.told)
    setting.archive.send(100)
    setting.until_received(400)
    first, *events = shown(tmp_path / "deep" / "log", capsys)
    assert first["event"] == "START"
    assert all(STREAM.items() <= event.items() for event in events)
    states = [(event["old_state"], event["new_state"]) for event in events if event["event"] == "PERSISTENT_SUBSCRIPTION_STATE_CHANGE"]
    assert states == [
        ("AWAIT_ARCHIVE_CONNECTION", "AWAIT_LIST_RECORDING_RESPONSE"),
        ("AWAIT_LIST_RECORDING_RESPONSE", "AWAIT_REPLAY_RESPONSE"),
        ("AWAIT_REPLAY_RESPONSE", "REPLAY"),
        ("REPLAY", "ATTEMPT_SWITCH"),
        ("ATTEMPT_SWITCH", "LIVE"),
        ("LIVE", "AWAIT_LIST_RECORDING_RESPONSE"),
    ]
    (joined,) = [event for event in events if event["event"] == "PERSISTENT_SUBSCRIPTION_JOINED_LIVE"]
    (left,) = [event for event in events if event["event"] == "PERSISTENT_SUBSCRIPTION_LEFT_LIVE"]
    assert joined["join_position"] == left["live_position"] == 300 * FRAME
    assert isinstance(joined["live_session_id"], int)


@pytest.mark.parametrize(
    "options",
    [
        {"events": "PERSISTENT_SUBSCRIPTION_JOINED_LIVE"},
        {"environ": {"AERON_EVENT_ARCHIVE_LOG": "PERSISTENT_SUBSCRIPTION_JOINED_LIVE"}},
        {"environ": {}, "properties": {"aeron.event.archive.log.disable": "START,PERSISTENT_SUBSCRIPTION_STATE_CHANGE"}},
    ],
)
def test_only_what_was_selected_is_noted(
    world: SimulatedWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any]
) -> None:
    with ArchiveEventLog(tmp_path, **options) as log:
        Setting(world, recorded=300, event_log=log).until(State.LIVE)
    assert [event["event"] for event in shown(tmp_path, capsys)] == ["PERSISTENT_SUBSCRIPTION_JOINED_LIVE"]


def test_an_event_that_there_is_not_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no event has this name or number"):
        ArchiveEventLog(tmp_path / "log", events="JOINED")
    assert not list(tmp_path.iterdir())
