"""Benchmarks of the cluster at their smallest, without the official side: that they measure, not how fast."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import LIMIT_S

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"\d+\.\d+"
SPREAD = r"\([-+]\d+% to [-+]\d+%\)"
VERDICT = r"\(at (?:least|most) [\d.]+\)(?:  MISSED)?"
EXPECTED = {
    ("cluster.echo", "--alone", "--only", "one-node", "--runs", "1", "--warmup", "5", "--round-trips", "20", "--messages", "200"): (
        rf"one-node, p50: aerowire {NUMBER} us {SPREAD}",
        rf"one-node, p99: aerowire {NUMBER} us {SPREAD}",
        rf"one-node, throughput: aerowire {NUMBER} k/s {SPREAD}",
    ),
    ("cluster.failover", "--alone", "--kills", "1"): (
        r"aerowire: leaders killed 1, numbers answered \d+, sessions opened 1",
        rf"serving again: aerowire {NUMBER} s \({NUMBER} to {NUMBER}\), median, s {NUMBER} {VERDICT}",
        rf"serving again, the slowest of ours, s {NUMBER} {VERDICT}",
        rf"back in the log: aerowire {NUMBER} s \({NUMBER} to {NUMBER}\), median, s {NUMBER} {VERDICT}",
    ),
    ("cluster.replay", "--alone", "--only", "by-batch", "--runs", "1", "--messages", "2000"): (
        rf"replay, by-batch: {NUMBER} us of processor time a message {SPREAD}, M/s: {NUMBER} {VERDICT}",
        rf"start from a snapshot, by-batch {SPREAD}, s: {NUMBER} {VERDICT}",
    ),
    ("cluster.client", "--rounds", "1"): (
        r"messages of 100 bytes, ns each: offer \d+, session offer \d+, poll \d+, egress poll \d+",
        rf"an offer to a cluster to one of a publication, ratio {NUMBER} {VERDICT}",
        rf"a message of an egress to one of a subscription, ratio {NUMBER} {VERDICT}",
    ),
    ("cluster.service", "--rounds", "1"): (
        rf"a service by message {NUMBER} ns, poll with a handler {NUMBER} ns, ratio {NUMBER} {VERDICT}",
        rf"a service by batch {NUMBER} ns, poll_many {NUMBER} ns, ratio {NUMBER} {VERDICT}",
    ),
    ("cluster.ingress", "--runs", "1"): (
        rf"ingress of 100 bytes: agent \d+ ns {SPREAD}, Python \d+ ns {SPREAD}, ratio {NUMBER} {VERDICT}",
    ),
}


def run(module: str, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a benchmark; with `path` it finds programs there alone."""
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        cwd=ROOT,
        env=dict(os.environ) if path is None else {**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("command", EXPECTED, ids=lambda command: command[0])
def test_prints_a_line_for_each_figure(command: tuple[str, ...]) -> None:
    done = run(*command)
    assert done.returncode in {0, 1}, done.stderr  # a bar may be missed here
    lines = done.stdout.splitlines()
    for pattern in EXPECTED[command]:
        assert any(re.fullmatch(pattern, line) for line in lines), f"{pattern}\nin\n{done.stdout}{done.stderr}"


def test_the_comparison_with_etcd_ends_with_2_where_there_is_none() -> None:
    done = run("cluster.etcd", path="/nowhere")
    assert (done.returncode, done.stderr) == (2, "there is no etcd: no go on PATH to build it by\n")
