"""A driver in INVOKER mode and a client of it made of generated codecs: commands in, responses out, no threads."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.cnc import CounterValueDecoder
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.driver import MediaDriver
from aerowire.driver.resources.stream_counters import OWN_COUNTERS
from aerowire.ipc.cnc import CncFile
from aerowire.simulation.world import SimulatedWorld
from aerowire.system.clock import ManualClock
from aerowire.system.ports import Ports
from tests.support.waiting import wait_until

SMALL = {
    "environ": {},
    "term_buffer_length": "64k",
    "ipc_term_buffer_length": "64k",
    "timer_interval_ns": "5ms",
    "counters_free_to_reuse_timeout_ns": 0,
}


@dataclass
class RawClient:
    """Writes commands as bytes and keeps every response as (type, decoder)."""

    driver: MediaDriver
    cnc: CncFile
    client_id: int = 0
    responses: list[tuple[int, Any]] = field(default_factory=list)
    clock: ManualClock | None = None  # of a driver in virtual time: a millisecond passes with each cycle

    def send(self, message_type: int, body: bytes) -> None:
        self.cnc.to_driver.write(message_type, body)

    def work(self, cycles: int = 3) -> None:
        for _ in range(cycles):
            if self.clock is not None:
                self.clock.advance(1_000_000)
            self.driver.invoker.invoke()
            while (message := self._receiver.receive()) is not None:
                message_type, body = message
                self.responses.append((message_type, commands.COMMAND_DECODERS[message_type](body)))

    def work_until(self, is_done: Callable[[], object]) -> None:
        wait_until(is_done, lambda: f"no end in sight; responses so far: {self.responses}", work=lambda: self.work(1))

    def take(self, message_type: int, correlation_id: int | None = None) -> Any:
        """Work until a response of that type (and correlation) is there; remove and return it."""

        def find() -> tuple[int, Any] | None:
            for item in self.responses:
                found = getattr(item[1], "correlation_id", getattr(item[1], "offending_correlation_id", None))
                if item[0] == message_type and (correlation_id is None or found == correlation_id):
                    return item
            return None

        self.work_until(find)
        item = find()
        assert item is not None
        self.responses.remove(item)
        return item[1]

    def request(self, message_type: int, encoder: Any, **fields: Any) -> int:
        """Send a command under a new correlation id, unless `fields` have one, and return that."""
        correlation_id: int = fields.setdefault("correlation_id", self.cnc.to_driver.next_correlation_id())
        self.send(message_type, encoder.encode(client_id=self.client_id, **fields))
        return correlation_id

    def add_publication(self, channel: str, stream_id: int, *, is_exclusive: bool = False) -> int:
        kind = CommandType.ADD_EXCLUSIVE_PUBLICATION if is_exclusive else CommandType.ADD_PUBLICATION
        return self.request(kind, commands.AddPublicationEncoder, stream_id=stream_id, channel=channel)

    def add_subscription(self, channel: str, stream_id: int) -> int:
        return self.request(CommandType.ADD_SUBSCRIPTION, commands.AddSubscriptionEncoder, stream_id=stream_id, channel=channel)

    def error_of(self, correlation_id: int) -> tuple[int, str]:
        error = self.take(CommandType.ON_ERROR, correlation_id)
        return error.error_code, error.error_message

    def labels(self) -> dict[str, int]:
        """The labels of the counters that are not the driver's own, with their values."""
        return {item.label: item.value for item in self.cnc.counters_reader().for_each() if item.counter_id > max(OWN_COUNTERS)}

    def system(self, which: SystemCounter) -> int:
        return self.cnc.counters_reader().value(which)

    def set_counter(self, counter_id: int, value: int) -> None:
        """Write a counter's value as its owner does."""
        struct.pack_into("<q", self.cnc.counters_values_buffer, counter_id * CounterValueDecoder.ENCODED_LENGTH, value)

    def __post_init__(self) -> None:
        self._receiver = self.cnc.to_clients_receiver()
        self.client_id = self.cnc.to_driver.next_correlation_id()


@pytest.fixture
def aeron_dir(request: pytest.FixtureRequest) -> Iterator[str]:
    parent = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(request.getfixturevalue("tmp_path"))
    path = parent / f"aw-control-{os.getpid()}-{abs(hash(request.node.nodeid)) % 10**8}"
    yield str(path)
    shutil.rmtree(path, ignore_errors=True)
    for leftover in path.parent.glob(path.name + "-*"):
        leftover.unlink(missing_ok=True)


@pytest.fixture
def launch(aeron_dir: str) -> Iterator[Callable[..., RawClient]]:
    """Launch a driver in INVOKER mode with options and perhaps a clock; returns a client of it. Everything is closed at the end."""
    opened: list[RawClient] = []

    def start(*, clock: ManualClock | None = None, **options: Any) -> RawClient:
        if clock is not None:
            options["ports"] = replace(Ports.system(), clock=clock)
        driver = MediaDriver.launch(**{"aeron_dir": aeron_dir, "threading_mode": "INVOKER", **SMALL, **options})
        client = RawClient(driver, CncFile.map(f"{driver.aeron_dir}/cnc.dat"), clock=clock)
        opened.append(client)
        return client

    yield start
    for client in opened:
        client.cnc.close()
        client.driver.close()


@pytest.fixture
def client(launch: Callable[..., RawClient]) -> RawClient:
    return launch()


@pytest.fixture
def world() -> SimulatedWorld:
    """A world for hosts without a conductor: tests.support.agent_host."""
    return SimulatedWorld(seed=1)


@pytest.fixture
def clock() -> ManualClock:
    """Time that passes when the test says so."""
    return ManualClock(now_ns=1_000_000_000, epoch_ms=1_700_000_000_000)
