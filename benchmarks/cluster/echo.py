#!/usr/bin/env python3
"""Echoes of a cluster beside the official one: round trips, and messages a second with many in flight.

    python -m benchmarks.cluster.echo [--runs N] [--only NAME] [--client official|aerowire] [--alone]

The sides take turns, and only one runs at a time. A member is a process with one thread each for driver, archive, consensus module and
service, in which all agents idle by back-off; a service of each language answers each message of 100 bytes with itself. The client is the
same for both sides, the official one unless `--client aerowire` is given, in a process of its own on a driver of ours in another one; it
polls, and yields between two polls. On a machine with few cores all these processes share them, and the figures are those of the whole
group. Clusters of three members and of one are measured, and of three at sync level 1; files are in a directory of the system's for
temporary ones unless `--directory` is given.

Bars, as ratios of medians: p50 and p99 of the round trips of three members at most 2, where 1.2 is aimed at; at least 0.4 times as many
messages a second, where 0.8 is aimed at; p50 of one member at most 2. The rest is shown. Returns 1 when a bar is missed. Needs java and the
official jar, as `make interop` does; with `--alone` only this side is measured, by our client.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bars import judge, medians, scatter
from benchmarks.cluster.clusters import SIDES, STALL_LIMIT_S, ClusterSettings, running_cluster
from benchmarks.drivers import IDLE_STRATEGIES, running_driver
from benchmarks.virtual_machine import find_fast_java
from tests.interop.harness import Java, Side

# What is measured -> how it is shown, in which unit, and what a unit is in that of the client.
FIGURES = {"p50_us": ("p50", "us", 1.0), "p99_us": ("p99", "us", 1.0), "messages_per_s": ("throughput", "k/s", 1e3)}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One kind of cluster, and the bars of its figures: at most, or for the throughput at least."""

    name: str
    members: int
    sync_level: int = 0
    bars: tuple[tuple[str, float], ...] = ()


MEASUREMENTS = (
    Measurement(name="three-nodes", members=3, bars=(("p50_us", 2.0), ("p99_us", 2.0), ("messages_per_s", 0.4))),
    Measurement(name="three-nodes-sync", members=3, sync_level=1),
    Measurement(name="one-node", members=1, bars=(("p50_us", 2.0),)),
)


def measure(side: Side, measurement: Measurement, given: argparse.Namespace, java: Java | None) -> dict[str, float]:
    """Run a cluster and its client once; return what the client has found."""
    settings = ClusterSettings(members=measurement.members, sync_level=measurement.sync_level, idle=given.idle, one_thread=given.one_thread)
    with (
        running_cluster(side, java, given.directory, settings) as cluster,
        running_driver("aerowire", None, threading="SHARED", idle=given.idle) as aeron_dir,
    ):
        return run_client(java if given.client == "official" else None, aeron_dir, cluster.ingress_endpoints, given)


def run_client(java: Java | None, aeron_dir: Path, ingress_endpoints: str, given: argparse.Namespace) -> dict[str, float]:
    """Run a client, the official one with `java`, until it has measured."""
    numbers = (given.length, given.warmup, given.round_trips, given.messages, given.in_flight)
    arguments = (str(aeron_dir), ingress_endpoints, *map(str, numbers))
    command = [sys.executable, "-m", "benchmarks.cluster.load", *arguments] if java is None else java.command("ClusterLoad", *arguments)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, timeout=10 * STALL_LIMIT_S)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def announce(what: str, run: int, runs: int) -> None:
    """Say on the error stream what is measured now, which takes a while."""
    print(f"run {run + 1} of {runs}: {what}", file=sys.stderr, flush=True)


def report(measurement: Measurement, results: dict[Side, dict[str, list[float]]]) -> bool:
    """Print the figures of a kind of cluster; return whether all its bars are reached."""
    bars, reached = dict(measurement.bars), True
    for name, (label, unit, divisor) in FIGURES.items():
        rows = {side: [value / divisor for value in found[name]] for side, found in results.items()}
        middle = medians(rows)
        shown = ", ".join(f"{side} {middle[side]:.1f} {unit} ({scatter(rows[side])})" for side in rows)
        text, bar = f"{measurement.name}, {label}: {shown}", bars.get(name)
        if len(middle) < len(SIDES):
            print(text, flush=True)
        elif bar is None:
            print(f"{text}, ratio {middle['aerowire'] / middle['official']:.2f}", flush=True)
        else:
            is_rate, ratio = name == "messages_per_s", middle["aerowire"] / middle["official"]
            reached &= judge(text, ratio, least=bar if is_rate else None, most=None if is_rate else bar)
    return reached


def add_load_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the scripts share that let a client send messages and wait for their answers."""
    parser.add_argument("--runs", type=int, default=3, help="runs of each side of which the median is taken (default: 3)")
    parser.add_argument("--length", type=int, default=100, help="bytes of a message (default: 100)")
    parser.add_argument("--warmup", type=int, default=5_000, help="round trips before those that count (default: 5000)")
    parser.add_argument("--round-trips", type=int, default=5_000, help="round trips that are measured (default: 5000)")
    parser.add_argument("--messages", type=int, default=100_000, help="messages of the throughput, sent twice (default: 100000)")
    parser.add_argument("--in-flight", type=int, default=1_000, help="messages that wait for their answers at a time (default: 1000)")
    parser.add_argument("--idle", choices=list(IDLE_STRATEGIES), default="backoff", help="how all agents idle (default: backoff)")
    parser.add_argument("--one-thread", action="store_true", help="the native agents of a member of ours share a thread")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_load_arguments(parser)
    parser.add_argument("--only", choices=[one.name for one in MEASUREMENTS], help="measure one kind of cluster")
    parser.add_argument("--client", choices=SIDES, default="official", help="whose client measures (default: official)")
    parser.add_argument("--alone", action="store_true", help="measure only this side, by our client")
    given = parser.parse_args()
    java = None if given.alone else find_fast_java()
    sides: tuple[Side, ...] = ("aerowire",) if given.alone else SIDES
    if given.alone:
        given.client = "aerowire"
    reached = True
    for measurement in MEASUREMENTS:
        if given.only in {None, measurement.name}:
            results: dict[Side, dict[str, list[float]]] = {side: defaultdict(list) for side in sides}
            for run in range(given.runs):
                for side in sides:
                    announce(f"{measurement.name}, {side}", run, given.runs)
                    for name, value in measure(side, measurement, given, java).items():
                        results[side][name].append(value)
            reached &= report(measurement, results)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
