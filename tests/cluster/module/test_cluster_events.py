"""The event log of a member: what it notes of a life, and that it notes nothing unless it is told to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.cluster.consensus import messages
from aerowire.cluster.module.cluster_events import ClusterEvents
from aerowire.codecs.flyweights.events import ClusterEventCode, StateEventDecoder
from aerowire.ipc.broadcast import BroadcastReceiver
from tests.cluster.module.nodes import Node, run
from tests.support.processes import free_port


def noted(path: Path) -> list[tuple[int, dict[str, object]]]:
    """Return the code and the facts of each event in a log."""
    records = BroadcastReceiver(path.read_bytes(), from_start=True).poll(1_000)
    return [(code, json.loads(StateEventDecoder(body).text)) for code, body in records]


@pytest.mark.parametrize("codes", ["all", ""])
def test_what_happens_is_noted_in_the_event_log(tmp_path: Path, codes: str) -> None:
    endpoints = [f"127.0.0.1:{free_port()}" for _ in range(5)]
    node = Node(tmp_path, f"0,{','.join(endpoints)}", 0, endpoints[4], event_log=codes)
    node.start()
    run([node], lambda: node.is_leader)
    node.close()
    path = tmp_path / "cluster" / EVENT_LOG_FILE_NAME
    if not codes:
        assert not path.exists()
        return
    events = noted(path)
    assert all(facts["member_id"] == 0 for _, facts in events)
    states = [facts["new_state"] for code, facts in events if code == ClusterEventCode.ELECTION_STATE_CHANGE]
    assert states == ["LEADER_LOG_REPLICATION", "LEADER_REPLAY", "LEADER_INIT", "LEADER_READY", "CLOSED"]
    assert [facts["new_state"] for code, facts in events if code == ClusterEventCode.STATE_CHANGE] == ["ACTIVE", "CLOSED"]
    assert {code for code, _ in events} >= {
        ClusterEventCode.START,
        ClusterEventCode.NEW_ELECTION,
        ClusterEventCode.ROLE_CHANGE,
        ClusterEventCode.SERVICE_ACK,
    }


def test_every_message_of_an_election_has_an_event() -> None:
    events = ClusterEvents(0)
    for message in (
        messages.CanvassPosition(0, 0, 0, 1),
        messages.RequestVote(0, 0, 0, 1),
        messages.Vote(0, 0, 0, 0, 1, True),
        messages.AppendPosition(0, 0, 1),
        messages.CommitPosition(0, 0, 1),
        messages.CatchupPosition(0, 0, 1, "a:1"),
        messages.StopCatchup(0, 1),
        messages.TerminationPosition(0, 0),
    ):
        events.message(message)  # without a log: nothing
