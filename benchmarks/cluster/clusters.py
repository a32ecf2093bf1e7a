"""Clusters of either side for the scripts that compare them.

A member is a process with a driver, an archive, a consensus module and a service. Each of these four has one thread for its agents on both
sides, beside the conductors of the clients. Nothing is pinned to a core.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aerowire.codecs.flyweights.cnc import ElectionState
from aerowire.codecs.tables.counters import CounterType
from benchmarks.drivers import AGENTS, IDLE_STRATEGIES
from tests.interop.cluster.mixed import counters_of, is_leading
from tests.interop.cluster.nodes import ENDPOINTS, QUICK, Member
from tests.interop.harness import Java, Side
from tests.interop.mark_files import age
from tests.support.processes import Workshop, free_port, is_ready, open_workshop, wait_for_driver

SIDES: tuple[Side, ...] = ("official", "aerowire")
# How long something may stand still before a measurement is given up, and how often it is looked at.
STALL_LIMIT_S = 120.0
LOOK_S = 0.005
# What is called so here -> the class of benchmarks.cluster.services, and the argument of java/ClusterMember.java.
SERVICES = {"echo": ("Echo", "echo"), "counter": ("Counter", "counter"), "batch counter": ("BatchCounter", "counter")}
PROPERTIES = {
    **QUICK,
    "aeron.cluster.leader.heartbeat.timeout": "10s",
    "aeron.cluster.startup.canvass.timeout": "20s",
    "aeron.threading.mode": "SHARED",
    "aeron.archive.threading.mode": "SHARED",
    "aeron.dir.delete.on.start": "true",
    "aeron.dir.delete.on.shutdown": "true",
    "aeron.term.buffer.sparse.file": "true",
    "aeron.archive.segment.file.length": "64m",
    "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
    "aeron.cluster.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
    "aeron.cluster.ingress.channel": "aeron:udp?term-length=8m",
    "aeron.cluster.log.channel": "aeron:udp?term-length=8m",
}


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """What the members of a cluster have in common; `idle` is a key of IDLE_STRATEGIES, `service` one of SERVICES.

    With `one_thread` the native agents of a member of ours share a thread.
    """

    members: int = 3
    service: str = "echo"
    idle: str = "backoff"
    sync_level: int = 0
    one_thread: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    def to_properties(self) -> dict[str, str]:
        """Return Aeron's properties."""
        levels = ("aeron.archive.file.sync.level", "aeron.archive.catalog.file.sync.level", "aeron.cluster.file.sync.level")
        roles = (*AGENTS, "archive", "archive.recorder", "archive.replayer", "cluster")
        return {
            **PROPERTIES,
            **dict.fromkeys(levels, str(self.sync_level)),
            **{f"aeron.{role}.idle.strategy": IDLE_STRATEGIES[self.idle] for role in roles},
            **self.properties,
        }


