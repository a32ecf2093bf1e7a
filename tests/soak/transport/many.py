"""Many streams and many clients of one driver: they come and go quickly, cost little while they idle, and leave nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.client import Aeron, Header, Pending
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver.resources.stream_counters import OWN_COUNTERS
from aerowire.ipc.cnc import CncFile
from tests.soak.bars import Part, Size
from tests.soak.scene import channel_of
from tests.soak.transport.footprint import processor_seconds
from tests.support.processes import Process, Workshop, open_workshop, wait_for_driver

STREAMS = {Size.FULL: 1000, Size.SMALL: 50}
CLIENTS = {Size.FULL: 100, Size.SMALL: 10}
ROUND_S = 10.0  # to add and remove all streams
ROUNDS = {Size.FULL: 3, Size.SMALL: 1}
IDLE_S = {Size.FULL: 3.0, Size.SMALL: 0.3}
# What a driver's processor share may have grown by when all streams are gone again.
GROWTH = {Size.FULL: 0.03, Size.SMALL: 0.5}  # a short look beside other work sees no more than a loop that spins
LIMIT_S = 60.0
MESSAGE = b"here and gone"

T = TypeVar("T")


def start(workshop: Workshop) -> tuple[Path, Process]:
    directory = workshop.memory / "driver"
    options = {
        OPTIONS["threading_mode"].property: "SHARED",
        OPTIONS["timer_interval_ns"].property: "100ms",
        OPTIONS["publication_linger_timeout_ns"].property: "0ms",
        OPTIONS["socket_so_rcvbuf"].property: "2m",
        OPTIONS["counters_free_to_reuse_timeout_ns"].property: "0ms",
        OPTIONS["driver_resource_free_limit"].property: "16",
        OPTIONS["dir_delete_on_shutdown"].property: "true",
    }
    driver = workshop.driver(directory, options)
    wait_for_driver(directory, driver)
    return directory, driver


def counters_of_streams(directory: Path) -> int:
    """Return how many counters there are beside the driver's own."""
    with CncFile.map(str(directory / CNC_FILE_NAME), writable=False) as cnc:
        return sum(info.counter_id > max(OWN_COUNTERS) for info in cnc.counters_reader().for_each())


def wait_until_empty(directory: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while counters_of_streams(directory) or any(directory.glob("*/*.logbuffer")):
        assert time.monotonic() < deadline, f"{counters_of_streams(directory)} counters are left"
        time.sleep(0.02)


def idle_share(driver: Process, seconds: float) -> float:
    before, started = processor_seconds(driver.popen.pid), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(driver.popen.pid) - before) / (time.monotonic() - started)


def end(directory: Path, driver: Process) -> None:
    wait_until_empty(directory)
    driver.popen.terminate()
    assert driver.popen.wait(LIMIT_S) == 0, driver.said()
    assert not directory.exists()


def streams(size: Size, media: str, scratch: Path) -> str:
    count = STREAMS[size]
    with open_workshop(scratch) as workshop:
        directory, driver = start(workshop)
        channel = channel_of(media)
        time.sleep(0.5)
        empty = idle_share(driver, IDLE_S[size])
        took: list[float] = []
        idle: list[float] = []
        for _ in range(ROUNDS[size]):
            with Aeron.connect(aeron_dir=str(directory)) as aeron:
                took.append(add_and_remove(aeron, channel, count, lambda: idle.append(idle_share(driver, IDLE_S[size]))))
            wait_until_empty(directory)
        time.sleep(0.5)
        after = idle_share(driver, IDLE_S[size])
        end(directory, driver)
    said = f"{count} streams added and removed in {max(took):.1f} s; idle {empty:.1%} before, {max(idle):.1%} with them, {after:.1%} after"
    assert max(took) < ROUND_S, said
    assert after < empty + GROWTH[size], said
    return said


def answer(pending: Pending[T]) -> T:
    deadline = time.monotonic() + LIMIT_S
    while not pending.poll():
        assert time.monotonic() < deadline, pending
        time.sleep(0.001)
    return pending.result()


def add_and_remove(aeron: Aeron, channel: str, count: int, between: Callable[[], object]) -> float:
    """Add and connect `count` streams, idle, and remove them; return the seconds of adding and removing."""
    started = time.monotonic()
    asked = [aeron.async_add_subscription(channel, number) for number in range(count)]
    subscriptions = [answer(pending) for pending in asked]
    offered = [aeron.async_add_publication(channel, number) for number in range(count)]
    publications = [answer(pending) for pending in offered]
    deadline = time.monotonic() + LIMIT_S
    while not all(publication.is_connected for publication in publications):
        assert time.monotonic() < deadline, "not all streams have connected"
        time.sleep(0.01)
    took = time.monotonic() - started
    between()
    started = time.monotonic()
    for stream in (*publications, *subscriptions):
        stream.close()
    return took + time.monotonic() - started


def clients(size: Size, scratch: Path) -> str:
    with open_workshop(scratch) as workshop:
        directory, driver = start(workshop)
        started = time.monotonic()
        for number in range(CLIENTS[size]):
            with (
                Aeron.connect(aeron_dir=str(directory)) as aeron,
                aeron.add_subscription("aeron:ipc?term-length=64k", number) as subscription,
                aeron.add_publication("aeron:ipc?term-length=64k", number) as publication,
            ):
                deadline = time.monotonic() + LIMIT_S
                got: list[bytes] = []

                def on_fragment(buffer: memoryview, offset: int, length: int, _header: Header, got: list[bytes] = got) -> None:
                    got.append(bytes(buffer[offset : offset + length]))

                while publication.offer(MESSAGE) < 0:
                    assert time.monotonic() < deadline
                while not got:
                    subscription.poll(on_fragment)
                    assert time.monotonic() < deadline
                assert got == [MESSAGE]
        took = time.monotonic() - started
        end(directory, driver)
    return f"{CLIENTS[size]} clients came and went in {took:.1f} s"


def parts(size: Size) -> list[Part]:
    media = ("ipc", "udp") if size is Size.FULL else ("ipc",)
    return [Part("clients", 0, partial(clients, size)), *(Part(f"streams-{name}", 0, partial(streams, size, name)) for name in media)]
