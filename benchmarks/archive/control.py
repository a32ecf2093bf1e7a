#!/usr/bin/env python3
"""Requests to an archive, and an archive that is left alone, beside the official one: the same driver, client, threads and idle strategy.

    python -m benchmarks.archive.control [--runs N] [--idle backoff|yield] [--processor]

The official client asks each archive for one thing after another, over UDP, and the medians are compared; with `--processor` the archives
have 20 recordings and no work for ten seconds, and the processor time that they take is. The sides take turns. Returns 1 when a bar is
missed. Needs java and the official jar, as `make interop` does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.archive.archives import SIDES, archive_command, archive_properties
from benchmarks.archive.throughput import MEMORY
from benchmarks.bars import judge, medians
from benchmarks.drivers import running_driver
from benchmarks.virtual_machine import find_fast_java
from tests.interop.harness import Java, Side
from tests.support.processes import free_port

# What this script and ArchiveControl.java call a strategy -> its name in IDLE_STRATEGIES.
STRATEGIES = {"backoff": "backoff", "yield": "yielding"}
# How many times as long as the official archive ours may take.
LATENCY_BARS = {"backoff": 1.5, "yield": 4.0}
PROCESSOR_BAR = 1.0
LISTED = 1000
IDLE_RECORDINGS = 20
IDLE_S = 10.0
CLOCK_TICKS_PER_S = 100


def processor_s(pid: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S


def measure(java: Java, side: Side, idle: str, rounds: int) -> dict[str, float]:
    """Return the median of each operation in microseconds; without rounds an idle archive's processor time, in milliseconds a second."""
    found: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as memory,
        running_driver("aerowire", None, threading="SHARED", idle=STRATEGIES[idle]) as driver_dir,
    ):
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        threading = "SHARED" if rounds else "DEDICATED"
        properties = archive_properties(driver_dir, Path(memory) / "archive", channel, threading=threading, idle=STRATEGIES[idle])
        properties["aeron.archive.segment.file.length"] = "64k"
        archive = subprocess.Popen(archive_command(java, side, properties), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        arguments = (str(driver_dir), channel, idle, str(rounds), str(LISTED), str(IDLE_RECORDINGS))
        client = subprocess.Popen(java.command("ArchiveControl", *arguments), text=True, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        try:
            assert client.stdout is not None
            for line in client.stdout:
                if line.strip() == "idle":
                    break
                name, nanoseconds = line.split()
                found[name] = int(nanoseconds) / 1e3
            else:
                raise RuntimeError("the client has ended before it had asked for everything")
            if not rounds:
                time.sleep(1)
                before = processor_s(archive.pid)
                time.sleep(IDLE_S)
                found["processor"] = (processor_s(archive.pid) - before) / IDLE_S * 1e3
            client.communicate("\n")
        finally:
            for process in (client, archive):
                process.terminate()
                process.wait()
    return found


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--idle", choices=list(STRATEGIES), default="backoff")
    parser.add_argument("--processor", action="store_true", help="measure idle archives")
    given = parser.parse_args()
    java = find_fast_java()
    rows: dict[Side, dict[str, list[float]]] = {side: defaultdict(list) for side in SIDES}
    for _ in range(given.runs):
        for side in SIDES:
            for name, value in measure(java, side, given.idle, 0 if given.processor else given.rounds).items():
                rows[side][name].append(value)
    bar, unit = (PROCESSOR_BAR, "ms/s") if given.processor else (LATENCY_BARS[given.idle], "us")
    failed = False
    for name in rows["official"]:
        middle = medians({side: rows[side][name] for side in SIDES})
        text = ", ".join(f"{side} {middle[side]:.1f} {unit}" for side in SIDES)
        failed |= not judge(f"{name} ({given.idle}): {text}", middle["aerowire"] / middle["official"], most=bar)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
