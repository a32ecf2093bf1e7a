"""A whole node of one member, each part with threads of its own: driver, archive, consensus module, container with a service, client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from aerowire.archive import Archive
from aerowire.client import Header, Image
from aerowire.cluster import AeronCluster
from aerowire.cluster.module.consensus_module import ConsensusModule
from aerowire.cluster.services import ClientSession, Cluster, ClusteredService, ClusteredServiceContainer
from aerowire.codecs.flyweights.cluster.enums import CloseReason
from aerowire.codecs.flyweights.cnc import ClusterControlToggle
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import MediaDriver
from aerowire.ipc.error_log import read_errors
from tests.support.processes import free_port
from tests.support.waiting import wait_until

# What a consensus module and its services have in common.
SHARED = ("cluster_id", "consensus_module_stream_id", "service_stream_id")
EGRESS = "aeron:udp?endpoint=127.0.0.1:0"


class Echo(ClusteredService):
    """Echoes, sets timers, tells itself things; its state is the number of messages that it has had."""

    def __init__(self) -> None:
        self.count = 0
        self.last_message_at = -1
        self.events: list[str] = []

    def on_start(self, cluster: Cluster, snapshot_image: Image | None) -> None:
        self.cluster = cluster
        while snapshot_image is not None and self.count == 0 and not snapshot_image.is_end_of_stream:
            snapshot_image.poll(self._load, 1)
            cluster.idle_strategy.idle()

    def on_session_message(self, session: ClientSession | None, message: bytes, at: int) -> None:
        self.count += 1
        self.last_message_at = at
        if session is None:
            self.events.append(f"told {message.decode()}")
        elif message.startswith(b"timer"):
            self.cluster.schedule_timer(7, at + int(message[6:]))
        elif message.startswith(b"tell"):
            self.cluster.offer(message[5:])
        else:
            session.offer(message)

    def on_session_close(self, session: ClientSession, _at: int, _reason: CloseReason) -> None:
        self.events.append(f"closed {session.id}")

    def on_timer_event(self, correlation_id: int, _at: int) -> None:
        self.events.append(f"timer {correlation_id}")

    def on_take_snapshot(self, snapshot_publication: Any) -> None:
        snapshot_publication.send(self.count.to_bytes(8, "little"))
        self.events.append("snapshot")

    def on_terminate(self, _cluster: Cluster) -> None:
        self.events.append("terminated")

    def _load(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self.count = int.from_bytes(buffer[offset : offset + length], "little")


class Node:
    """One node. `start` and `stop` keep its directories and its endpoints."""

    def __init__(self, directory: Path, *, beside: Node | None = None, **options: Any) -> None:
        """`options` are more of those of the consensus module; a node beside another one uses its driver and archive."""
        self.directory = directory
        self._beside = beside
        self._options = options
        self._endpoints = [f"127.0.0.1:{free_port()}" for _ in range(5)]
        if beside is not None:
            self._endpoints[4] = beside.archive_endpoint
        self.heard: list[bytes] = []
        self.start()

    def start(self) -> None:
        """Start all, and wait until the member leads."""
        if self._beside is None:
            self.driver = MediaDriver.launch_embedded()
            self.archive = Archive.launch(
                aeron_dir=self.driver.aeron_dir,
                archive_dir=self.directory / "archive",
                segment_file_length=64 * 1024,
                control_channel=f"aeron:udp?endpoint={self._endpoints[4]}",
                replication_channel="aeron:udp?endpoint=127.0.0.1:0",
                low_storage_space_threshold=0,
            )
        else:
            self.driver, self.archive = self._beside.driver, self._beside.archive
        self.module = ConsensusModule.launch(
            aeron_dir=self.driver.aeron_dir,
            cluster_dir=str(self.directory / "cluster"),
            cluster_members=f"0,{','.join(self._endpoints)}",
            ingress_channel="aeron:udp?term-length=64k",
            log_channel="aeron:udp?term-length=64k",
            replication_channel="aeron:udp?endpoint=127.0.0.1:0",
            **self._options,
        )
        self.services = [Echo() for _ in range(self._options.get("service_count", 1))]
        self.service = self.services[0]
        self.containers = [
            ClusteredServiceContainer.launch(
                service,
                service_id=service_id,
                aeron_dir=self.driver.aeron_dir,
                cluster_dir=self.directory / "cluster",
                **{name: value for name, value in self._options.items() if name in SHARED},
            )
            for service_id, service in enumerate(self.services)
        ]
        wait_until(lambda: self.module.agent.member.is_leading, lambda: f"no leader: {self.errors}")

    def stop(self) -> None:
        """End all that is the node's own."""
        self.module.close()  # BEFORE the services, whose end it would take for unexpected
        for container in self.containers:
            container.close()
        if self._beside is None:
            self.archive.close()
            self.driver.close()

    def connect(self) -> AeronCluster:
        """Connect a client."""
        return AeronCluster.connect(
            aeron_dir=self.driver.aeron_dir,
            ingress_channel="aeron:udp",
            ingress_endpoints=f"0={self._endpoints[0]}",
            egress_channel=EGRESS,
            egress_listener=lambda _session, _at, buffer, offset, length, _header: self.heard.append(
                bytes(buffer[offset : offset + length])
            ),
        )

    def say(self, client: AeronCluster, text: str) -> None:
        """Send a message."""
        wait_until(lambda: client.offer(text.encode()) > 0, "no room in the ingress")

    def echo(self, client: AeronCluster, text: str) -> None:
        """Send a message, and wait for its echo."""
        self.say(client, text)
        self.until(lambda: text.encode() in self.heard, work=client.poll_egress)

    @property
    def consensus_endpoint(self) -> str:
        """Where other members and standbys send to."""
        return self._endpoints[1]

    @property
    def archive_endpoint(self) -> str:
        """Where other archives send to."""
        return self._endpoints[4]

    def toggle(self, toggle: ClusterControlToggle, before: ClusterControlToggle = ClusterControlToggle.NEUTRAL) -> None:
        """Ask the cluster for something, as an operator does."""
        counter = self.module.agent.core.counters[CounterType.CLUSTER_CONTROL_TOGGLE]
        wait_until(lambda: counter.compare_and_set(before, toggle), "another toggle is being obeyed")

    def until(self, condition: Callable[[], object], work: Callable[[], object] | None = None) -> None:
        """Wait until something is so."""
        wait_until(condition, lambda: f"service {self.service.events[-3:]}, heard {self.heard[-3:]}, errors {self.errors}", work=work)

    @property
    def errors(self) -> list[str]:
        """What the consensus module's error log has."""
        return [error.text for error in read_errors(self.module.agent._mark_file.error_log_buffer)]

    def counter(self, kind: CounterType) -> int:
        """Return the value of a counter of the consensus module."""
        return self.module.agent.core.counter_value(kind)
