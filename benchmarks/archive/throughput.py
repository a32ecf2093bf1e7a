#!/usr/bin/env python3
"""Recorder and replayer beside the official archive, in turn: a stream is recorded over IPC, and replayed from the page cache.

    python -m benchmarks.archive.throughput [--runs N] [--only NAME] [--directory DIR]

Each side has driver, archive, publisher and subscriber in one process: a shared driver, dedicated agents and back-off idling. The median
of all rounds is shown for each. Bars: 0.9 times the official archive's rate, where 1.2 is aimed at; 8 million messages of 32 bytes a second
recorded. Returns 1 when one is missed. Needs java and the official jar, as `make interop` does; with `--alone` only this side is measured.

Other bars of the archive, each with a script of its own:

    control       requests, and an archive that is left alone
    replay_start  from the request of a replay to its image
    at_once       20 recordings and 20 replays at once
    replication   copies from archive to archive
    costs         sync level 1 beside plain synced writes; CRC-32C beside none
    live_path     a live stream while a spy records it
    redis         recordings beside a Redis stream
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aerowire.archive.agents.agent_events import AgentEvents
from aerowire.archive.agents.agent_proxies import RecorderProxy, ReplayerProxy
from aerowire.archive.agents.events import RecordingEnded, ReplayEnded
from aerowire.archive.agents.recorder import Recorder
from aerowire.archive.agents.recording_session import RecordingSession
from aerowire.archive.agents.recording_settings import RecordingSettings
from aerowire.archive.agents.replay_session import ReplaySession
from aerowire.archive.agents.replayer import Replayer
from aerowire.archive.agents.transfer_counters import TransferCounters
from aerowire.archive.agents.transfer_settings import TransferSettings
from aerowire.archive.files.checksum import checksum_named
from aerowire.base.idle import BackoffIdleStrategy
from aerowire.base.runner import AgentRunner
from aerowire.client import Aeron
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.codecs.tables.counters import CounterType
from aerowire.driver import Context, MediaDriver
from aerowire.system.clock import SystemClock
from aerowire.system.file_system import FileSystem
from benchmarks.bars import judge, medians
from benchmarks.virtual_machine import find_fast_java

STREAM, REPLAY_STREAM = 1001, 2001
SEGMENT = 128 << 20
IO_MAX = 1 << 20
BATCH = 2048
BAR = 0.9
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One kind of recording."""

    name: str
    length: int
    messages: int
    sync_level: int = 0
    checksum: str = ""
    is_preallocated: bool = False
    streams: int = 1  # at once, which share the messages
    recorded_least: float = 0.0  # messages a second

    @property
    def term_length(self) -> int:
        """Of the streams and their replays. The first use of memory is not what is measured where a recording is short, or one of many."""
        if self.streams > 1:
            return 2 << 20
        return (16 if self.sync_level else 64) << 20

    @property
    def channel(self) -> str:
        """Of the streams and their replays."""
        return f"aeron:ipc?term-length={self.term_length}"

    @property
    def is_replayed(self) -> bool:
        """Whether the replay is a measurement too: it is the same for all recordings of a length."""
        return not self.sync_level and not self.checksum


MEASUREMENTS = (
    Measurement(name="1024", length=1024, messages=500_000),
    Measurement(name="32", length=32, messages=8_000_000, recorded_least=8e6),
    Measurement(name="1024-sync", length=1024, messages=300_000, sync_level=1),
    Measurement(name="1024-crc", length=1024, messages=500_000, checksum="CRC-32C"),
    Measurement(name="20x1024", length=1024, messages=400_000, streams=20),
)


