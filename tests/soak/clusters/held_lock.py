"""A service that computes for twenty seconds in one call, in the process of its member, where a follower misses its leader after one.

No leadership, session, image or client is lost, messages go into the log meanwhile, and all are answered, in their order.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from aerowire.client import Header
from aerowire.cluster import AeronCluster, EgressListener
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.ipc.cnc import CncFile
from tests.interop.cluster.mixed import MixedCluster, counters_of
from tests.interop.cluster.nodes import Member
from tests.interop.harness import Bench
from tests.interop.scenarios import Scenario
from tests.soak.bars import Part, Size
from tests.soak.clusters.busy_service import Computation, computation
from tests.soak.clusters.kills import NO_JAVA, OURS
from tests.support.processes import LIMIT_S, open_workshop
from tests.support.waiting import rest

SECONDS = {Size.FULL: 20.0, Size.SMALL: 3.0}
# Sessions, images and clients that show no life for so long are given up: less than the service computes.
PATIENCE = {Size.FULL: "10s", Size.SMALL: "2s"}
PERIOD_S = 0.05  # between a client's messages
PARTS = {
    "lock-at-all": (Computation.LOCK, "all"),
    "lock-at-the-leader": (Computation.LOCK, "leader"),
    "loop-at-the-leader": (Computation.LOOP, "leader"),
}
STEADY = (
    CounterType.CLUSTER_NODE_ROLE,
    CounterType.CLUSTER_LEADERSHIP_TERM_ID,
    CounterType.CLUSTER_ELECTION_COUNT,
    CounterType.CLUSTER_CLIENT_TIMEOUT_COUNT,
)


class BusyCluster(MixedCluster):
    """Three members with the service that computes."""

    def _command(self, _member: Member, properties: Mapping[str, str]) -> list[str]:
        definitions = (f"-D{name}={value}" for name, value in properties.items())
        service = "tests.soak.clusters.busy_service:BusyService"
        return [sys.executable, "-m", "aerowire.tools.main", "cluster", "start", "--service", service, *definitions]


class Talk(EgressListener):
    """A client that sends numbered messages. Changed by `work`: `answers` has what came back."""

    def __init__(self, cluster: BusyCluster, aeron_dir: Path, patience: str) -> None:
        """Connect."""
        self.sent: list[bytes] = []
        self.answers: list[bytes] = []
        options: dict[str, Any] = {"aeron_dir": aeron_dir, "egress_listener": self, "message_timeout_ns": patience}
        self.cluster: AeronCluster = cluster.connect(**options)
        self._next_s = time.monotonic()

    def on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        self.answers.append(bytes(buffer[offset : offset + length]))

    def send(self, message: bytes) -> bool:
        """Send a message if there is room for it."""
        if self.cluster.offer(message) < 0:
            return False
        self.sent.append(message)
        return True

    def work(self) -> None:
        """Read answers, and send a message if it is time for one."""
        self.cluster.poll_egress()
        if time.monotonic() >= self._next_s and self.send(b"message %d" % len(self.sent)):
            self._next_s = time.monotonic() + PERIOD_S

    def hear(self) -> None:
        """Wait for all answers."""
        deadline = time.monotonic() + LIMIT_S
        while len(self.answers) < len(self.sent):
            assert time.monotonic() < deadline, f"{len(self.answers)} of {len(self.sent)} answers"
            self.cluster.poll_egress()
            rest()
        assert self.answers == self.sent


def steady_state(member: Member) -> tuple[int, ...]:
    """Return what must not change of a member: its role, its term, elections, and how many clients and sessions were given up."""
    found = counters_of(member)
    clients = CncFile.map(member.aeron_dir / "cnc.dat").counters_reader().value(SystemCounter.CLIENT_TIMEOUTS)
    return (*(found[kind] for kind in STEADY), clients)


def serve(talks: Sequence[Talk], seconds: float) -> None:
    """Let clients talk for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for talk in talks:
            talk.work()
        rest()


def run(kind: Computation, where: str, size: Size, scratch: Path) -> str:
    """Let a service compute while two clients talk; return what was measured."""
    patience = PATIENCE[size]
    properties = {
        "aeron.cluster.session.timeout": patience,
        "aeron.client.liveness.timeout": patience,
        "aeron.image.liveness.timeout": patience,
    }
    with open_workshop(scratch) as workshop:
        scenario = Scenario(Bench(NO_JAVA, workshop), 0)
        cluster = BusyCluster(scenario, (OURS,) * 3, properties)
        cluster.start()
        leader = cluster.leader_of(cluster.members)
        aeron_dir = scenario.driver(OURS).directory
        one, other = (Talk(cluster, aeron_dir, "30s") for _ in range(2))
        serve((one, other), 0.5)
        before, committed = [steady_state(member) for member in cluster.members], counters_of(leader)[CounterType.CLUSTER_COMMIT_POSITION]
        sessions = [talk.cluster.cluster_session_id for talk in (one, other)]
        sent, begun = len(one.sent) + len(other.sent), time.monotonic()
        assert one.send(computation(kind, where, SECONDS[size]))
        computed = one.sent[-1]
        serve((one, other), SECONDS[size] / 2)
        during = counters_of(leader)[CounterType.CLUSTER_COMMIT_POSITION] - committed
        assert computed not in one.answers
        while computed not in one.answers:
            serve((one, other), PERIOD_S)
            assert time.monotonic() < begun + SECONDS[size] + LIMIT_S, "no answer of the service that computed"
        took_s, count = time.monotonic() - begun, len(one.sent) + len(other.sent) - sent
        serve((one, other), 1.0)
        assert [steady_state(member) for member in cluster.members] == before
        assert cluster.find_leader(cluster.members) is leader
        assert [talk.cluster.cluster_session_id for talk in (one, other)] == sessions
        assert took_s >= SECONDS[size]
        assert during > 0
        for talk in (one, other):
            talk.hear()
            talk.cluster.close()
        cluster.stop()
    return f"while the service computed for {took_s:.1f} s: {count} messages sent, {during:,} bytes committed in half of it"


def parts(size: Size) -> list[Part]:
    """Return the ways to compute; one at small size."""
    chosen = PARTS if size is Size.FULL else {"lock-at-all": PARTS["lock-at-all"]}
    return [Part(name, 1, partial(run, kind, where, size)) for name, (kind, where) in chosen.items()]
