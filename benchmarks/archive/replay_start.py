#!/usr/bin/env python3
"""The time from the request of a replay until its image, and its first message, are there: our archive beside the official one.

    python -m benchmarks.archive.replay_start [--runs N] [--replays N] [--idle backoff|yielding]

Both archives run on the same driver, each in a process of its own with dedicated agents. One official client, which waits without a rest,
asks them in turn, while the process of the other one is stopped: agents that yield would take the processors from it. A run is so many
replays of each, and the medians of the runs' medians are compared. Bars: neither the image nor the first message takes longer than with
the official archive; the answer to the request is shown too. Needs java and the official jar, as `make interop` does. Returns 1 when a bar
is missed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from contextlib import ExitStack

from benchmarks.archive.archives import SIDES, record, running_archive
from benchmarks.bars import judge, medians, scatter
from benchmarks.drivers import running_driver
from benchmarks.virtual_machine import find_fast_java

BAR = 1.0
STEPS = ("answer", "image", "first message")
CHANNEL, STREAM, LENGTH, MESSAGES = "aeron:ipc?term-length=64k", 1001, 1024, 48


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of which the median is taken (default: 5)")
    parser.add_argument("--replays", type=int, default=300, help="replays of each archive in a run (default: 300)")
    parser.add_argument(
        "--idle", choices=("backoff", "yielding"), default="backoff", help="how archives and driver rest (default: backoff)"
    )
    given = parser.parse_args()
    java = find_fast_java()
    with ExitStack() as stack:
        aeron_dir = stack.enter_context(running_driver("aerowire", None, threading="SHARED", idle=given.idle))
        arguments = [str(aeron_dir), str(given.runs), str(given.replays)]
        for side in SIDES:
            node = stack.enter_context(running_archive(java, side, aeron_dir, None, idle=given.idle, segment_file_length="64k"))
            with node.connect() as archive:
                recorded = record(archive, CHANNEL, STREAM, length=LENGTH, messages=MESSAGES)
            arguments += [node.control_channel, str(recorded.recording_id), str(node.process.pid)]
        done = subprocess.run(java.command("ArchiveReplayStart", *arguments), stdout=subprocess.PIPE, text=True, check=True)
    rows = [[int(text) for text in line.split()] for line in done.stdout.splitlines()]
    reached = True
    for step, name in enumerate(STEPS, 1):
        found = {side: [row[step] / 1e3 for row in rows if row[0] == index] for index, side in enumerate(SIDES)}
        middle = medians(found)
        shown = ", ".join(f"{side} {middle[side]:.0f} us ({scatter(found[side])})" for side in SIDES)
        text = f"replay to its {name} ({given.idle}): {shown}"
        ratio = middle["aerowire"] / middle["official"]
        if name == "answer":
            print(f"{text}, ratio {ratio:.2f}", flush=True)
        else:
            reached &= judge(text, ratio, most=BAR)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