class Agents:
    """Recorder and replayer in threads of their own."""

    def __init__(self, aeron: Aeron, directory: Path, measurement: Measurement) -> None:
        self.aeron, self.directory, self.measurement = aeron, directory, measurement
        files = FileSystem()
        checksum = checksum_named(measurement.checksum)
        self.recording_settings = RecordingSettings(
            files,
            directory,
            file_io_max_length=IO_MAX,
            sync_level=measurement.sync_level,
            checksum=checksum,
            is_preallocated=measurement.is_preallocated,
        )
        self.replay_settings = TransferSettings(files, directory, file_io_max_length=IO_MAX)
        self.events = AgentEvents()
        self.recorder = Recorder(self.events, SystemClock(), TransferCounters())
        self.replayer = Replayer(self.events, SystemClock(), TransferCounters())
        self.runners = [AgentRunner([agent], SystemClock(), BackoffIdleStrategy()).start() for agent in (self.recorder, self.replayer)]

    def close(self) -> None:
        """Stop the threads."""
        for runner in self.runners:
            runner.stop()

    def delete(self) -> None:
        """Delete what was recorded."""
        for path in self.directory.iterdir():
            path.unlink()

    def ended(self, sessions: list[Any]) -> None:
        """Wait for the last event of each session."""
        waiting = set(map(id, sessions))
        while waiting:
            waiting -= {id(event.session) for event in self.events.poll() if isinstance(event, RecordingEnded | ReplayEnded)}
            time.sleep(0.001)

    def record(self) -> float:
        """Record the streams; return the seconds from the first message until the last one was recorded."""
        measurement = self.measurement
        sessions, publications = [], []
        with ExitStack() as stack:
            for number in range(measurement.streams):
                subscription = stack.enter_context(self.aeron.add_subscription(measurement.channel, STREAM + number))
                publication = stack.enter_context(self.aeron.add_exclusive_publication(measurement.channel, STREAM + number))
                counter = stack.enter_context(self.aeron.add_counter(CounterType.ARCHIVE_RECORDING_POSITION, "rec-pos"))
                wait(lambda: publication.is_connected and subscription.images)  # noqa: B023 called at once
                session = RecordingSession(
                    LentImage(subscription.images[0]),
                    LentCounter(counter),
                    self.recording_settings,
                    recording_id=number,
                    start_position=0,
                    term_length=measurement.term_length,
                    segment_length=SEGMENT,
                )
                RecorderProxy(self.recorder).add(session)
                sessions.append(session)
                publications.append(publication)
            self.initial_term_ids = [publication.initial_term_id for publication in publications]
            messages = np.zeros((BATCH, measurement.length), np.uint8)
            left = [measurement.messages // measurement.streams] * measurement.streams
            begin = time.perf_counter()
            while any(left):
                before = sum(left)
                for number, publication in enumerate(publications):
                    if left[number]:
                        left[number] -= max(publication.offer_many(messages[: min(left[number], BATCH)]), 0)
                if sum(left) == before:
                    time.sleep(0)
            wait(lambda: all(session.position == publication.position for session, publication in zip(sessions, publications, strict=True)))
            seconds = time.perf_counter() - begin
            self.stop_position = sessions[0].position
            for session in sessions:
                RecorderProxy(self.recorder).stop(session)
            self.ended(sessions)
        return seconds

    def replay(self) -> float:
        """Replay the streams; return the seconds from the image of the last one until all has been read."""
        measurement = self.measurement
        sessions, images = [], []
        with ExitStack() as stack:
            for number, initial_term_id in enumerate(self.initial_term_ids):
                uri = f"{measurement.channel}|init-term-id={initial_term_id}|term-id={initial_term_id}|term-offset=0"
                publication = stack.enter_context(self.aeron.add_exclusive_publication(uri, REPLAY_STREAM + number))
                session = ReplaySession(
                    LentPublication(publication),
                    self.replay_settings,
                    recording_id=number,
                    position=0,
                    limit_position=self.stop_position,
                    start_position=0,
                    stop_position=self.stop_position,
                    initial_term_id=initial_term_id,
                    stream_id=STREAM + number,
                    term_length=measurement.term_length,
                    segment_length=SEGMENT,
                    connect_timeout_ns=5_000_000_000,
                )
                ReplayerProxy(self.replayer).add(session)
                subscription = stack.enter_context(self.aeron.add_subscription(measurement.channel, REPLAY_STREAM + number))
                wait(lambda: subscription.images)  # noqa: B023 called at once
                sessions.append(session)
                images.append(subscription.images[0])
            begin = time.perf_counter()
            while any(image.position < self.stop_position for image in images):
                found = False
                for image in images:
                    with image.poll_block(IO_MAX) as block:
                        found |= bool(block)
                if not found:
                    time.sleep(0)
            seconds = time.perf_counter() - begin
            self.ended(sessions)
        return seconds


def wait(condition: Callable[[], object]) -> None:
    """Yield until a condition is true."""
    while not condition():
        time.sleep(0)


def measure_own(directory: Path, measurement: Measurement, rounds: int) -> list[tuple[float, float]]:
    """Return the seconds of recording and replay of each round."""
    found = []
    folder = directory / "archive"
    folder.mkdir()
    with shared_driver() as aeron, closing(Agents(aeron, folder, measurement)) as agents:
        for _ in range(rounds + 1):
            record = agents.record()
            found.append((record, agents.replay() if measurement.is_replayed else 0.0))
            agents.delete()
    return found[1:]


@contextmanager
def shared_driver() -> Iterator[Aeron]:
    """Run a driver with one thread in this process, and lend a client of it."""
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as memory,
        MediaDriver.launch(Context(aeron_dir=f"{memory}/driver", threading_mode="SHARED")),
        Aeron.connect(aeron_dir=f"{memory}/driver") as aeron,
    ):
        yield aeron


def measure_official(java: Any, directory: Path, measurement: Measurement, rounds: int) -> list[tuple[float, float]]:
    """Return the same of the official archive."""
    arguments = (
        measurement.length,
        measurement.messages,
        measurement.sync_level,
        measurement.checksum or "none",
        rounds,
        measurement.streams,
        measurement.channel,
    )
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory:
        command = java.command("ArchiveRates", memory, str(directory), *map(str, arguments))
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(done.stderr)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(float(record), float(replay)) for record, replay in rows[1:]]


def main() -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--directory", default=None, help="a place on the disk that is measured")
    given = parser.parse_args()
    java = None if given.alone else find_fast_java()
    failed = False
    for measurement in MEASUREMENTS:
        if given.only and measurement.name != given.only:
            continue
        sides: dict[str, list[tuple[float, float]]] = {"aerowire": [], "official": []}
        for _ in range(given.runs):
            with tempfile.TemporaryDirectory(prefix="archive-bench-", dir=given.directory) as folder:
                sides["aerowire"] += measure_own(Path(folder), measurement, given.rounds)
            if java is not None:
                with tempfile.TemporaryDirectory(prefix="archive-bench-", dir=given.directory) as folder:
                    sides["official"] += measure_official(java, Path(folder), measurement, given.rounds)
        for index, what in enumerate(("record", "replay")):
            if what == "replay" and not measurement.is_replayed:
                continue
            rates = {side: [measurement.messages / row[index] for row in rows] for side, rows in sides.items() if rows}
            middle = medians(rates)
            text = f"{what} {measurement.name}: " + ", ".join(f"{side} {median / 1e6:.2f} M msg/s" for side, median in middle.items())
            if what == "record" and measurement.recorded_least:
                least = measurement.recorded_least / 1e6
                failed |= not judge(f"record {measurement.name}", middle["aerowire"] / 1e6, least=least, unit="aerowire, M msg/s:")
            if "official" in middle:
                failed |= not judge(text, middle["aerowire"] / middle["official"], least=BAR)
            else:
                print(text, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
