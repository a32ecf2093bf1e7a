#!/usr/bin/env python3
"""Echoes of our cluster of three beside puts of an etcd cluster of three, in one run.

    python -m benchmarks.cluster.etcd [--runs N] [--directory DIR]

Both keep 100 bytes at a majority of three members before they answer: our echo service a message in the log, etcd a value of a key. Each
member is a process, and so is each client: ours in Python, on a driver of ours in one more process, and etcd's own in Go, connected to the
leader. All share the machine's cores; the sides take turns. One message is in flight for the round trips, 1,000 for the throughput, in etcd
by as many goroutines. They are compared where both promise the same: our sync level 0 with etcd's `--unsafe-no-fsync`, where the system has
the data, and sync level 1 with etcd as it comes, where the disk has it.

Bars, without syncs: p50 of etcd at least 3 times ours, at least 5 times as many messages a second, where 10 are aimed at. With syncs the
ratios are shown. Returns 1 when one is missed, 2 where there is no etcd: Go builds it from its modules at the first run, as a dependency of
this script alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

from benchmarks.bars import judge, medians, scatter
from benchmarks.cluster.clusters import ClusterSettings, running_cluster
from benchmarks.cluster.echo import add_load_arguments, announce, run_client
from benchmarks.cluster.etcd_cluster import Etcd, EtcdUnavailableError, find_etcd, load_etcd, running_etcd
from benchmarks.drivers import running_driver

SIDES = ("etcd", "aerowire")
P50_BAR, RATE_BAR = 3.0, 5.0


def measure_own(given: argparse.Namespace, *, is_synced: bool) -> dict[str, float]:
    """Run our cluster and our client once."""
    settings = ClusterSettings(sync_level=int(is_synced), idle=given.idle, one_thread=given.one_thread)
    with (
        running_cluster("aerowire", None, given.directory, settings) as cluster,
        running_driver("aerowire", None, threading="SHARED", idle=given.idle) as aeron_dir,
    ):
        return run_client(None, aeron_dir, cluster.ingress_endpoints, given)


def measure_etcd(etcd: Etcd, given: argparse.Namespace, *, is_synced: bool) -> dict[str, float]:
    """Run etcd and its client once."""
    with running_etcd(etcd, given.directory, is_synced=is_synced) as cluster:
        return load_etcd(etcd, cluster, given.length, given.warmup, given.round_trips, given.messages, given.in_flight)


def report(results: dict[str, dict[str, list[float]]], *, is_synced: bool) -> bool:
    """Print the figures; return whether the bars are reached."""
    kind = "synced" if is_synced else "not synced"
    reached = True
    for name, label, unit, divisor, bar in (("p50_us", "p50", "us", 1.0, P50_BAR), ("messages_per_s", "throughput", "k/s", 1e3, RATE_BAR)):
        rows = {side: [value / divisor for value in found[name]] for side, found in results.items()}
        middle = medians(rows)
        text = f"{kind}, {label}: " + ", ".join(f"{side} {middle[side]:.1f} {unit} ({scatter(rows[side])})" for side in rows)
        ratio = middle["etcd"] / middle["aerowire"] if name == "p50_us" else middle["aerowire"] / middle["etcd"]
        if is_synced:
            print(f"{text}, ratio {ratio:.2f}", flush=True)
        else:
            reached &= judge(text, ratio, least=bar)
    return reached


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_load_arguments(parser)
    given = parser.parse_args()
    try:
        etcd = find_etcd()
    except EtcdUnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    reached = True
    for is_synced in (False, True):
        results: dict[str, dict[str, list[float]]] = {side: defaultdict(list) for side in SIDES}
        for run in range(given.runs):
            announce("synced" if is_synced else "not synced", run, given.runs)
            measured = {"etcd": measure_etcd(etcd, given, is_synced=is_synced), "aerowire": measure_own(given, is_synced=is_synced)}
            for side, found in measured.items():
                for name, value in found.items():
                    results[side][name].append(value)
        reached &= report(results, is_synced=is_synced)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
