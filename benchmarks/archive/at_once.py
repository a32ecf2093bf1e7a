#!/usr/bin/env python3
"""Twenty recordings and twenty replays at once: what each of them gets, and their sum beside the official archive's.

    python -m benchmarks.archive.at_once [--runs N] [--streams N] [--directory DIR]

Both archives run on the same driver, each in a process of its own with dedicated agents and back-off idling. One client publishes the
streams that are recorded over IPC as fast as each takes them, and reads the replays over IPC, by blocks; a run ends as soon as one stream
has come to its end, and each stream's rate is what it brought until then. The sides take turns. Bars: all streams in sum at least 0.9 times
the official archive's; of ours, the slowest recording and the slowest replay at least half the mean of their kind, in the median of the
runs. How a sum is shared by recordings and replays is shown: on few cores, the client's turns decide it. Needs java and the official jar,
as `make interop` does. Returns 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from aerowire.archive import AeronArchive, ReplayParams
from aerowire.archive.client.recording_pos import find_counter_id_by_recording
from aerowire.client import ExclusivePublication, Subscription
from aerowire.ipc.counters import NULL_COUNTER_ID
from benchmarks.archive.archives import BATCH, SIDES, record, running_archive, wait
from benchmarks.bars import judge, medians, scatter
from benchmarks.drivers import running_driver
from benchmarks.virtual_machine import find_fast_java
from tests.interop.harness import Side

SUM_BAR, SHARE_BAR = 0.9, 0.5
CHANNEL, LENGTH = "aeron:ipc?term-length=2m", 1024
REPLAYED, RECORDED, REPLAYS = 1001, 2001, 3001  # the first stream of each kind
STREAM_BYTES = 48 << 20
BLOCK = 1 << 20
KINDS = ("recordings", "replays")


@dataclass(frozen=True)
class Live:
    """A stream that is being recorded: its publication, its recording, and the counter of that."""

    publication: ExclusivePublication
    recording_id: int
    counter_id: int


class Streams:
    """A client of one archive, which has a stopped recording for each stream to be replayed."""

    def __init__(self, archive: AeronArchive, count: int) -> None:
        self._archive, self._count = archive, count
        self._batch = np.zeros((BATCH // 8, LENGTH), np.uint8)
        messages = STREAM_BYTES // (LENGTH + 32)
        self._recorded = [record(archive, CHANNEL, REPLAYED + number, length=LENGTH, messages=messages) for number in range(count)]
        self._end = self._recorded[0].position

    def run(self) -> dict[str, list[float]]:
        """Record and replay all streams; return the rate of each in MB/s, by kind."""
        with self._recording() as lives, self._replaying() as replays:
            counters = self._archive.aeron.counters_reader
            images = [replay.images[0] for replay in replays]
            begin = time.perf_counter()
            while True:
                found = False
                for live, image in zip(lives, images, strict=True):
                    found |= live.publication.offer_many(self._batch) > 0
                    with image.poll_block(BLOCK) as block:
                        found |= bool(block)
                recorded = [counters.value(live.counter_id) for live in lives]
                replayed = [image.position for image in images]
                if max(*recorded, *replayed) >= self._end:
                    break
                if not found:
                    time.sleep(0)
            seconds = time.perf_counter() - begin
        return {kind: [each / 1e6 / seconds for each in positions] for kind, positions in zip(KINDS, (recorded, replayed), strict=True)}

    @contextmanager
    def _recording(self) -> Iterator[list[Live]]:
        """Lend publications that are recorded; delete the recordings."""
        archive, lives = self._archive, []
        for number in range(self._count):
            continued = archive.add_continued_publication(CHANNEL, RECORDED + number)
            lives.append(Live(continued.publication, continued.recording_id, self._counter_id(continued.recording_id)))
        yield lives
        for live in lives:
            position = live.publication.position
            live.publication.close()
            wait(lambda: archive.get_stop_position(live.recording_id) == position, "the end of a recording")  # noqa: B023 called at once
            archive.purge_recording(live.recording_id)

    def _counter_id(self, recording_id: int) -> int:
        """Return the counter of a recording, which may come after its entry in the catalog."""
        archive, found = self._archive, NULL_COUNTER_ID

        def find() -> bool:
            nonlocal found
            found = find_counter_id_by_recording(archive.aeron.counters_reader, recording_id, archive.archive_id)
            return found != NULL_COUNTER_ID

        wait(find, "the counter of a recording")
        return found

    @contextmanager
    def _replaying(self) -> Iterator[list[Subscription]]:
        """Lend subscriptions to replays; they stand still until they are read."""
        archive = self._archive
        params = ReplayParams(position=0, length=self._end)
        replays = [archive.open_replay(one.recording_id, CHANNEL, REPLAYS + number, params) for number, one in enumerate(self._recorded)]
        wait(lambda: all(replay.subscription.images for replay in replays), "images of the replays")
        yield [replay.subscription for replay in replays]
        for replay in replays:
            archive.stop_replay(replay.replay_session_id)
            replay.subscription.close()


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of each side of which the median is taken (default: 5)")
    parser.add_argument("--streams", type=int, default=20, help="recordings, and replays (default: 20)")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")
    given = parser.parse_args()
    java = find_fast_java()
    rates: dict[Side, list[dict[str, list[float]]]] = {side: [] for side in SIDES}
    with ExitStack() as stack:
        aeron_dir = stack.enter_context(running_driver("aerowire", None, threading="SHARED", idle="backoff"))
        streams: dict[Side, Streams] = {}
        for side in SIDES:
            node = stack.enter_context(running_archive(java, side, aeron_dir, given.directory, segment_file_length="64m"))
            streams[side] = Streams(stack.enter_context(node.connect()), given.streams)
            streams[side].run()  # the first only warms up
        for _ in range(given.runs):
            for side in SIDES:
                rates[side].append(streams[side].run())
    sums = {side: [sum(map(sum, run.values())) for run in runs] for side, runs in rates.items()}
    middle = medians(sums)
    text = ", ".join(f"{side} {middle[side]:.0f} MB/s ({scatter(sums[side])})" for side in SIDES)
    what = f"{given.streams} recordings and {given.streams} replays at once"
    reached = judge(f"{what}, their sum: {text}", middle["aerowire"] / middle["official"], least=SUM_BAR)
    for kind in KINDS:
        parts = medians({side: [sum(run[kind]) for run in rates[side]] for side in SIDES})
        shares = medians({side: [min(run[kind]) / statistics.mean(run[kind]) for run in rates[side]] for side in SIDES})
        text = ", ".join(f"{side} {parts[side]:.0f} MB/s, the slowest {shares[side]:.2f} of the mean" for side in SIDES)
        reached &= judge(f"the {kind} of these: {text}", shares["aerowire"], least=SHARE_BAR)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
