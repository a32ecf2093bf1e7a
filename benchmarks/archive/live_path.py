#!/usr/bin/env python3
"""Latency of a UDP stream while a spy records it, beside that of the same stream while it is not recorded.

    python -m benchmarks.archive.live_path [--rounds N] [--rate N] [--seconds S] [--directory DIR]

A stream over loopback at a steady rate, and latency from the time at which a message was due to the time at which it was read. One thread
sends, reads and invokes the driver, so that two cores are enough for it and for an archive in a process of its own, with dedicated agents
and back-off idling; the archive is there all the time. A round is four turns: one without recording, two with, one without. The ratio of a
round is the mean of the turns with to that of the turns without, of p50 and of p99; the median of all rounds counts, and the range in which
the true median lies with a confidence of 95 % is shown, as is that of the two turns without recording to each other: what the machine does
by itself. Bars: p50 and p99 at most 1.05 times those without. Returns 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from aerowire.archive import AeronArchive
from aerowire.archive.client.recording_pos import recording_positions
from aerowire.client import ExclusivePublication, Subscription
from benchmarks.archive.archives import running_archive, wait
from benchmarks.bars import judge
from benchmarks.under_load import driven, send_and_read
from tests.support.processes import free_port

BAR = 1.05
STREAM, RATE, LENGTH, ROUNDS, SECONDS = 1001, 20_000, 288, 15, 1.0
IS_RECORDED = (False, True, True, False)
PERCENTILES = ("p50_us", "p99_us")


class Stream:
    """The stream that is measured, and the archive that records it for a turn."""

    def __init__(self, archive: AeronArchive, channel: str, work: Callable[[], object]) -> None:
        self._archive, self._channel, self._work = archive, channel, work
        self.subscription: Subscription = archive.aeron.add_subscription(channel, STREAM)
        self.publication: ExclusivePublication = archive.aeron.add_exclusive_publication(channel, STREAM)
        self._wait(lambda: self.publication.is_connected and self.subscription.is_connected, "the stream")

    def turn(self, rate: int, seconds: float, *, is_recorded: bool) -> dict[str, float]:
        """Return percentiles of the latency; record the stream meanwhile, or do not."""
        if is_recorded:
            subscription_id = self._archive.start_recording(self._channel, STREAM)
            self._wait(lambda: self._recordings() == 1, "the start of the recording")
        gc.collect()
        gc.disable()
        try:
            found = send_and_read(self.publication, self.subscription, self._work, rate, LENGTH, seconds)
        finally:
            gc.enable()
        if is_recorded:
            counters = self._archive.aeron.counters_reader
            (recording,) = recording_positions(counters)
            position = self.publication.position
            self._wait(lambda: counters.value(recording.counter_id) == position, "the last message in the recording")
            self._archive.stop_recording(subscription_id)
            self._wait(lambda: self._recordings() == 0, "the end of the recording")
            self._archive.purge_recording(recording.recording_id)
        return found

    def _recordings(self) -> int:
        return sum(1 for _ in recording_positions(self._archive.aeron.counters_reader))

    def _wait(self, condition: Callable[[], object], what: str) -> None:
        wait(lambda: self._work() is None and condition(), what)


def confidence(figures: Sequence[float]) -> tuple[float, float]:
    """Return between which of the figures the true median lies with a confidence of 95 %: by the binomial distribution, of any figures."""
    ordered, count = sorted(figures), len(figures)
    below, outside = 0, 0.0
    while (outside := outside + math.comb(count, below) / 2**count) <= 0.025:
        below += 1
    first = max(below - 1, 0)
    return ordered[first], ordered[count - 1 - first]


def show(name: str, turns: Sequence[Sequence[dict[str, float]]]) -> bool:
    """Print and judge one percentile of all rounds."""
    values = [[turn[name] for turn in each] for each in turns]
    ratios = [(second + third) / (first + fourth) for first, second, third, fourth in values]
    without = [row[column] for row in values for column, recorded in enumerate(IS_RECORDED) if not recorded]
    recorded = [row[column] for row in values for column, recorded in enumerate(IS_RECORDED) if recorded]
    low, high = confidence(ratios)
    low_by_itself, high_by_itself = confidence([row[-1] / row[0] for row in values])
    text = f"{name.removesuffix('_us')} without {statistics.median(without):.1f} us, recorded {statistics.median(recorded):.1f} us"
    by_itself = f"{low_by_itself:.2f} to {high_by_itself:.2f} by itself"
    return judge(f"{text}, 95 %: {low:.2f} to {high:.2f}, {by_itself}", statistics.median(ratios), most=BAR)


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of four turns (default: {ROUNDS})")
    parser.add_argument("--rate", type=int, default=RATE, help=f"messages a second (default: {RATE:,})")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"length of a turn (default: {SECONDS:g})")
    parser.add_argument("--directory", default=None, help="a place on the disk to which is recorded")
    given = parser.parse_args()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        aeron, work = stack.enter_context(driven("invoked", None, ""))
        assert work is not None
        aeron_dir = Path(aeron.context.aeron_dir)
        node = stack.enter_context(running_archive(None, "aerowire", aeron_dir, given.directory, segment_file_length="16m"))
        archive = stack.enter_context(node.connect(aeron))
        stream = Stream(archive, channel, work)
        turns = [
            [stream.turn(given.rate, given.seconds, is_recorded=is_recorded) for is_recorded in IS_RECORDED]
            for _ in range(given.rounds + 1)  # the first only warms up
        ][1:]
    verdicts = [show(name, turns) for name in PERCENTILES]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
