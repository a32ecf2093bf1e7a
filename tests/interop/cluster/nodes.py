"""Official clusters of the interop suite: each member is a process with a driver, an archive, a consensus module and a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aerowire.cluster import AeronCluster
from tests.interop.harness import PATIENT_MS, Driver
from tests.interop.scenarios import Scenario
from tests.support.processes import Process, free_port, wait_for_driver

EGRESS = "aeron:udp?endpoint=127.0.0.1:0"
# An election takes some hundred milliseconds; followers miss their leader after a second.
QUICK = {
    "aeron.cluster.leader.heartbeat.timeout": "1s",
    "aeron.cluster.leader.heartbeat.interval": "100ms",
    "aeron.cluster.election.timeout": "250ms",
    "aeron.cluster.election.status.interval": "50ms",
    "aeron.cluster.startup.canvass.timeout": "2s",
    "aeron.cluster.termination.timeout": "2s",
}
SMALL = {
    "aeron.threading.mode": "SHARED",
    "aeron.archive.threading.mode": "SHARED",
    "aeron.dir.delete.on.start": "true",
    "aeron.dir.delete.on.shutdown": "true",
    "aeron.term.buffer.sparse.file": "true",
    "aeron.driver.timeout": PATIENT_MS,
    "aeron.timer.interval": "100ms",
    "aeron.publication.linger.timeout": "100ms",
    "aeron.image.liveness.timeout": "2s",
    "aeron.archive.segment.file.length": "1m",
    "aeron.cluster.log.channel": "aeron:udp?term-length=1m",
}
ENDPOINTS = ("ingress", "consensus", "log", "catchup", "archive")


@dataclass
class Member:
    """One member: its process, its directories and its endpoints, by their names in ENDPOINTS."""

    member_id: int
    directory: Path
    aeron_dir: Path
    ports: dict[str, str]
    process: Process | None = None

    def kill(self) -> None:
        """End the member by SIGKILL."""
        assert self.process is not None
        self.process.popen.kill()
        self.process.popen.wait()

    def stop(self) -> None:
        """End the member in order."""
        assert self.process is not None
        self.process.stop()

    @property
    def driver(self) -> Driver:
        assert self.process is not None
        return Driver("official", self.aeron_dir, self.process)


class Cluster:
    """An official cluster. Members keep their ports and directories over a stop and a start. `program` runs an official member."""

    program = "ClusterNode"

    def __init__(self, scenario: Scenario, size: int, properties: Mapping[str, str] | None = None) -> None:
        self._scenario = scenario
        self._properties = dict(properties or {})
        memory = scenario.bench.workshop.memory
        self.members = [
            Member(
                number,
                memory / f"member-{number}",
                memory / f"member-{number}-driver",
                {name: f"127.0.0.1:{free_port()}" for name in ENDPOINTS},
            )
            for number in range(size)
        ]

    @property
    def ingress_endpoints(self) -> str:
        return ",".join(f"{member.member_id}={member.ports['ingress']}" for member in self.members)

    def start(self, *members: Member) -> None:
        """Start these members, or all, and wait for their drivers."""
        for member in members or self.members:
            self.launch(member)
        for member in members or self.members:
            assert member.process is not None
            wait_for_driver(member.aeron_dir, member.process)

    def connect(self, **options: Any) -> AeronCluster:
        """Connect our client."""
        return AeronCluster.connect(**self.options(**options))

    def options(self, **options: Any) -> dict[str, Any]:
        """Return the options of a client: by UDP and to all members unless `options` say otherwise; None takes one away."""
        given = {
            "ingress_channel": "aeron:udp?term-length=64k",
            "ingress_endpoints": self.ingress_endpoints,
            "egress_channel": EGRESS,
            "message_timeout_ns": "60s",
            "environ": {"AERON_DRIVER_TIMEOUT": PATIENT_MS},
            **options,
        }
        return {name: value for name, value in given.items() if value is not None}

    def stop(self) -> None:
        """End all members that run."""
        for member in self.members:
            if member.process is not None:
                member.process.popen.terminate()
        for member in self.members:
            if member.process is not None:
                member.process.stop()

    def launch(self, member: Member) -> None:
        """Start a member without waiting for it."""
        members = "|".join(",".join((str(other.member_id), *(other.ports[name] for name in ENDPOINTS))) for other in self.members)
        given = {
            **SMALL,
            **QUICK,
            "aeron.dir": str(member.aeron_dir),
            "aeron.archive.dir": str(member.directory / "archive"),
            "aeron.archive.control.channel": f"aeron:udp?endpoint={member.ports['archive']}",
            "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
            "aeron.cluster.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
            "aeron.cluster.dir": str(member.directory / "cluster"),
            "aeron.cluster.member.id": str(member.member_id),
            "aeron.cluster.members": members,
            "aeron.cluster.ingress.channel": "aeron:udp?term-length=64k",
            **self._properties,
        }
        member.process = self._scenario.bench.workshop.start(f"member {member.member_id}", self._command(member, given))

    def _command(self, _member: Member, properties: Mapping[str, str]) -> list[str]:
        """Return the command that runs a member."""
        return self._scenario.bench.java.command(self.program, properties=properties)
