#!/usr/bin/env python3
"""The start of a cluster member with a long log: replayed through its service, or passed over by a snapshot, beside the official one.

    python -m benchmarks.cluster.replay [--messages N] [--length BYTES] [--runs N] [--only WAY] [--alone]

The log has 10 million messages of 100 bytes in one session, and is written once; each start has a copy of its own. The member is the only
one of its cluster, and a process with one thread each for driver, archive, consensus module and service, which idle by back-off and share
the machine's cores; the sides take turns. The service counts messages and bytes: in Python by message and by batch, in Java by message. The
rate is that of the service, from the opening of the session to the last message; the processor time of the whole process is shown beside.

Then a snapshot is taken behind the log, and the member ends in order and starts again: the time is that from the start of the process
until the member leads, its service restored. All files are in the page cache, as they were written or read just before.

Bars: at least 300,000 messages a second by message, 2 million by batch; from the snapshot in at most 2 s. Returns 1 when one is missed.
Needs java and the official jar, as `make interop` does; with `--alone` only this side is measured.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from benchmarks.bars import judge, medians, scatter
from benchmarks.cluster.clusters import STALL_LIMIT_S, ClusterSettings, RunningCluster, cluster_workshop
from benchmarks.cluster.logs import copy_member_log, write_member_log
from benchmarks.virtual_machine import find_fast_java
from tests.interop.harness import Java, Side
from tests.support.processes import Workshop

REPLAY_LIMIT_S = 10 * STALL_LIMIT_S
SNAPSHOT_MOST_S = 2.0
OFFICIAL = "official"


class Way(NamedTuple):
    """How a log is replayed: the side, the kind of service, and the least messages a second that are asked for."""

    side: Side
    service: str
    least: float | None = None


WAYS = {
    OFFICIAL: Way("official", "counter"),
    "by-message": Way("aerowire", "counter", 300e3),
    "by-batch": Way("aerowire", "batch counter", 2e6),
}


class Figures(NamedTuple):
    """Of one start: messages a second, and microseconds of processor time for each; the seconds of a start from the snapshot."""

    rate: float
    processor_us: float
    restart_s: float


def measure(way: Way, java: Java | None, workshop: Workshop, log: Path, place: Path) -> Figures:
    """Replay a copy of the log, take a snapshot, and start from it."""
    cluster = RunningCluster(workshop, way.side, java, place, ClusterSettings(members=1, service=way.service))
    member = cluster.members[0]
    copy_member_log(log, member.directory)
    try:
        cluster.start()
        assert member.process is not None
        found = member.process.event("replayed", REPLAY_LIMIT_S)
        cluster.leader_of()
        command = [sys.executable, "-m", "aerowire.tools.main", "cluster", "snapshot", str(member.directory / "cluster")]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=STALL_LIMIT_S)
        cluster.stop()
        begin = time.monotonic()
        cluster.start()
        restored = member.process.event("restored", STALL_LIMIT_S)
        cluster.leader_of()
        restart_s = time.monotonic() - begin
    finally:
        cluster.stop()
        shutil.rmtree(member.directory)
    if restored["messages"] != found["messages"]:
        raise RuntimeError(f"{restored['messages']} messages in the snapshot of {found['messages']}")
    return Figures(found["messages"] / found["seconds"], found["processor_seconds"] / found["messages"] * 1e6, restart_s)


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="starts of each kind of which the median is taken (default: 3)")
    parser.add_argument("--messages", type=int, default=10_000_000, help="messages in the log (default: 10000000)")
    parser.add_argument("--length", type=int, default=100, help="bytes of a message (default: 100)")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured; the default log takes 2 GB")
    parser.add_argument("--alone", action="store_true", help="measure only this side")
    parser.add_argument("--only", choices=list(WAYS), help="measure one way of replaying")
    given = parser.parse_args()
    java = None if given.alone else find_fast_java()
    ways = {name: way for name, way in WAYS.items() if (way.side == "aerowire" or java is not None) and given.only in {None, name}}
    found: dict[str, list[Figures]] = defaultdict(list)
    with cluster_workshop(given.directory) as (workshop, folder):
        write_member_log(folder / "log", messages=given.messages, length=given.length)
        for _ in range(given.runs):
            for name, way in ways.items():
                found[name].append(measure(way, java, workshop, folder / "log", folder))
    return report(found)


def report(found: dict[str, list[Figures]]) -> int:
    """Print what was found; return the exit code."""
    reached = True
    rates, costs, restarts = ({name: [row[index] for row in rows] for name, rows in found.items()} for index in range(3))
    rate, cost, restart = medians(rates), medians(costs), medians(restarts)
    for name, rows in rates.items():
        least = WAYS[name].least
        is_compared = name != OFFICIAL and OFFICIAL in found
        beside = f", {rate[name] / rate[OFFICIAL]:.2f} times the official" if is_compared else ""
        text = f"replay, {name}: {cost[name]:.2f} us of processor time a message ({scatter(rows)}){beside}"
        if least is None:
            print(f"{text}, M/s: {rate[name] / 1e6:.2f}", flush=True)
        else:
            reached &= judge(text, rate[name] / 1e6, least=least / 1e6, unit="M/s:")
    for name, rows in restarts.items():
        text = f"start from a snapshot, {name} ({scatter(rows)})"
        if name == OFFICIAL:
            print(f"{text}, s: {restart[name]:.2f}", flush=True)
        else:
            reached &= judge(text, restart[name], most=SNAPSHOT_MOST_S, unit="s:")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
