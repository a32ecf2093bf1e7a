"""Streams, clients and drivers end while a native agent reads and writes what they lent: everything is given back, and nothing moves after.

One relay runs through all ends of a part. Drivers that are processes of their own are killed; others then take their directory.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from aerowire.agents.command_queue import AgentCommand
from aerowire.base.errors import AerowireError
from aerowire.base.idle import BackoffIdleStrategy
from aerowire.base.runner import AgentRunner
from aerowire.client import Aeron
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.codecs.tables.options import OPTIONS
from aerowire.driver import Context, MediaDriver
from aerowire.system.clock import SystemClock
from tests.conftest import SANITIZE_VARIABLE
from tests.soak.bars import Part, Size
from tests.soak.transport.footprint import anonymous_bytes
from tests.support.native_modules import compiled
from tests.support.processes import ROOT, open_workshop, wait_for_driver
from tests.support.waiting import wait_until

SEED = 23
RELAY = ROOT / "tests" / "client" / "lending" / "relay.pyx"
ENDS = {Size.FULL: 10_000, Size.SMALL: 120}
DRIVERS = {Size.FULL: 200, Size.SMALL: 4}
KILLS = {Size.FULL: 100, Size.SMALL: 2}
CHANNEL = "aeron:ipc?term-length=64k|sparse=true"
# Of the process, from the first hundred ends to the last: what is kept of each end would show.
GROWTH_MAX = 8 << 20
WAYS = ("publication", "subscription", "counter", "target", "reader", "writer")
WEIGHTS = (30, 30, 10, 10, 10, 10)
OPTIONS_OF_DRIVER: dict[str, Any] = {
    "threading_mode": "SHARED",
    "publication_linger_timeout_ns": "0ms",
    "image_liveness_timeout_ns": "1s",
    "dir_delete_on_start": True,
}


class Scene:
    """Two clients of a driver, a stream between them that a relay reads, and one that it writes."""

    def __init__(self, directory: str, relay: Any, agent: Any) -> None:
        self.writer = Aeron.connect(aeron_dir=directory, error_handler=lambda _: None)
        self.reader = Aeron.connect(aeron_dir=directory, error_handler=lambda _: None)
        self.subscription = self.reader.add_subscription(CHANNEL, 1)
        self.publication = self.writer.add_exclusive_publication(CHANNEL, 1)
        self.sink = self.writer.add_subscription(CHANNEL, 2)
        self.target = self.reader.add_exclusive_publication(CHANNEL, 2)
        self.counter = self.reader.add_counter(1_000, "relayed")
        wait_until(lambda: self.subscription.images and self.sink.images and self.publication.is_connected, "the images")
        self.image = self.subscription.images[0]
        self.loans = (LentImage(self.image), LentPublication(self.target), LentCounter(self.counter))
        for operation, loan in zip((relay.TAKE_IMAGE, relay.TAKE_PUBLICATION, relay.TAKE_COUNTER), self.loans, strict=True):
            agent.put(AgentCommand(operation, loan, hold=True))

    def send(self, rng: random.Random) -> None:
        for _ in range(rng.randrange(20)):
            self.publication.offer(rng.randbytes(rng.randrange(1000)))
            self.sink.poll(lambda *_: None, 100)

    def end(self) -> None:
        """Recall what has not ended by itself, and check that nothing moves once all is given back."""
        for loan in self.loans:
            loan.recall()
        wait_until(lambda: all(loan.is_returned for loan in self.loans), "the loans")
        position = self.image.position
        with contextlib.suppress(AerowireError):  # its client may have ended with the driver
            self.publication.offer(b"late")
        assert self.image.position == position, "a position moved after its image was given back"
        for client in (self.reader, self.writer):
            client.close()


@contextmanager
def relaying() -> Iterator[tuple[Any, Any, Any]]:
    relay = compiled(RELAY)
    ring = relay.RelayRing()
    agent = relay.Relay(ring)
    runner = AgentRunner([agent], SystemClock(), BackoffIdleStrategy()).start()
    try:
        yield relay, agent, ring
    finally:
        runner.stop()


def ends(count: int, scratch: Path) -> str:
    """End something of a scene, again and again, and see that nothing is kept of it."""
    rng = random.Random(SEED)
    ways: Counter[str] = Counter()
    first = 0
    directory = str(scratch / "driver")
    with MediaDriver.launch(Context(aeron_dir=directory, **OPTIONS_OF_DRIVER)), relaying() as (relay, agent, ring):
        for number in range(count):
            scene = Scene(directory, relay, agent)
            scene.send(rng)
            way = rng.choices(WAYS, WEIGHTS)[0]
            ways[way] += 1
            getattr(scene, way).close()
            scene.end()
            ring.poll()
            agent.forget_taken()
            if number == min(100, count // 2):
                first = anonymous_bytes(os.getpid())
        assert agent.lost == 0
    growth = anonymous_bytes(os.getpid()) - first
    # The thread sanitizer keeps the history of every thread and page.
    assert growth < GROWTH_MAX or SANITIZE_VARIABLE in os.environ, f"seed {SEED}: {growth >> 10} KiB kept after {count} ends"
    return f"{count:,} ends ({', '.join(f'{way} {ways[way]}' for way in WAYS)}), {agent.bytes_read:,} bytes relayed, {growth >> 10:+} KiB"


def drivers(count: int, scratch: Path) -> str:
    """Close the driver under a scene, and start another one in its directory."""
    rng = random.Random(SEED)
    directory = str(scratch / "driver")
    with relaying() as (relay, agent, ring):
        for _ in range(count):
            with MediaDriver.launch(Context(aeron_dir=directory, **OPTIONS_OF_DRIVER)):
                scene = Scene(directory, relay, agent)
                scene.send(rng)
            scene.end()
            ring.poll()
            agent.forget_taken()
        assert agent.lost == 0
    return f"{count} drivers closed and replaced, {agent.bytes_read:,} bytes relayed"


def kills(count: int, scratch: Path) -> str:
    """Kill the driver under a scene, and let another one take its directory."""
    rng = random.Random(SEED)
    properties = {OPTIONS["dir_delete_on_start"].property: "true", OPTIONS["threading_mode"].property: "SHARED"}
    with open_workshop(scratch) as workshop, relaying() as (relay, agent, ring):
        directory = workshop.memory / "driver"
        for _ in range(count):
            driver = workshop.driver(directory, properties)
            wait_for_driver(directory, driver)
            scene = Scene(str(directory), relay, agent)
            scene.send(rng)
            driver.popen.kill()
            driver.popen.wait()
            scene.end()
            ring.poll()
            agent.forget_taken()
        assert agent.lost == 0
    return f"{count} drivers killed and replaced, {agent.bytes_read:,} bytes relayed"


def parts(size: Size) -> list[Part]:
    return [
        Part("ends", SEED, partial(ends, ENDS[size])),
        Part("drivers", SEED, partial(drivers, DRIVERS[size])),
        Part("kills", SEED, partial(kills, KILLS[size])),
    ]
