"""Archives of either side for the scripts that compare them, each in a process of its own, and what these scripts do with them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aerowire.archive import AeronArchive
from aerowire.client import Aeron
from benchmarks.drivers import IDLE_STRATEGIES
from tests.interop.harness import Java, Side
from tests.support.processes import free_port

SIDES: tuple[Side, ...] = ("official", "aerowire")
CONTROL_STREAM = 10
BATCH = 1024
END_LIMIT_S = 30.0
# How long something may stand still before a measurement is given up.
STALL_LIMIT_S = 60.0


@dataclass(frozen=True)
class RunningArchive:
    """An archive's process, the directory of its driver, and its control channel."""

    side: Side
    process: subprocess.Popen[bytes]
    aeron_dir: Path
    control_channel: str

    def connect(self, aeron: Aeron | None = None) -> AeronArchive:
        """Connect our client: by `aeron`, or by a client of its own."""
        return AeronArchive.connect(
            aeron=aeron,
            aeron_dir=None if aeron else self.aeron_dir,
            control_request_channel=self.control_channel,
            control_response_channel="aeron:udp?endpoint=127.0.0.1:0",
            message_timeout_ns="60s",
        )


class Recorded(NamedTuple):
    """A stopped recording: its id, where it ends, and the seconds from the first message until the last one was recorded."""

    recording_id: int
    position: int
    seconds: float


def archive_command(java: Java | None, side: Side, properties: dict[str, str]) -> list[str]:
    """Return the command that starts an archive."""
    if side == "official":
        assert java is not None, "the official archive needs Java"
        return java.command("io.aeron.archive.Archive", properties=properties)
    definitions = (f"-D{name}={value}" for name, value in properties.items())
    return [sys.executable, "-m", "aerowire.tools.main", "archive", "start", *definitions]


def archive_properties(aeron_dir: Path, directory: Path, control_channel: str, *, threading: str, idle: str) -> dict[str, str]:
    """Return the properties that every measured archive is started with; `idle` is a key of IDLE_STRATEGIES."""
    return {
        "aeron.dir": str(aeron_dir),
        "aeron.archive.dir": str(directory),
        "aeron.archive.control.channel": control_channel,
        "aeron.archive.replication.channel": "aeron:udp?endpoint=127.0.0.1:0",
        "aeron.archive.max.concurrent.recordings": "50",
        "aeron.archive.max.concurrent.replays": "50",
        "aeron.archive.threading.mode": threading,
        "aeron.archive.idle.strategy": IDLE_STRATEGIES[idle],
        "aeron.archive.recorder.idle.strategy": IDLE_STRATEGIES[idle],
        "aeron.archive.replayer.idle.strategy": IDLE_STRATEGIES[idle],
    }


@contextmanager
def running_archive(
    java: Java | None, side: Side, aeron_dir: Path, place: str | None, *, idle: str = "backoff", **options: str
) -> Iterator[RunningArchive]:
    """Run an archive with dedicated agents on a running driver, its files in a new directory of `place`.

    `options` are further properties, written with underscores and without their prefix.
    """
    with tempfile.TemporaryDirectory(prefix="archive-bench-", dir=place) as folder:
        channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        properties = archive_properties(aeron_dir, Path(folder) / "archive", channel, threading="DEDICATED", idle=idle)
        properties |= {f"aeron.archive.{name.replace('_', '.')}": value for name, value in options.items()}
        process = subprocess.Popen(archive_command(java, side, properties), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            yield RunningArchive(side, process, aeron_dir, channel)
        finally:
            process.terminate()
            process.wait(END_LIMIT_S)


def record(archive: AeronArchive, channel: str, stream_id: int, *, length: int, messages: int) -> Recorded:
    """Record messages as fast as they are taken."""
    continued = archive.add_continued_publication(channel, stream_id)
    with continued.publication as publication:
        batch = np.zeros((BATCH, length), np.uint8)
        left = messages
        begin = time.perf_counter()
        while left:
            sent = publication.offer_many(batch[: min(left, BATCH)])
            if sent > 0:
                left -= sent
            else:
                time.sleep(0)
        position = publication.position
        archive.await_recorded(continued.recording_id, position)
        seconds = time.perf_counter() - begin
    wait(lambda: archive.get_stop_position(continued.recording_id) == position, "the recording's stop")
    return Recorded(continued.recording_id, position, seconds)


def wait(condition: Callable[[], object], what: str) -> None:
    """Yield until a condition is true."""
    deadline = time.monotonic() + STALL_LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {STALL_LIMIT_S:g} s: {what}")
        time.sleep(0)
