"""The commands on a member that runs: asked, told, and shown from its files while it writes them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.base.directory import random_aeron_dir
from aerowire.cluster.services import ClusteredService
from aerowire.driver import Context
from aerowire.nodes import ClusteredMediaDriver
from aerowire.tools.main import main
from tests.support.processes import free_port
from tests.support.waiting import wait_until

ANY_PORT = "aeron:udp?endpoint=127.0.0.1:0"


def launch(directory: Path, members: int) -> ClusteredMediaDriver:
    """Start the first of some members."""
    endpoints = [[f"127.0.0.1:{free_port()}" for _ in range(5)] for _ in range(members)]
    return ClusteredMediaDriver.launch(
        Context(aeron_dir=random_aeron_dir(), dir_delete_on_shutdown=True, threading_mode="SHARED"),
        archive={
            "archive_dir": directory / "archive",
            "control_channel": f"aeron:udp?endpoint={endpoints[0][4]}",
            "replication_channel": ANY_PORT,
            "segment_file_length": 64 * 1024,
            "low_storage_space_threshold": 0,
        },
        cluster={
            "cluster_dir": str(directory / "cluster"),
            "cluster_members": "|".join(f"{number},{','.join(one)}" for number, one in enumerate(endpoints)),
            "ingress_channel": "aeron:udp",
            "log_channel": "aeron:udp?term-length=64k",
            "replication_channel": ANY_PORT,
        },
        services=[ClusteredService],
    )


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusteredMediaDriver]:
    """A member that leads a cluster of its own."""
    with launch(tmp_path_factory.mktemp("node"), 1) as node:
        wait_until(lambda: node.consensus_module.agent.member.is_leading, "no leader")
        yield node


def run(capsys: pytest.CaptureFixture[str], command: str, node: ClusteredMediaDriver, *more: object, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["cluster", command, str(node.consensus_module.context.cluster_path), *map(str, more)]) == code
    return capsys.readouterr().out


def test_its_members_are_told(node: ClusteredMediaDriver, capsys: pytest.CaptureFixture[str]) -> None:
    member = node.consensus_module.context.member
    text = run(capsys, "list-members", node, "--timeout", 20)
    assert re.fullmatch(
        r"currentTimeNs=\d+, leaderMemberId=0, memberId=0, activeMembers=\[ClusterMember\{id=0, isBallotSent=false, isLeader=true, "
        rf"leadershipTermId=0, logPosition=\d+, .*, endpoints='{re.escape(member.endpoints)}', publication=null, vote=null\}}\]\n",
        text,
    )
    told = json.loads(run(capsys, "list-members", node, "--timeout", 20, "--json"))
    assert (told["leader_member_id"], told["active_members"][0]["ingress_endpoint"]) == (0, member.ingress_endpoint)
    assert run(capsys, "is-leader", node) == ""
    assert json.loads(run(capsys, "is-leader", node, "--json")) == {"is_leader": True}
    assert run(capsys, "pid", node) == f"{os.getpid()}\n"


def test_a_snapshot_is_taken_and_shown(node: ClusteredMediaDriver, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "describe-latest-cm-snapshot", node, code=1) == "Snapshot not found\n"
    assert run(capsys, "snapshot", node, "--timeout", 60) == "Member [0]: SNAPSHOT applied successfully\n"
    entries = json.loads(run(capsys, "recording-log", node, "--json"))["entries"]
    service, module = entries[-2:]
    assert [(one["entry_type"], one["service_id"]) for one in (service, module)] == [("SNAPSHOT", 0), ("SNAPSHOT", -1)]
    shown = run(capsys, "describe-latest-cm-snapshot", node, "--timeout", 60)
    lines = shown.splitlines()
    assert lines[0] == "Snapshot: appVersion=1 timeUnit=MILLISECONDS"
    assert lines[1] == (
        "Consensus Module State: nextSessionId=1 nextServiceSessionId=-9223372036854775807 logServiceSessionId=-9223372036854775808 "
        "pendingMessageCapacity=0"
    )
    assert lines[2].startswith("000000:  1c 00 69 00 6f 00 11 00 01 00 00 00 00 00 00 00   |  ")
    assert lines[-1] == f"Consensus Module Snapshot End: memberId=0 recordingId={module['recording_id']} length=352"
    records = json.loads(run(capsys, "describe-latest-cm-snapshot", node, "--timeout", 60, "--json"))["records"]
    assert [one["type"] for one in records] == ["SnapshotMarker", "ConsensusModule", "PendingMessageTracker", "SnapshotMarker"]
    assert lines[-6].startswith(f"End Snapshot, offset={records[-1]['offset']}, length=48")


def test_options_of_the_tool_come_from_the_environment(
    node: ClusteredMediaDriver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "snapshot", node, "--timeout", 60)
    monkeypatch.setenv("AERON_CLUSTER_TOOL_TIMEOUT", "60s")
    monkeypatch.setenv("AERON_CLUSTER_TOOL_REPLAY_STREAM_ID", "1103")
    assert "Consensus Module Snapshot End: memberId=0" in run(capsys, "describe-latest-cm-snapshot", node)
    monkeypatch.setenv("AERON_CLUSTER_TOOL_REPLAY_CHANNEL", "nowhere")
    run(capsys, "describe-latest-cm-snapshot", node, code=2)
    monkeypatch.setenv("AERON_CLUSTER_TOOL_TIMEOUT", "soon")
    run(capsys, "list-members", node, code=2)


def test_a_plan_is_the_same_by_the_archive_and_by_its_files(node: ClusteredMediaDriver, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "snapshot", node, "--timeout", 60)
    asked = json.loads(run(capsys, "recovery-plan", node, "--json"))
    read = json.loads(run(capsys, "recovery-plan", node, 1, "--archive-dir", node.archive.context.archive_path, "--json"))
    assert (asked["snapshots"], asked["committed_log_position"]) == (read["snapshots"], read["committed_log_position"])
    # The archive does not say where a recording ends that goes on; its files do.
    assert (asked["log"]["stop_position"], read["log"]["stop_position"]) == (-1, read["snapshots"][0]["log_position"])
    assert run(capsys, "recovery-plan", node, 1).startswith("RecoveryPlan[lastLeadershipTermId=0, lastTermBaseLogPosition=0, ")


def test_a_suspended_cluster_obeys_resume_alone(node: ClusteredMediaDriver, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "suspend", node, "--timeout", 20) == "Member [0]: SUSPEND applied successfully\n"
    module = node.consensus_module.agent.member
    wait_until(lambda: module.state.name == "SUSPENDED", "not suspended")
    refused = "Member [0]: Unable to SNAPSHOT as the state of the consensus module is SUSPENDED, but needs to be ACTIVE\n"
    assert run(capsys, "snapshot", node, "--timeout", 20, code=1) == refused
    assert main(["cluster", "snapshot", str(node.consensus_module.context.cluster_path), "--timeout", "20"]) == 1
    assert "let the cluster go on first by: aerowire cluster resume DIR" in capsys.readouterr().err
    told = json.loads(run(capsys, "resume", node, "--timeout", 60, "--json"))
    assert (told["request"], told["applied"]) == ("RESUME", True)
    wait_until(lambda: module.state.name == "ACTIVE", "not resumed")


@pytest.mark.parametrize("command", ["sort-recording-log", "seed-recording-log-from-snapshot", "invalidate-latest-snapshot"])
def test_its_files_are_not_changed(node: ClusteredMediaDriver, capsys: pytest.CaptureFixture[str], command: str) -> None:
    path = node.consensus_module.context.cluster_path
    before = (path / "recording.log").read_bytes()
    assert main(["cluster", command, str(path)]) == 2
    assert f"process {os.getpid()}" in capsys.readouterr().err
    assert (path / "recording.log").read_bytes() == before


def test_a_member_without_a_leader_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with launch(tmp_path, 2) as node:
        wait_until(lambda: node.consensus_module.agent.machine is not None, "no election")
        assert run(capsys, "is-leader", node, code=1) == ""
        assert main(["cluster", "shutdown", str(tmp_path / "cluster"), "--timeout", "20"]) == 1
        out, err = capsys.readouterr()
        assert out == "Member [0]: Current node is not the leader (leaderMemberId = -1), unable to SHUTDOWN\n"
        assert err == "aerowire cluster: no member leads now: try again after the election\n"


def test_abort_ends_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with launch(tmp_path, 1) as node:
        wait_until(lambda: node.consensus_module.agent.member.is_leading, "no leader")
        assert run(capsys, "abort", node, "--timeout", 20) == "Member [0]: ABORT applied successfully\n"
        wait_until(lambda: node.has_ended, "it goes on")
        assert run(capsys, "list-members", node, "--timeout", 0.2, code=1) == "timeout waiting for response from node\n"
