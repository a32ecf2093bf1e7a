#!/usr/bin/env python3
"""aerowire beside official Java Aeron in one run: driver and client of each, the same channels, threading mode and idle strategy.

    python benchmarks/official.py
    python benchmarks/official.py --runs 5 --only udp

Each measurement starts a driver in its own process and two ends; the sides take turns, and the medians are compared. Needs java and
the official jar (fetched by mvn), as `make interop` does.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from aerowire.tools.measure.measure import BATCH, SINGLE, Plan, measure_latency, measure_throughput
from benchmarks.drivers import running_driver
from benchmarks.virtual_machine import find_fast_java
from tests.interop.harness import Java, Side
from tests.support.processes import free_port

SIDES: tuple[Side, ...] = ("official", "aerowire")
MULTICAST = "224.0.1.3"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One row of the table: what is measured, on which kind of driver, and what is asked of the ratio."""

    name: str
    media: str
    threading: str
    idle: str
    messages: int
    warmup: int = 0
    length: int = 32
    mode: str = SINGLE
    one_thread: bool = False
    p50_most: float = float("inf")
    p99_most: float = float("inf")
    rate_least: float = 0.0

    @property
    def is_latency(self) -> bool:
        """Whether round trips are measured, not messages a second."""
        return self.rate_least == 0.0

    def plan(self, aeron_dir: Path) -> Plan:
        """Return the plan on fresh ports."""
        channel, reply = channels(self.media)
        return Plan(
            channel=channel,
            reply_channel=reply,
            length=self.length,
            messages=self.messages,
            warmup=self.warmup,
            mode=self.mode,
            one_thread=self.one_thread,
            aeron_dir=str(aeron_dir),
        )


MEASUREMENTS = (
    *(
        Measurement(
            name=f"{name} round trip, one thread",
            media=name.casefold(),
            threading="SHARED",
            idle="yielding",
            messages=50_000,
            warmup=20_000,
            one_thread=True,
            p50_most=1.3,
            p99_most=2.0,
        )
        for name in ("UDP", "multicast")
    ),
    Measurement(name="IPC round trip, two processes", media="ipc", threading="SHARED", idle="backoff", messages=200_000, warmup=50_000),
    Measurement(name="IPC 32 B, single calls", media="ipc", threading="SHARED", idle="backoff", messages=20_000_000, rate_least=0.45),
    Measurement(
        name="IPC 32 B, batches", media="ipc", threading="SHARED", idle="backoff", messages=200_000_000, mode=BATCH, rate_least=2.5
    ),
    Measurement(
        name="UDP 32 B, batches, SHARED", media="udp", threading="SHARED", idle="backoff", messages=20_000_000, mode=BATCH, rate_least=1.0
    ),
    Measurement(
        name="UDP 32 B, batches, DEDICATED",
        media="udp",
        threading="DEDICATED",
        idle="backoff",
        messages=20_000_000,
        mode=BATCH,
        rate_least=1.0,
    ),
    Measurement(
        name="UDP 1 KB, DEDICATED",
        media="udp",
        threading="DEDICATED",
        idle="backoff",
        messages=500_000,
        length=1024,
        mode=BATCH,
        rate_least=1.5,
    ),
)


def channels(media: str) -> tuple[str, str]:
    """Return a channel for each direction."""
    if media == "ipc":
        return "aeron:ipc?term-length=4m", "aeron:ipc?term-length=4m"
    host = f"{MULTICAST}" if media == "multicast" else "127.0.0.1"
    extra = "|interface=127.0.0.1" if media == "multicast" else ""
    first, second = (f"aeron:udp?endpoint={host}:{free_port()}{extra}" for _ in range(2))
    return first, second


def run(side: Side, java: Java, measurement: Measurement) -> dict[str, float]:
    """Measure one side once."""
    with running_driver(side, java, threading=measurement.threading, idle=measurement.idle) as directory:
        plan = measurement.plan(directory)
        if side == "aerowire":
            return measure_latency(plan) if measurement.is_latency else measure_throughput(plan)
        return run_official(java, measurement, plan)


def run_official(java: Java, measurement: Measurement, plan: Plan) -> dict[str, float]:
    """Run the official client at both ends, and return what the measuring one said."""
    text = {
        name.replace("_", "-"): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in dataclasses.asdict(plan).items()
    }
    text["dir"] = plan.aeron_dir
    given = [f"{name}={value}" for name, value in text.items()]
    roles = (["ping"] if measurement.one_thread else ["pong", "ping"]) if measurement.is_latency else ["receive", "publish"]
    with ExitStack() as stack:
        ends: dict[str, subprocess.Popen[str]] = {}
        for role in roles:
            process = subprocess.Popen(java.command("Measure", role, *given), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            stack.callback(end, process)
            assert process.stdout is not None
            if process.stdout.readline().strip() != "ready":
                raise RuntimeError(f"official {role} did not start")
            ends[role] = process
        results = {role: json.loads(process.communicate()[0]) for role, process in ends.items()}
    found: dict[str, float] = results["ping" if measurement.is_latency else "receive"]
    return found


def end(process: subprocess.Popen[str]) -> None:
    """Make sure that an end has ended."""
    process.kill()
    process.wait()


def compare(measurement: Measurement, java: Java, runs: int) -> bool:
    """Measure both sides in turn, print their medians and return whether what is asked of the ratio holds."""
    results: dict[Side, list[dict[str, float]]] = {side: [] for side in SIDES}
    for _ in range(runs):
        for side in SIDES:
            results[side].append(run(side, java, measurement))
    median = {side: {name: statistics.median(item[name] for item in items) for name in items[0]} for side, items in results.items()}
    ours, theirs = median["aerowire"], median["official"]
    if measurement.is_latency:
        ratios = [ours[name] / theirs[name] for name in ("p50_us", "p99_us")]
        holds = ratios[0] <= measurement.p50_most and ratios[1] <= measurement.p99_most
        shown = "  ".join(f"{name[:3]} {ours[name]:8.2f} us beside {theirs[name]:8.2f}" for name in ("p50_us", "p99_us"))
        asked = f"{ratios[0]:.2f} and {ratios[1]:.2f} (at most {measurement.p50_most:g} and {measurement.p99_most:g})"
    else:
        ratio = ours["msgs_per_s"] / theirs["msgs_per_s"]
        holds = ratio >= measurement.rate_least
        shown = f"{ours['msgs_per_s'] / 1e6:8.2f} M/s beside {theirs['msgs_per_s'] / 1e6:8.2f} M/s"
        asked = f"{ratio:.2f} (at least {measurement.rate_least:g})"
    verdict = "" if holds else "  MISSED"
    print(f"{measurement.name:34} {measurement.threading:9} {measurement.idle:8} {shown}  ratio {asked}{verdict}", flush=True)
    return holds


def main() -> int:
    """Measure everything and print the table; 1 when a ratio is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="runs of each side, of which the median is taken (default: 3)")
    parser.add_argument("--only", default="", metavar="TEXT", help="measure only what has TEXT in its name")
    chosen = parser.parse_args()
    java = find_fast_java()
    print(f"aerowire beside official Aeron {java.jar.stem.removeprefix('aeron-all-')}, {os.cpu_count()} cores", flush=True)
    selected = [item for item in MEASUREMENTS if chosen.only.casefold() in item.name.casefold()]
    verdicts = [compare(item, java, chosen.runs) for item in selected]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
