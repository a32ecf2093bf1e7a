"""Our consensus module with an official service container beside ours, and under the official tool.

Two services of one node, one in each language, note the same events at the same positions and times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aerowire.archive import Archive
from aerowire.base.errors import AerowireError
from aerowire.cluster import AeronCluster
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.services import ClusteredServiceContainer
from aerowire.codecs.flyweights.cnc import ClusterBackupState
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import Context, MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import read_errors
from aerowire.system.file_system import FileSystem
from tests.interop.cluster.counting_service import CountingService
from tests.interop.cluster.talk import Ears, poll_until
from tests.interop.harness import PATIENT_MS, Bench
from tests.interop.scenarios import LIMIT_S
from tests.support.processes import Process, free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop

PATIENT: dict[str, Any] = {"client_liveness_timeout_ns": "60s", "publication_unblock_timeout_ns": "61s"}
TOOL = "io.aeron.cluster.ClusterTool"


class OurNode:
    """Driver, archive and consensus module of ours; service 0 in our container, service 1 in an official one. Directories stay."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.directory = bench.workshop.memory / "node"
        self.endpoints = [f"127.0.0.1:{free_port()}" for _ in range(5)]
        self.start()

    def start(self) -> None:
        """Start all, and wait until both services are told their role."""
        aeron_dir = self.bench.workshop.memory / "driver"
        self.driver = MediaDriver.launch(Context(aeron_dir=aeron_dir, dir_delete_on_start=True, dir_delete_on_shutdown=True, **PATIENT))
        self.archive = Archive.launch(
            aeron_dir=aeron_dir,
            archive_dir=self.directory / "archive",
            segment_file_length="1m",
            control_channel=f"aeron:udp?endpoint={self.endpoints[4]}",
            replication_channel="aeron:udp?endpoint=127.0.0.1:0",
        )
        self.module = ConsensusModule.launch(
            aeron_dir=aeron_dir,
            cluster_dir=str(self.cluster_dir),
            cluster_members=f"0,{','.join(self.endpoints)}",
            service_count=2,
            ingress_channel="aeron:udp?term-length=64k",
            log_channel="aeron:ipc?term-length=1m",
            replication_channel="aeron:udp?endpoint=127.0.0.1:0",
            session_timeout_ns="60s",
        )
        self.service = CountingService()
        self.container = ClusteredServiceContainer.launch(self.service, aeron_dir=aeron_dir, cluster_dir=str(self.cluster_dir))
        properties = {
            "aeron.dir": str(aeron_dir),
            "aeron.cluster.dir": str(self.cluster_dir),
            "aeron.cluster.service.id": "1",
            "aeron.driver.timeout": PATIENT_MS,
        }
        self.official: Process = self.bench.workshop.start(
            "official container", self.bench.java.command("CountingContainer", properties=properties)
        )
        self.wait_for("role")

    @property
    def cluster_dir(self) -> Any:
        return self.directory / "cluster"

    def connect(self, ears: Ears) -> AeronCluster:
        """Connect our client."""
        return AeronCluster.connect(
            aeron_dir=self.driver.aeron_dir,
            ingress_channel="aeron:udp",
            ingress_endpoints=f"0={self.endpoints[0]}",
            egress_channel="aeron:udp?endpoint=127.0.0.1:0",
            message_timeout_ns="60s",
            egress_listener=ears,
        )

    def wait_for(self, what: str, count: int = 1) -> None:
        """Wait until our service has noted something."""
        wait_until(lambda: len(self.service.named(what)) >= count, lambda: f"{self.service.events[-3:]}, errors {self.errors}")

    def official_events(self, last: str) -> list[dict[str, Any]]:
        """Return what the official service has noted, up to something."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["what"] != last:
            event = self.official.event("service", LIMIT_S)
            found.append({name: value for name, value in event.items() if name not in {"event", "service"}})
        return found

    def tool(self, command: str) -> str:
        """Return what the official tool prints for a command on the member's directory."""
        return self.bench.java.run_tool(TOOL, self.driver_dir, str(self.cluster_dir), command)

    @property
    def driver_dir(self) -> Any:
        return self.bench.workshop.memory / "driver"

    @property
    def errors(self) -> list[str]:
        """What the consensus module's error log has."""
        return [error.text for error in read_errors(self.module.agent._mark_file.error_log_buffer)]

    def until(self, is_so: Callable[[], object], what: str) -> None:
        """Wait until something is so."""
        wait_until(is_so, lambda: f"{what}, errors {self.errors}")

    def stop(self) -> None:
        """End all."""
        self.official.stop()
        for part in (self.container, self.module, self.archive, self.driver):
            part.close()


