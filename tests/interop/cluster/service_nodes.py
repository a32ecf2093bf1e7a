"""Official nodes whose services run in the test's process: a driver, an archive, a consensus module and a client in one process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aerowire.cluster.services import ClusteredServiceContainer
from tests.interop.harness import PATIENT_MS, Bench
from tests.support.processes import LIMIT_S, Process, free_port, wait_for_driver

PROPERTIES = {
    "aeron.threading.mode": "SHARED",
    "aeron.archive.threading.mode": "SHARED",
    "aeron.dir.delete.on.start": "true",
    "aeron.dir.delete.on.shutdown": "true",
    "aeron.term.buffer.sparse.file": "true",
    "aeron.driver.timeout": PATIENT_MS,
    "aeron.client.liveness.timeout": "60s",
    "aeron.publication.unblock.timeout": "61s",
    "aeron.archive.segment.file.length": "1m",
    "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
    "aeron.cluster.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
    "aeron.cluster.ingress.channel": "aeron:udp?term-length=64k",
    "aeron.cluster.log.channel": "aeron:ipc?term-length=1m",
    "aeron.cluster.session.timeout": "60s",
    "aeron.cluster.termination.timeout": "20s",
}
_PORTS = ("ingress", "consensus", "log", "catchup", "archive")


class ServiceNode:
    """One official node. A stop and a start keep its directories and ports."""

    def __init__(self, bench: Bench, service_count: int = 1, properties: Mapping[str, str] | None = None) -> None:
        self.bench = bench
        self.directory = bench.workshop.memory / "node"
        self.aeron_dir = bench.workshop.memory / "driver"
        self.ports = {name: f"127.0.0.1:{free_port()}" for name in _PORTS}
        self.properties = {
            **PROPERTIES,
            "aeron.dir": str(self.aeron_dir),
            "aeron.archive.dir": str(self.directory / "archive"),
            "aeron.archive.control.channel": f"aeron:udp?endpoint={self.ports['archive']}",
            "aeron.cluster.dir": str(self.cluster_dir),
            "aeron.cluster.members": "0," + ",".join(self.ports[name] for name in _PORTS),
            "aeron.cluster.service.count": str(service_count),
            **(properties or {}),
        }
        self.process: Process | None = None
        self._kept: list[dict[str, Any]] = []

    @property
    def cluster_dir(self) -> Path:
        return self.directory / "cluster"

    def start(self, *service_ids: int) -> None:
        """Start the node, with official containers of these services."""
        services = f"services={' '.join(map(str, service_ids))}"
        command = self.bench.java.command("ServiceNode", services, properties=self.properties)
        self.process = self.bench.workshop.start("official node", command)
        wait_for_driver(self.aeron_dir, self.process)

    def launch(self, service: object, **options: Any) -> ClusteredServiceContainer:
        """Launch our container for a service of the node."""
        return ClusteredServiceContainer.launch(
            service,
            aeron_dir=self.aeron_dir,
            cluster_dir=str(self.cluster_dir),
            environ={"AERON_DRIVER_TIMEOUT": PATIENT_MS},
            **options,
        )

    def obey(self, command: str, event: str) -> dict[str, Any]:
        """Send a command to the node, and return its answer; `take` returns the events before it."""
        assert self.process is not None
        assert self.process.popen.stdin is not None
        self.process.popen.stdin.write(f"{command}\n".encode())
        self.process.popen.stdin.flush()
        return self.await_event(event)

    def await_event(self, name: str) -> dict[str, Any]:
        """Return the next event of a name, and keep those before it."""
        assert self.process is not None
        while (found := self.process.result(LIMIT_S))["event"] != name:
            self._kept.append(found)
        return found

    def take(self, name: str) -> list[dict[str, Any]]:
        """Return the events of a name that were read on the way to others, once."""
        found = [event for event in self._kept if event["event"] == name]
        self._kept = [event for event in self._kept if event["event"] != name]
        return found

    def connect(self) -> int:
        """Connect the official client; return its session."""
        session: int = self.obey(f"connect 0={self.ports['ingress']}", "connected")["session"]
        return session

    def send(self, *texts: str) -> None:
        """Send messages by the client."""
        for text in texts:
            self.obey(f"send {text}", "sent")

    def egress(self, count: int) -> list[str]:
        """Wait for so many messages to the client, and return their texts."""
        self.obey(f"poll {count}", "polled")
        return [event["text"] for event in self.take("egress")]

    def stop(self) -> None:
        """End the node in order."""
        assert self.process is not None
        self.process.finish()
        self.process = None
