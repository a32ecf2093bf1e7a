"""Snapshots that a member of ours fetches from an official archive, as those of a standby node."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshotSnapshots
from aerowire.codecs.flyweights.cnc import NodeControlToggle
from aerowire.codecs.flyweights.recording_log import EntryType
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.system.file_system import FileSystem
from tests.cluster.module.test_standby_snapshots import notify
from tests.cluster.module.whole_node import Node
from tests.interop.cluster.nodes import Cluster
from tests.interop.cluster.talk import Ears, ask
from tests.interop.scenarios import Scenario, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

NUMBERS = 20
SESSION_ID_OFFSET = DataHeaderDecoder.SESSION_ID_OFFSET


def snapshots_in(directory: Path, archive_endpoint: str = "") -> list[StandbySnapshotSnapshots]:
    """Return the snapshots in a member's recording.log, as a standby with an archive at an endpoint would tell of them."""
    log = RecordingLog.open(directory, FileSystem(), writable=False)
    try:
        return [
            StandbySnapshotSnapshots(
                recording_id=entry.recording_id,
                leadership_term_id=entry.leadership_term_id,
                term_base_log_position=entry.term_base_log_position,
                log_position=entry.log_position,
                timestamp=entry.timestamp,
                service_id=entry.service_id,
                archive_endpoint=archive_endpoint,
            )
            for entry in log.entries
            if entry.is_valid and entry.entry_type == EntryType.SNAPSHOT
        ]
    finally:
        log.close()


def recorded(archive_dir: Path, recording_id: int) -> bytes:
    """Return the frames of a recording, without their session: a copy has that of its replay."""
    found = bytearray((archive_dir / f"{recording_id}-0.rec").read_bytes())
    at = 0
    while at < len(found) and (length := int.from_bytes(found[at : at + 4], "little")):
        found[at + SESSION_ID_OFFSET : at + SESSION_ID_OFFSET + 4] = bytes(4)
        at = align(at + length, FRAME_ALIGNMENT)
    return bytes(found[:at])


def test_snapshots_of_an_official_node_are_fetched(scenario: Scenario, tmp_path: Path) -> None:
    cluster = Cluster(scenario, 1)
    cluster.start()
    driver = scenario.driver("aerowire")
    scenario.feature("Snapshots of a standby node, fetched when an operator asks for it")
    scenario.row.publishing = "official archive"
    scenario.row.subscribing = ["aerowire consensus module, aerowire archive"]
    (official,) = cluster.members
    ears = Ears()
    with cluster.connect(aeron_dir=driver.directory, egress_listener=ears) as client:
        for number in range(NUMBERS):
            ask(client, ears, number.to_bytes(8, "little"))
    scenario.bench.java.run_tool("io.aeron.cluster.ClusterTool", official.aeron_dir, str(official.directory / "cluster"), "snapshot")
    wait_until(lambda: len(snapshots_in(official.directory / "cluster")) == 2, "a snapshot of the official node")
    snapshots = snapshots_in(official.directory / "cluster", official.ports["archive"])

    node = Node(tmp_path / "node", accept_standby_snapshots=True)
    client = node.connect()
    while node.counter(CounterType.CLUSTER_COMMIT_POSITION) <= snapshots[0].log_position:
        node.echo(client, "a log that goes further than the snapshot " + "x" * 1_000)
    client.close()
    notify(node, snapshots)
    toggle = node.module.agent.core.counters[CounterType.NODE_CONTROL_TOGGLE]
    assert toggle.compare_and_set(NodeControlToggle.NEUTRAL, NodeControlToggle.REPLICATE_STANDBY_SNAPSHOT)
    node.until(lambda: node.counter(CounterType.CLUSTER_SNAPSHOT) == 1)
    copies = snapshots_in(node.directory / "cluster")
    assert [(copy.service_id, copy.log_position) for copy in copies] == [(one.service_id, one.log_position) for one in snapshots]
    for copy, snapshot in zip(copies, snapshots, strict=True):
        frames = recorded(official.directory / "archive", snapshot.recording_id)
        assert len(frames) > 0
        assert recorded(node.directory / "archive", copy.recording_id) == frames
    assert node.errors == []
    scenario.observed("copies of all recordings, frame for frame; their entries in recording.log")
    node.stop()
    cluster.stop()
    scenario.finish()
