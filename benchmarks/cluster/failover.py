#!/usr/bin/env python3
"""Leaders of a cluster of three that are killed: how soon the cluster serves again, and the killed member is back in the log.

    python -m benchmarks.cluster.failover [--kills N] [--official-kills N] [--alone]

Each member is a process with one thread each for driver, archive, consensus module and an echo service, which idle by back-off; our client
is in this process, on a driver of ours in a process of its own, and sends a number every 5 ms. All processes share the machine's
cores. Leaders are missed after a heartbeat timeout of 1 s, with heartbeats every 100 ms; the election timeout is 250 ms.

The leader's process gets SIGKILL. Serving again is the time until the first answer to a number that was sent after that. Then the
member's process is started again, ours at once, an official one when its mark file is 10 s old, before which it refuses to start; back in
the log is the time from this start until the member follows the leader, with its log committed up to where the leader's was at the start.
The next kill comes after that. The same is measured with the official cluster, with fewer kills.

Bars of ours: serving again after less than 1.3 s in the median, never after more than 2 s; back in the log in less than 2 s, in the median.
Returns 1 when one is missed. Needs java and the official jar, as `make interop` does; with `--alone` only this side is measured.
"""

from __future__ import annotations

import argparse
import statistics
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from aerowire.client import Header
from aerowire.cluster import AeronCluster
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.codecs.tables.counters import CounterType
from benchmarks.bars import judge
from benchmarks.cluster.clusters import SIDES, ClusterSettings, RunningCluster, running_cluster, state_of, wait
from benchmarks.drivers import running_driver
from benchmarks.virtual_machine import find_fast_java
from tests.interop.cluster.nodes import Member
from tests.interop.harness import Java, Side

SERVING_BAR_S, SERVING_MOST_S, BACK_BAR_S = 1.3, 2.0, 2.0
HEARTBEATS = {"aeron.cluster.leader.heartbeat.timeout": "1s"}
SEND_INTERVAL_S = 0.005
REST_S = 0.0002
NUMBER = struct.Struct("<q")


class Kill(NamedTuple):
    """The seconds from a kill until the cluster served again, and from the start of the killed member until it was back."""

    serving_s: float
    back_s: float


class Pulse:
    """A client that sends numbers all the time. Invariant: `answered` is the highest number that came back."""

    def __init__(self, aeron_dir: Path, ingress_endpoints: str) -> None:
        self.sent = self.answered = 0
        self.sessions = 0
        self._next_send = 0.0
        self._connect: Callable[[], AeronCluster] = lambda: AeronCluster.connect(
            aeron_dir=aeron_dir,
            ingress_channel="aeron:udp?term-length=64k",
            ingress_endpoints=ingress_endpoints,
            egress_channel="aeron:udp?endpoint=127.0.0.1:0",
            egress_listener=self._on_message,
            message_timeout_ns="10s",
            new_leader_timeout_ns="30s",
        )
        self._cluster: AeronCluster | None = None

    def beat(self) -> None:
        """Send a number if one is due, read what has come, and rest a moment; open a session where there is none."""
        if self._cluster is None or self._cluster.is_closed:
            self._cluster = self._connect()
            self.sessions += 1
        now = time.monotonic()
        if now >= self._next_send and self._cluster.offer(NUMBER.pack(self.sent + 1)) > 0:
            self.sent += 1
            self._next_send = now + SEND_INTERVAL_S
        if self._cluster.poll_egress() == 0:
            time.sleep(REST_S)

    def await_answer(self) -> None:
        """Wait for the answer to a number that is yet to be sent."""
        before = self.sent
        wait(lambda: self.answered > before, "an answer of the cluster", self.beat)

    def close(self) -> None:
        """Close the session."""
        if self._cluster is not None:
            self._cluster.close()

    def _on_message(self, _session_id: int, _timestamp: int, buffer: memoryview, offset: int, _length: int, _header: Header, /) -> None:
        self.answered = max(self.answered, NUMBER.unpack_from(buffer, offset)[0])


def kill_leader(cluster: RunningCluster, pulse: Pulse) -> Kill:
    """Kill the leader of a complete cluster, and start it again."""
    leader = cluster.leader_of(idle=pulse.beat)
    pulse.await_answer()
    killed = cluster.kill(leader)
    pulse.await_answer()
    serving_s = time.monotonic() - killed
    others = [member for member in cluster.members if member is not leader]
    position = state_of(cluster.leader_of(others, pulse.beat))[CounterType.CLUSTER_COMMIT_POSITION]
    started = time.monotonic()
    cluster.start(leader)
    wait(lambda: is_back(leader, position), "the killed member", pulse.beat)
    return Kill(serving_s, time.monotonic() - started)


def is_back(member: Member, position: int) -> bool:
    """Return whether a member follows a leader, and has committed its log up to a position."""
    state = state_of(member)
    return (
        state.get(CounterType.CLUSTER_ELECTION_STATE) == ElectionState.CLOSED
        and state.get(CounterType.CLUSTER_NODE_ROLE) == ClusterRole.FOLLOWER
        and state.get(CounterType.CLUSTER_COMMIT_POSITION, -1) >= position
    )


def measure(side: Side, java: Java | None, kills: int, directory: str | None) -> list[Kill]:
    """Run a cluster and kill its leaders."""
    settings = ClusterSettings(properties=HEARTBEATS)
    with (
        running_cluster(side, java, directory, settings) as cluster,
        running_driver("aerowire", None, threading="SHARED", idle="backoff") as aeron_dir,
    ):
        pulse = Pulse(aeron_dir, cluster.ingress_endpoints)
        found = [kill_leader(cluster, pulse) for _ in range(kills)]
        pulse.close()
        print(f"{side}: leaders killed {kills}, numbers answered {pulse.answered}, sessions opened {pulse.sessions}", flush=True)
    return found


def describe(side: Side, figures: list[float]) -> str:
    """Return the median and the range of some seconds."""
    return f"{side} {statistics.median(figures):.2f} s ({min(figures):.2f} to {max(figures):.2f})"


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="kills of our leaders (default: 100)")
    parser.add_argument("--official-kills", type=int, default=10, help="kills of official leaders (default: 10)")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")
    parser.add_argument("--alone", action="store_true", help="measure only this side")
    given = parser.parse_args()
    java = None if given.alone else find_fast_java()
    kills: dict[Side, int] = {"official": given.official_kills, "aerowire": given.kills}
    sides: tuple[Side, ...] = ("aerowire",) if given.alone else SIDES
    found = {side: measure(side, java, kills[side], given.directory) for side in sides}
    serving, back = ({side: [kill[index] for kill in rows] for side, rows in found.items()} for index in range(2))
    own = serving["aerowire"]
    text = ", ".join(describe(side, figures) for side, figures in serving.items())
    reached = judge(f"serving again: {text}", statistics.median(own), most=SERVING_BAR_S, unit="median, s")
    reached &= judge("serving again, the slowest of ours", max(own), most=SERVING_MOST_S, unit="s")
    text = ", ".join(describe(side, figures) for side, figures in back.items())
    reached &= judge(f"back in the log: {text}", statistics.median(back["aerowire"]), most=BACK_BAR_S, unit="median, s")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
