"""The commands on directories of official members print what the official tool printed, and leave the bytes that it left."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from aerowire.tools.main import main
from tests.cluster.files.official_text import NODES, output, printed_headers, printed_log
from tests.support.archives.recordings import RecordingWriter, write_catalog

ONE_NODE = "one-node-orderly/node0"
LOG = "recording.log"
_TIMES = re.compile(r"^Type: (\w+) \d\d:\d\d:\d\d \(start: \S+ \S+, activity: \S+ \S+\)$", re.MULTILINE)


@pytest.fixture
def directory(golden_clusters: Path, tmp_path: Path) -> Path:
    """A copy of a golden directory, to be changed."""
    return shutil.copytree(golden_clusters / ONE_NODE, tmp_path / "cluster")


def run(capsys: pytest.CaptureFixture[str], command: str, directory: Path, *more: object, code: int = 0) -> str:
    """Return what a command printed."""
    capsys.readouterr()
    assert main(["cluster", command, str(directory), *map(str, more)]) == code
    return capsys.readouterr().out


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("node", NODES)
def test_inspection_prints_what_the_official_tool_prints_and_changes_nothing(
    golden_clusters: Path, capsys: pytest.CaptureFixture[str], node: str
) -> None:
    golden = golden_clusters / node
    before = contents(golden)
    described, official = run(capsys, "describe", golden), output(golden / "tool.describe.txt")
    assert printed_headers(described) == printed_headers(official)
    assert _TIMES.findall(described) == _TIMES.findall(official) == ["CONSENSUS_MODULE", "CONTAINER"]
    logged = run(capsys, "recording-log", golden)
    assert printed_log(logged) == printed_log(output(golden / "tool.recording-log.txt"))
    assert run(capsys, "pid", golden) == output(golden / "tool.pid.txt")
    assert contents(golden) == before


def test_a_recording_log_of_one_term_is_printed_byte_for_byte(golden_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = golden_clusters / ONE_NODE
    assert run(capsys, "recording-log", golden) == output(golden / "tool.recording-log.txt")


def test_errors_are_those_that_the_official_tool_prints(golden_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = golden_clusters / "three-node-failover-orderly/node1"
    mine, theirs = (
        [line.strip() for line in text.splitlines() if line] for text in (run(capsys, "errors", golden), output(golden / "tool.errors.txt"))
    )
    warning = "io.aeron.cluster.client.ClusterEvent: WARN - leader heartbeat timeout"
    assert warning in mine
    assert warning in theirs
    assert mine[1] == theirs[1] == "Cluster component error log:"
    assert "Aeron driver error log (directory: /dev/shm/ofk-1):" in mine
    # The official tool ends where the driver is gone; what services have is shown all the same.
    assert mine[-2:] == ["Cluster component error log:", "0 distinct errors observed"]
    found = json.loads(run(capsys, "errors", golden, "--json"))
    assert [one["text"].strip() for one in found["component"]["errors"]] == [warning]
    assert found["services"] == [{"component_type": "CONTAINER", "service_id": 0, "errors": []}]
    assert "cnc.dat" in found["driver"]["unreadable"]


def test_programs_get_values(golden_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = golden_clusters / "three-node-failover-kill/node0"
    member = json.loads(run(capsys, "describe", golden, "--json"))
    assert (member["component"]["component_type"], member["component"]["member_id"]) == ("CONSENSUS_MODULE", 0)
    assert [one["service_name"] for one in member["services"]] == ["clustered-service-0-0"]
    assert json.loads(run(capsys, "pid", golden, "--json")) == {"pid": member["component"]["pid"]}
    entries = json.loads(run(capsys, "recording-log", golden, "--json"))["entries"]
    assert [one["entry_type"] for one in entries] == ["TERM", "SNAPSHOT", "SNAPSHOT", "TERM"]


def test_changes_leave_the_bytes_that_the_official_tool_left(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = (directory / LOG).read_bytes()
    assert "in their order already" in run(capsys, "sort-recording-log", directory, code=1)
    assert (directory / LOG).read_bytes() == (directory / f"{LOG}.after-sort-recording-log").read_bytes()
    assert run(capsys, "invalidate-latest-snapshot", directory) == " invalidate latest snapshot: true\n"
    assert (directory / LOG).read_bytes() == (directory / f"{LOG}.after-invalidate-latest-snapshot").read_bytes()
    (directory / LOG).write_bytes(original)
    assert json.loads(run(capsys, "seed-recording-log-from-snapshot", directory, "--json")) == {"snapshots": 2}
    assert (directory / LOG).read_bytes() == (directory / f"{LOG}.after-seed-recording-log-from-snapshot").read_bytes()
    assert (directory / f"{LOG}.bak").read_bytes() == original


def test_the_end_of_snapshots_is_a_finding(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [main(["cluster", "invalidate-latest-snapshot", str(directory)]) for _ in range(4)]
    assert (outcomes, capsys.readouterr().out.splitlines()[-1]) == ([0, 0, 0, 1], " invalidate latest snapshot: false")
    said = run(capsys, "seed-recording-log-from-snapshot", directory)
    assert "there was no valid snapshot" in said
    assert not (directory / LOG).exists()


def archive_of(directory: Path, stop: int) -> Path:
    """Make the directory of an archive whose first recording is the log."""
    directory.mkdir()
    write_catalog(directory, [RecordingWriter(directory, 0, stop=stop)])
    return directory


def test_a_plan_is_made_from_files_alone(golden_clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golden = golden_clusters / "one-node-kill/node0"
    archive = archive_of(tmp_path / "archive", stop=12_800)
    plan = run(capsys, "recovery-plan", golden, 1, "--archive-dir", archive)
    assert plan.startswith(
        "RecoveryPlan[lastLeadershipTermId=0, lastTermBaseLogPosition=0, appendedLogPosition=12800, committedLogPosition=10208, "
        "snapshots=[Snapshot[recordingId=4, leadershipTermId=0, termBaseLogPosition=0, logPosition=10208, timestamp=1795253632252, "
        "serviceId=-1], Snapshot[recordingId=3, "
    )
    assert ", log=Log[recordingId=0, leadershipTermId=0, termBaseLogPosition=0, logPosition=-1, startPosition=10208, " in plan
    assert json.loads(run(capsys, "recovery-plan", golden, "--archive-dir", archive, "--json"))["log"]["stop_position"] == 12_800
    assert main(["cluster", "recovery-plan", str(golden), "2", "--archive-dir", str(archive)]) == 2
    assert "no set of snapshots is complete" in capsys.readouterr().err


def test_what_is_missing_is_told_with_what_to_do(tmp_path: Path, golden_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("describe", "pid", "errors", "list-members", "is-leader", "snapshot"):
        assert main(["cluster", command, str(tmp_path)]) == 2
        told = capsys.readouterr().err
        assert "cluster-mark.dat does not exist" in told
        assert "DIR/cluster" in told
    dead = golden_clusters / "one-node-kill/node0"
    for command in ("list-members", "is-leader", "shutdown", "recovery-plan", "describe-latest-cm-snapshot"):
        assert main(["cluster", command, str(dead)]) == 2
        assert "start the member by: aerowire cluster start" in capsys.readouterr().err
