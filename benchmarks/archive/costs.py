#!/usr/bin/env python3
"""What safety costs a recording: sync level 1 beside plain synced writes, and CRC-32C beside no checksum, in turn.

    python -m benchmarks.archive.costs [--runs N] [--only sync|checksum] [--directory DIR]

A stream of 1 KB messages is recorded over IPC, with driver, recorder and publisher in one process and back-off idling. At sync level 1
the recorder writes blocks of at most `file.io.max.length`, here 1 MB, each followed by fdatasync; what it is compared with is a loop of the
same writes and fdatasync calls into a file of the same length. Its space and that of the segment files are reserved beforehand. Bars: at
least 60 % of the loop's rate; a recording with checksums at least 85 % of the rate of one without. Returns 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from aerowire.client import Aeron
from benchmarks.archive.throughput import IO_MAX, SEGMENT, Agents, Measurement, shared_driver
from benchmarks.bars import judge, medians, scatter

LENGTH = 1024
SYNC_BAR, CHECKSUM_BAR = 0.6, 0.85
SYNCED = Measurement(name="sync level 1", length=LENGTH, messages=480_000, sync_level=1, is_preallocated=True)
PLAIN = Measurement(name="no checksum", length=LENGTH, messages=500_000)
CHECKED = Measurement(name="CRC-32C", length=LENGTH, messages=500_000, checksum="CRC-32C")


def plain_writes(directory: Path) -> float:
    """Write and sync a segment file block by block; return the megabytes a second."""
    path, block = directory / "plain", os.urandom(IO_MAX)
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.posix_fallocate(file, 0, SEGMENT)
        begin = time.perf_counter()
        for offset in range(0, SEGMENT, IO_MAX):
            os.pwrite(file, block, offset)
            os.fdatasync(file)
        return SEGMENT / 1e6 / (time.perf_counter() - begin)
    finally:
        os.close(file)
        path.unlink()


def recorder(stack: ExitStack, aeron: Aeron, directory: Path, measurement: Measurement) -> Callable[[], float]:
    """Return a function that records, and returns the megabytes of messages and their headers a second."""
    folder = directory / measurement.name.replace(" ", "-")
    folder.mkdir()
    agents = stack.enter_context(closing(Agents(aeron, folder, measurement)))

    def record() -> float:
        seconds = agents.record()
        agents.delete()
        return agents.stop_position / 1e6 / seconds

    return record


def compare(what: str, works: dict[str, Callable[[], float]], runs: int, least: float) -> bool:
    """Do two things in turn, the first of which is the measure of the second; print and judge their medians."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for run in range(runs + 1):
        for name, work in works.items():
            rate = work()
            if run:  # the first only warms up
                rates[name].append(rate)
    middle = medians(rates)
    base, measured = middle.values()
    text = ", ".join(f"{name} {middle[name]:.0f} MB/s ({scatter(rates[name])})" for name in works)
    return judge(f"{what}: {text}", measured / base, least=least)


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of each of which the median is taken (default: 5)")
    parser.add_argument("--only", choices=("sync", "checksum"), help="measure one of the two")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")
    given = parser.parse_args()
    reached = True
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="archive-bench-", dir=given.directory)))
        aeron = stack.enter_context(shared_driver())
        if given.only != "checksum":
            works = {"plain writes": lambda: plain_writes(directory), SYNCED.name: recorder(stack, aeron, directory, SYNCED)}
            reached &= compare("recording, synced", works, given.runs, SYNC_BAR)
        if given.only != "sync":
            checks = {each.name: recorder(stack, aeron, directory, each) for each in (PLAIN, CHECKED)}
            reached &= compare("recording, checked", checks, given.runs, CHECKSUM_BAR)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
