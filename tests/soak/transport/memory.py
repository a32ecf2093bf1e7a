"""A hundred million messages or more through a driver and two clients: none of them holds more memory at the end than near the start."""

from __future__ import annotations

import statistics
import sys
import time
from functools import partial
from pathlib import Path

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.flyweights.transport import DataHeaderDecoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.options import OPTIONS
from aerowire.ipc.cnc import CncFile
from aerowire.tools.measure.measure import BATCH, READY, SINGLE, Plan
from tests.soak.bars import Part, Size
from tests.soak.transport.footprint import anonymous_bytes
from tests.support.processes import Process, free_port, open_workshop, wait_for_driver
from tests.support.waiting import wait_until

MESSAGES = {("ipc", BATCH): 500_000_000, ("udp", BATCH): 100_000_000, ("ipc", SINGLE): 100_000_000}
SMALL_SHARE = {("ipc", BATCH): 4, ("udp", BATCH): 10, ("ipc", SINGLE): 25}  # each long enough for some twenty samples
SAMPLE_S = {Size.FULL: 0.05, Size.SMALL: 0.01}
# The part of the stream after which both clients have imported and mapped all that they ever will.
WARM_SHARE = 0.1
LENGTH = 32
# What a collection that falls between two samples, or a thread's first use of its stack, may come to.
GROWTH_BYTES_MAX = 1 << 20
LIMIT_S = 900.0
PUBLISH = "import sys; from aerowire.tools.measure import measure, measure_aerowire as m; m.publish(measure.Plan.from_json(sys.argv[1]))"


def run(size: Size, media: str, mode: str, scratch: Path) -> str:
    messages = MESSAGES[media, mode] // (SMALL_SHARE[media, mode] if size is Size.SMALL else 1)
    channel = "aeron:ipc?term-length=4m" if media == "ipc" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with open_workshop(scratch) as workshop:
        directory = workshop.memory / "driver"
        driver = workshop.driver(directory, {OPTIONS["threading_mode"].property: "SHARED"})
        wait_for_driver(directory, driver)
        plan = Plan(
            channel=channel,
            reply_channel=channel,
            length=LENGTH,
            messages=messages,
            warmup=0,
            mode=mode,
            aeron_dir=str(directory),
            tells_ready=True,
        ).to_json()
        receiver = workshop.start("receiver", [sys.executable, "-m", "aerowire.tools.measure.measure", "receive", plan])
        assert receiver.line(LIMIT_S) == READY
        publisher = workshop.start("publisher", [sys.executable, "-c", PUBLISH, plan])
        watched = {"driver": driver, "publisher": publisher, "receiver": receiver}
        warm_position = int(WARM_SHARE * messages) * (DataHeaderDecoder.ENCODED_LENGTH + LENGTH)
        wait_until(lambda: publisher_position(directory) >= warm_position, "the stream has not begun")
        samples = sample_while_running(watched, SAMPLE_S[size])
        rate = float(receiver.line(LIMIT_S))
    said = []
    for name, taken in samples.items():
        quarter = len(taken) // 4
        early, late = statistics.median(taken[quarter : 2 * quarter]), statistics.median(taken[-quarter:])
        said.append(f"{name} {late / 2**20:.1f} MiB ({(late - early) / 2**10:+.0f} KiB)")
        assert late - early <= GROWTH_BYTES_MAX, f"{name}: {taken}"
    return f"{messages:,} messages at {rate / 1e6:.1f} M/s: {', '.join(said)}"


def publisher_position(directory: Path) -> int:
    """Return how far the only publication has been written."""
    with CncFile.map(str(directory / CNC_FILE_NAME), writable=False) as cnc:
        return max((info.value for info in cnc.counters_reader().for_each() if info.type_id == CounterType.PUB_POS), default=0)


def sample_while_running(watched: dict[str, Process], interval_s: float) -> dict[str, list[int]]:
    """Return each process's anonymous memory, taken until the first of them ends."""
    samples: dict[str, list[int]] = {name: [] for name in watched}
    deadline = time.monotonic() + LIMIT_S
    while all(process.popen.poll() is None for process in watched.values()):
        assert time.monotonic() < deadline, "the messages did not come to an end"
        for name, process in watched.items():
            try:
                samples[name].append(anonymous_bytes(process.popen.pid))
            except (AssertionError, OSError):
                break  # it is ending
        time.sleep(interval_s)
    assert min(map(len, samples.values())) >= 8, f"too short a run to compare its quarters: {samples}"
    return samples


def parts(size: Size) -> list[Part]:
    return [Part(f"{media}-{mode}", 0, partial(run, size, media, mode)) for media, mode in MESSAGES]