class RunningCluster:
    """A cluster. Its members keep their ports and directories over a kill and a start; from `running_cluster`."""

    def __init__(self, workshop: Workshop, side: Side, java: Java | None, place: Path, settings: ClusterSettings) -> None:
        """`place` gets the directories of archives and consensus modules, the workshop's memory those of drivers."""
        self.side = side
        self.settings = settings
        self._workshop, self._java = workshop, java
        self.members = [
            Member(
                number,
                place / f"member-{number}",
                workshop.memory / f"member-{number}",
                {name: f"127.0.0.1:{free_port()}" for name in ENDPOINTS},
            )
            for number in range(settings.members)
        ]

    @property
    def ingress_endpoints(self) -> str:
        """The members' endpoints, as clients take them."""
        return ",".join(f"{member.member_id}={member.ports['ingress']}" for member in self.members)

    def start(self, *members: Member) -> None:
        """Start these members, or all, without waiting for them."""
        for member in members or self.members:
            member.process = self._workshop.start(f"{self.side} member {member.member_id}", self._command(member))

    def leader_of(self, members: Sequence[Member] = (), idle: Callable[[], object] | None = None) -> Member:
        """Wait until these members, or all, are in the term of one of them; return that one."""
        given = members or self.members
        found: list[Member] = []

        def is_elected() -> bool:
            states = [state_of(member) for member in given]
            found[:] = [member for member, state in zip(given, states, strict=True) if is_leading(state)]
            return len(found) == 1 and all(state.get(CounterType.CLUSTER_ELECTION_STATE) == ElectionState.CLOSED for state in states)

        wait(is_elected, "a leader with all its followers", idle)
        return found[0]

    def kill(self, member: Member) -> float:
        """Kill a member, which may be started again at once; return when that was, by the monotonic clock."""
        killed = time.monotonic()
        member.kill()
        if self.side == "official":
            age(member.directory)
        return killed

    def stop(self) -> None:
        """End all members that run."""
        running = [member for member in self.members if member.process is not None]
        for member in running:
            assert member.process is not None
            member.process.popen.terminate()
        for member in running:
            member.stop()

    def _command(self, member: Member) -> list[str]:
        members = "|".join(",".join((str(other.member_id), *(other.ports[name] for name in ENDPOINTS))) for other in self.members)
        properties = {
            **self.settings.to_properties(),
            "aeron.dir": str(member.aeron_dir),
            "aeron.archive.dir": str(member.directory / "archive"),
            "aeron.archive.control.channel": f"aeron:udp?endpoint={member.ports['archive']}",
            "aeron.cluster.dir": str(member.directory / "cluster"),
            "aeron.cluster.member.id": str(member.member_id),
            "aeron.cluster.members": members,
        }
        own, official = SERVICES[self.settings.service]
        if self.side == "official":
            assert self._java is not None, "the official cluster needs Java"
            return self._java.command("ClusterMember", official, properties=properties)
        definitions = (f"-D{name}={value}" for name, value in properties.items())
        command = [sys.executable, "-m", "aerowire.tools.main", "cluster", "start", *definitions]
        if self.settings.one_thread:
            command += ["--threading", "node"]
        return [*command, "--service", f"benchmarks.cluster.services:{own}"]


@contextmanager
def running_cluster(side: Side, java: Java | None, place: str | None, settings: ClusterSettings) -> Iterator[RunningCluster]:
    """Run a cluster with its files in a new directory of `place`, and lend it with a leader."""
    with cluster_workshop(place) as (workshop, folder):
        cluster = RunningCluster(workshop, side, java, folder, settings)
        cluster.start()
        for member in cluster.members:
            assert member.process is not None
            wait_for_driver(member.aeron_dir, member.process)
        cluster.leader_of()
        yield cluster
        cluster.stop()


@contextmanager
def cluster_workshop(place: str | None) -> Iterator[tuple[Workshop, Path]]:
    """Lend a workshop, whose processes end with it, and a new directory of `place`."""
    with tempfile.TemporaryDirectory(prefix="cluster-bench-", dir=place) as folder:
        scratch = Path(folder, "logs")
        scratch.mkdir()
        with open_workshop(scratch) as workshop:
            yield workshop, Path(folder)


def state_of(member: Member) -> dict[int, int]:
    """Return the counters of a member's process by type; none while its driver has none. Raises RuntimeError if the process has ended."""
    process = member.process
    assert process is not None
    if process.popen.poll() is not None:
        raise RuntimeError(f"{process.name} has ended with {process.popen.returncode}: {process.said()}")
    return counters_of(member) if is_ready(member.aeron_dir, process.popen.pid) else {}


def wait(condition: Callable[[], object], what: str, idle: Callable[[], object] | None = None) -> None:
    """Look until a condition is true; between two looks call `idle`, or rest."""
    deadline = time.monotonic() + STALL_LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {STALL_LIMIT_S:g} s: {what}")
        if idle is None:
            time.sleep(LOOK_S)
        else:
            idle()
