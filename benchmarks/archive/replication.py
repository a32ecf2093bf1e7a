#!/usr/bin/env python3
"""Copies of a recording from one archive into another over loopback: two of ours, and two official ones, on the same driver.

    python -m benchmarks.archive.replication [--runs N] [--megabytes N] [--directory DIR]

All four archives run all the time, each in a process of its own with dedicated agents and back-off idling; our client has the sides copy in
turn, and the medians are compared: from the request to the signal of the end, megabytes of the recording a second. Bar: at least 0.9 times
the official archive's. Needs java and the official jar, as `make interop` does. Returns 1 when the bar is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass

from aerowire.archive import AeronArchive
from benchmarks.archive.archives import CONTROL_STREAM, SIDES, Recorded, record, running_archive
from benchmarks.bars import judge, medians, scatter
from benchmarks.drivers import running_driver
from benchmarks.virtual_machine import find_fast_java
from tests.interop.harness import Side

BAR = 0.9
CHANNEL, STREAM, LENGTH = "aeron:ipc?term-length=64m", 1001, 1024


@dataclass(frozen=True)
class Pair:
    """Two archives of a side: where the recording is, and the client of that into which it is copied."""

    source_channel: str
    recorded: Recorded
    target: AeronArchive

    def copy(self) -> float:
        """Copy the recording and delete the copy; return the megabytes a second of the first."""
        begin = time.perf_counter()
        copy = self.target.copy_recording(self.recorded.recording_id, CONTROL_STREAM, self.source_channel)
        seconds = time.perf_counter() - begin
        end = self.target.get_stop_position(copy)
        if end != self.recorded.position:
            raise RuntimeError(f"a copy ended at {end} of {self.recorded.position}")
        self.target.purge_recording(copy)
        return end / 1e6 / seconds


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="copies of each side of which the median is taken (default: 5)")
    parser.add_argument("--megabytes", type=int, default=500, help="size of the recording (default: 500)")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")
    given = parser.parse_args()
    java = find_fast_java()
    rates: dict[Side, list[float]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        aeron_dir = stack.enter_context(running_driver("aerowire", None, threading="SHARED", idle="backoff"))
        pairs: dict[Side, Pair] = {}
        for side in SIDES:
            source, target = (stack.enter_context(running_archive(java, side, aeron_dir, given.directory)) for _ in range(2))
            with source.connect() as archive:
                recorded = record(archive, CHANNEL, STREAM, length=LENGTH, messages=given.megabytes * 1_000_000 // LENGTH)
            pairs[side] = Pair(source.control_channel, recorded, stack.enter_context(target.connect()))
            pairs[side].copy()  # the first only warms up
        for _ in range(given.runs):
            for side, pair in pairs.items():
                rates[side].append(pair.copy())
    middle = medians(rates)
    text = ", ".join(f"{side} {middle[side]:.0f} MB/s ({scatter(rates[side])})" for side in SIDES)
    return 0 if judge(f"replication of {given.megabytes} MB: {text}", middle["aerowire"] / middle["official"], least=BAR) else 1


if __name__ == "__main__":
    sys.exit(main())