@pytest.fixture
def node(bench: Bench) -> Iterator[OurNode]:
    node = OurNode(bench)
    yield node
    node.stop()


def test_services_of_both_languages_apply_the_same_log(node: OurNode) -> None:
    ears = Ears()
    client = node.connect(ears)
    for text in ("echo hello", "timer 7 20", "timer 8 600000", "cancel 8", "tell echo all", "echo " + "long" * 1000):
        poll_until(client, lambda text=text: client.offer(text.encode()) > 0, "room", keeps_alive=False)  # type: ignore[misc]
    poll_until(client, lambda: len(ears.messages) == 4, "echoes of both services")
    assert sorted(ears.messages) == sorted(f"{service}:{text}".encode() for service in (0, 1) for text in ("hello", "long" * 1000))
    node.wait_for("timer")
    node.wait_for("message", 8)

    members = node.tool("list-members")
    assert "leaderMemberId=0" in members
    assert all(endpoint in members for endpoint in node.endpoints)
    node.tool("snapshot")
    assert node.module.agent.core.counter_value(CounterType.CLUSTER_SNAPSHOT) == 1
    node.tool("suspend")
    node.tool("resume")
    node.tool("shutdown")
    node.until(lambda: node.module.has_ended, "the consensus module lives on")
    node.wait_for("terminate")
    ours, theirs = node.service.events, node.official_events("terminate")
    assert ours == theirs
    assert node.errors == []
    client.close()
    node.stop()

    node.start()
    ears.messages.clear()
    client = node.connect(ears)
    poll_until(client, lambda: client.offer(b"echo again") > 0, "room", keeps_alive=False)
    poll_until(client, lambda: len(ears.messages) == 2, "echoes of both services")
    assert sorted(ears.messages) == [b"0:again", b"1:again"]
    assert node.service.events[0]["what"] == "start"
    assert node.service.events[0]["count"] == 8
    client.close()


def test_an_official_backup_gets_snapshots_and_log(node: OurNode) -> None:
    ears = Ears()
    client = node.connect(ears)
    poll_until(client, lambda: client.offer(b"echo hello") > 0, "room", keeps_alive=False)
    poll_until(client, lambda: len(ears.messages) == 2, "echoes of both services")
    node.tool("snapshot")
    directory, driver = node.bench.workshop.memory / "backup", node.bench.workshop.memory / "backup-driver"
    own = [f"127.0.0.1:{free_port()}" for _ in range(6)]
    properties = {
        "aeron.dir": str(driver),
        "aeron.threading.mode": "SHARED",
        "aeron.dir.delete.on.start": "true",
        "aeron.dir.delete.on.shutdown": "true",
        "aeron.driver.timeout": PATIENT_MS,
        "aeron.archive.threading.mode": "SHARED",
        "aeron.archive.dir": str(directory / "archive"),
        "aeron.archive.segment.file.length": "1m",
        "aeron.archive.control.channel": f"aeron:udp?endpoint={own[4]}",
        "aeron.archive.control.response.channel": "aeron:udp?endpoint=127.0.0.1:0",
        "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
        "aeron.cluster.dir": str(directory / "cluster"),
        "aeron.cluster.members": f"0,{','.join(own[:5])}",
        "aeron.cluster.consensus.endpoints": node.endpoints[1],
        "aeron.cluster.consensus.channel": f"aeron:udp?endpoint={own[5]}|term-length=64k",
        "aeron.cluster.backup.catchup.endpoint": "127.0.0.1:0",
        "aeron.cluster.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
    }
    backup = node.bench.workshop.start(
        "official backup", node.bench.java.command("io.aeron.cluster.ClusterBackupMediaDriver", properties=properties)
    )

    def counter(kind: CounterType) -> int | None:
        try:
            return next((info.value for info in CncFile.map(driver / "cnc.dat").counters_reader().for_each() if info.type_id == kind), None)
        except AerowireError:
            return None

    commit_position = node.module.agent.core.counter_value(CounterType.CLUSTER_COMMIT_POSITION)
    node.until(
        lambda: (
            counter(CounterType.CLUSTER_BACKUP_STATE) == ClusterBackupState.BACKING_UP
            and counter(CounterType.CLUSTER_BACKUP_LIVE_LOG_POSITION) == commit_position
        ),
        "the backup does not follow",
    )
    assert counter(CounterType.CLUSTER_BACKUP_ERROR_COUNT) == 0
    log = RecordingLog.open(directory / "cluster", FileSystem(), writable=False)
    assert [entry.service_id for entry in log.entries if entry.is_valid_snapshot] == [1, 0, -1]
    log.close()
    backup.stop()
    client.close()
    assert node.errors == []
