#!/usr/bin/env python3
"""What waiting in an event loop costs: how late a message wakes a coroutine, and what an idle loop takes of a core.

    python benchmarks/asyncio_wakeup.py
    python benchmarks/asyncio_wakeup.py --seconds 5 --channel 'aeron:udp?endpoint=127.0.0.1:20121'

Each line is one rate. `aerowire` is the time from before the offer in one process until `async for` has the message in another; `socket`
is the same through a Unix datagram socket that the loop reads, which is what any other library would wake it by. The driver has a
process of its own. Idle: the processor time of the process, all threads, while one task waits for a message that does not come.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from aerowire import aio
from aerowire.client import Aeron
from aerowire.driver import MediaDriver

STREAM = 1001
RATES = (12, 1_000, 10_000)  # a million a day, and two kinds of load
STAMP = struct.Struct("<q")
WARM_UP = 5
BARS = {"idle_core_percent": 3.0, "idle_us": 1000.0, "load_us": 100.0}


def send_at(rate: int, count: int, send: Callable[[bytes], object]) -> None:
    """Call `send` with the time, `count` times at `rate` a second; a send that is late does not delay the next ones."""
    start = time.monotonic()
    for index in range(count):
        due = start + index / rate
        while (left := due - time.monotonic()) > 0:
            time.sleep(left if left > 200e-6 else 0)
        send(STAMP.pack(time.monotonic_ns()))


def sender(where: str, kind: str, channel: str, rate: int, count: int) -> None:
    """The other process: sends through a driver's directory, or to a socket's path."""
    if kind == "socket":
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.connect(where)
            send_at(rate, count, end.send)
        return
    with Aeron.connect(where) as aeron, aeron.add_publication(channel, STREAM) as publication:
        while not publication.is_connected:
            time.sleep(0.001)

        def send(message: bytes) -> None:
            while publication.offer(message) < 0:
                time.sleep(0)

        send_at(rate, count, send)
        time.sleep(0.2)


@contextlib.contextmanager
def sending(*arguments: str) -> Iterator[None]:
    """Run this script as the sender."""
    with subprocess.Popen([sys.executable, __file__, "--sender", *arguments]) as process:
        yield
        if process.wait():
            raise SystemExit("the sending process failed")


async def through_socket(path: str) -> AsyncIterator[bytes]:
    """Yield what arrives at a Unix datagram socket, as a library on sockets would."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(path)
        end.setblocking(False)
        while True:
            yield await loop.sock_recv(end, 64)


async def measure(messages: AsyncIterator[bytes], count: int) -> dict[str, float]:
    """Return percentiles, in microseconds, of how old the messages are when a task has them."""
    ages: list[int] = []
    async for message in messages:
        ages.append(time.monotonic_ns() - STAMP.unpack_from(message)[0])
        if len(ages) == count:
            break
    cuts = statistics.quantiles(ages[WARM_UP:], n=100, method="inclusive")
    return {"p50_us": cuts[49] / 1e3, "p90_us": cuts[89] / 1e3, "p99_us": cuts[98] / 1e3}


async def wake_ups(aeron_dir: str, channel: str, rate: int, count: int) -> tuple[dict[str, float], dict[str, float]]:
    """Measure one rate through a subscription and through a socket."""
    async with aio.connect(aeron_dir) as aeron, aeron.add_subscription(channel, STREAM) as subscription:

        async def payloads() -> AsyncIterator[bytes]:
            async for message in subscription:
                yield message.payload

        with sending(aeron_dir, "aerowire", channel, str(rate), str(count)):
            ours = await measure(payloads(), count)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "socket"))
        messages = through_socket(path)
        first = asyncio.ensure_future(anext(messages))
        await asyncio.sleep(0.01)

        async def stamps() -> AsyncIterator[bytes]:
            yield await first
            async for message in messages:
                yield message

        with sending(path, "socket", channel, str(rate), str(count)):
            theirs = await measure(stamps(), count)
    return ours, theirs


async def idle_percent(aeron_dir: str, channel: str, seconds: float) -> float:
    """Return what the process takes of a core while a task waits."""
    async with (
        aio.connect(aeron_dir) as aeron,
        aeron.add_subscription(channel, STREAM) as subscription,
        aeron.add_publication(channel, STREAM) as publication,
    ):
        await publication.connected(timeout_s=10)
        await subscription.connected(timeout_s=10)
        waiting = asyncio.ensure_future(subscription.receive())
        await asyncio.sleep(0.5)
        before = time.process_time()
        await asyncio.sleep(seconds)
        used = time.process_time() - before
        waiting.cancel()
    return 100 * used / seconds


def ratio(ours: dict[str, float], theirs: dict[str, float]) -> float:
    """Return how many times as long a wake-up takes as a socket's."""
    return ours["p50_us"] / theirs["p50_us"]


def main() -> int:
    """Measure and print; exit 1 when a bar is not held."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement (default: 4)")
    parser.add_argument("--channel", default="aeron:ipc", help="channel of the messages (default: aeron:ipc)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--sender", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.sender:
        where, kind, channel, rate, count = chosen.sender
        sender(where, kind, channel, int(rate), int(count))
        return 0
    rows: list[tuple[int, dict[str, float], dict[str, float]]] = []
    with MediaDriver.spawn(threading_mode="SHARED", shared_idle_strategy="backoff") as driver:
        idle = asyncio.run(idle_percent(driver.aeron_dir, chosen.channel, chosen.seconds))
        for rate in RATES:
            count = WARM_UP + max(20, int(rate * chosen.seconds))
            rows.append((rate, *asyncio.run(wake_ups(driver.aeron_dir, chosen.channel, rate, count))))
    held = idle <= BARS["idle_core_percent"] and rows[0][1]["p50_us"] <= BARS["idle_us"] and rows[-1][1]["p50_us"] <= BARS["load_us"]
    if chosen.json:
        lines = [{"rate": rate, "aerowire": ours, "socket": theirs, "p50_ratio": ratio(ours, theirs)} for rate, ours, theirs in rows]
        print(json.dumps({"idle_core_percent": idle, "rates": lines, "bars": BARS, "held": held, "cores": os.cpu_count()}))
        return 0 if held else 1
    print(f"idle: {idle:.2f} % of a core (bar: {BARS['idle_core_percent']:g} %)")
    columns = f"{'messages/s':>10}  {'aerowire p50':>12} {'p90':>8} {'p99':>8}  {'socket p50':>10} {'p90':>8} {'p99':>8}"
    print(f"{columns}   ratio of p50   microseconds")
    for rate, ours, theirs in rows:
        figures = [f"{side[which]:>8.1f}" for side in (ours, theirs) for which in ("p50_us", "p90_us", "p99_us")]
        ends = f"{rate:>10}      {figures[0]} {figures[1]} {figures[2]}    {figures[3]} {figures[4]} {figures[5]}"
        print(f"{ends}   {ratio(ours, theirs):>12.2f}")
    print(
        f"bars: p50 <= {BARS['idle_us']:g} us at {RATES[0]}/s, <= {BARS['load_us']:g} us at {RATES[-1]}/s: {'held' if held else 'NOT held'}"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
