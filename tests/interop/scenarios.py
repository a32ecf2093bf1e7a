"""A scenario: one feature, in one direction, between two implementations; and the matrix of those that ran.

A scenario publishes messages of random length through at least one term wrap, compares what every subscriber got with what was sent,
proves by counters that the feature acted, and leaves no file behind. Knows nothing of single features (test_<feature>.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.ipc.cnc import CncFile
from tests.conftest import SEED
from tests.interop.harness import Bench, Driver, Side
from tests.support.processes import Process, wait_for_driver

LIMIT_S = 240.0
STREAM = 1001
# The shortest terms wrap most often; a message is at most an eighth of one.
TERM_LENGTH = 65_536
LENGTH_MAX = 8_192
ROWS_PROPERTY = "interop"

LOSS_RATE = "0.05"
# Official drivers drop frames only through these endpoints.
LOSS_SUPPLIERS = {
    "aeron.SendChannelEndpoint.supplier": "io.aeron.driver.ext.DebugSendChannelEndpointSupplier",
    "aeron.ReceiveChannelEndpoint.supplier": "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier",
}


def other(side: Side) -> Side:
    """Return the other implementation."""
    return "official" if side == "aerowire" else "aerowire"


def lossy_network(side: Side, *, rate: str = LOSS_RATE, seed: int = SEED) -> dict[str, str]:
    """Return the properties of a driver that drops what it sends.

    The options name the endpoint, not the direction: a send endpoint sends data, a receive endpoint sends control. So with both drivers
    of a stream told so, every frame is at risk once: data on its way out, NAK and status on their way back. The run's seed is the loss's.
    """
    return {
        **(LOSS_SUPPLIERS if side == "official" else {}),
        "aeron.debug.send.data.loss.rate": rate,
        "aeron.debug.send.data.loss.seed": str(seed),
        "aeron.debug.receive.control.loss.rate": rate,
        "aeron.debug.receive.control.loss.seed": str(seed + 1),
    }


def losing_arrivals(side: Side, rate: float, *, seed: int = SEED) -> dict[str, str]:
    """Return the properties of a driver that loses data on its way in, on each of its sockets."""
    return {
        **(LOSS_SUPPLIERS if side == "official" else {}),
        "aeron.debug.receive.data.loss.rate": str(rate),
        "aeron.debug.receive.data.loss.seed": str(seed),
    }


@dataclass(frozen=True)
class End:
    """A client of one side and the driver, of either, that it is connected to; `prefix` is a command that runs it somewhere else."""

    side: Side
    driver: Driver
    prefix: tuple[str, ...] = ()


@dataclass
class Row:
    """What the matrix says of one scenario."""

    feature: str
    publishing: str = ""
    subscribing: list[str] = field(default_factory=list)
    messages: int = 0
    terms: int = 0
    proofs: list[str] = field(default_factory=list)


class Stream:
    """One stream of a scenario: its publisher, its subscribers, and the hash that they must agree on."""

    def __init__(self, scenario: Scenario, *, stream: int, term_length: int, length_max: int, messages: int) -> None:
        self._scenario = scenario
        self._bench = scenario.bench
        self.stream = stream
        self.term_length = term_length
        self.length_max = length_max
        self.messages = messages
        self.seed = stream * 7919
        self.subscribers: list[Process] = []
        self.publisher: Process | None = None
        self.outcomes: dict[str, dict[str, Any]] = {}  # what each subscriber said of its run, by its process's name
        self.registration_id = -1  # of the last subscription

    def subscribe(self, end: End, channel: str, **options: object) -> Process:
        """Start a subscriber and wait until its driver knows its subscription."""
        common = {"stream": self.stream, "messages": self.messages, "timeout": int(LIMIT_S)}
        subscriber = self._bench.peer(end.side, "subscriber", end.driver, end.prefix, channel=channel, **common, **options)
        self.subscribers.append(subscriber)
        self._scenario.row.subscribing.append(describe(end))
        ready = subscriber.result(LIMIT_S)
        assert ready["ready"]
        self.registration_id = ready["registration_id"]
        return subscriber

    def take_part(self, driver: Driver, channel: str) -> Process:
        """Start a subscriber of ours that may miss messages (excerpt.py), and wait until its driver knows its subscription."""
        common = {"stream": self.stream, "messages": self.messages, "timeout": int(LIMIT_S)}
        drawn = {"seed": self.seed, "length_max": self.length_max}
        excerpt = self._bench.peer("aerowire", "excerpt", driver, channel=channel, **drawn, **common)
        self._scenario.row.subscribing.append(describe(End("aerowire", driver)))
        assert excerpt.result(LIMIT_S)["ready"]
        return excerpt

    def publish(self, end: End, channel: str, **options: object) -> Process:
        """Start the publisher; it sends once it is connected."""
        sized = f"{channel}{'|' if '?' in channel else '?'}term-length={self.term_length}"
        common = {"stream": self.stream, "messages": self.messages, "timeout": int(LIMIT_S)}
        publisher = self._bench.peer(
            end.side, "publisher", end.driver, end.prefix, channel=sized, seed=self.seed, length_max=self.length_max, **common, **options
        )
        self.publisher = publisher
        self._scenario.row.publishing = describe(end)
        assert publisher.event("ready", LIMIT_S)
        return publisher

    def compare(self) -> dict[str, Any]:
        """Wait until all was sent and received; assert that it was the same; return what the publisher said of it."""
        assert self.publisher is not None, "publish() comes before compare()"
        sent = self.publisher.outcome("publisher", LIMIT_S)
        for subscriber in self.subscribers:
            got = self.outcomes[subscriber.name] = subscriber.outcome("subscriber", LIMIT_S)
            assert [got[name] for name in ("messages", "bytes", "sha256")] == [sent[name] for name in ("messages", "bytes", "sha256")]
        assert sent["messages"] == self.messages
        assert sent["term_length"] == self.term_length
        terms = sent["position"] // self.term_length
        assert terms >= 1, f"no term wrap: position {sent['position']} in terms of {self.term_length} bytes"
        row = self._scenario.row
        row.messages += self.messages * len(self.subscribers)
        row.terms += terms
        return sent

    def finish(self) -> None:
        """End the peers, publisher first, and assert that they ended well."""
        for peer in (self.publisher, *self.subscribers):
            if peer is not None:
                assert peer.finish() == 0, peer.said()


class Scenario:
    """Drivers, peers and proofs of one scenario; `finish` asserts that everything ended and nothing stayed."""

    def __init__(self, bench: Bench, messages: int) -> None:
        self.bench = bench
        self.messages = messages
        self.rows = [Row("")]
        self._drivers: list[Driver] = []

    @property
    def row(self) -> Row:
        """The row of the scenario that runs."""
        return self.rows[-1]

    def feature(self, text: str) -> None:
        """Name the feature as the matrix shows it; the same text in both directions."""
        self.row.feature = text

    def next_feature(self, text: str) -> None:
        """Begin a scenario whose processes serve several in turn; the matrix shows each in a row of its own."""
        if self.row.feature:
            self.rows.append(Row(text, self.row.publishing, list(self.row.subscribing)))
        self.feature(text)

    def driver(self, side: Side, properties: Mapping[str, str] | None = None, *, prefix: Sequence[str] = ()) -> Driver:
        """Start a driver, somewhere else by `prefix`, and wait until it can be used."""
        return self.adopt(self.bench.driver(side, properties, prefix))

    def adopt(self, driver: Driver) -> Driver:
        """Look after a driver that another program has within itself, and wait until it can be used."""
        wait_for_driver(driver.directory, driver.process)
        self._drivers.append(driver)
        return driver

    def kill(self, driver: Driver) -> None:
        """End a driver by SIGKILL; its directory stays."""
        self._drivers.remove(driver)
        driver.process.popen.kill()
        driver.process.popen.wait()

    def stream(
        self, *, stream: int = STREAM, term_length: int = TERM_LENGTH, length_max: int = LENGTH_MAX, messages: int | None = None
    ) -> Stream:
        return Stream(self, stream=stream, term_length=term_length, length_max=length_max, messages=messages or self.messages)

    def prove(self, driver: Driver, label: str, *, at_least: int = 1) -> int:
        """Assert that a counter whose label begins with `label` has reached `at_least`; it goes into the matrix. Returns the highest."""
        found = counters(driver, label)
        assert found, f"no counter '{label}' in {driver.directory}"
        highest = max(found.values())
        assert highest >= at_least, f"{label}: expected at least {at_least}, actual {found}"
        self.row.proofs.append(f"{label} ({driver.side} driver)")
        return highest

    def observed(self, what: str) -> None:
        """Add something that the test asserted, and that is not a counter, to the matrix."""
        self.row.proofs.append(what)

    def finish(self) -> None:
        """End the drivers in order and assert that no file of theirs is left."""
        assert all(row.feature for row in self.rows), "the scenario has not named its feature"
        for driver in self._drivers:
            driver.process.stop()
            assert not driver.directory.exists(), f"{driver.side} driver left {sorted(map(str, driver.directory.rglob('*')))}"


def counters(driver: Driver, label: str) -> dict[str, int]:
    """Return label -> value of a driver's counters whose label begins with `label`."""
    with CncFile.map(str(driver.directory / CNC_FILE_NAME), writable=False) as cnc:
        reader = cnc.counters_reader()
        return {info.label: reader.value(info.counter_id) for info in reader.for_each() if info.label.startswith(label)}


def total(driver: Driver, label: str) -> int:
    """Return the sum of a driver's counters whose label begins with `label`."""
    return sum(counters(driver, label).values())


def finish_excerpt(scenario: Scenario, excerpt: Process) -> dict[str, Any]:
    """Tell a subscriber that took part in a stream to end when nothing more comes; return what it got."""
    order(excerpt, "finish")
    got = excerpt.outcome("excerpt", LIMIT_S)
    scenario.row.messages += got["messages"]
    return got


def order(peer: Process, text: str) -> None:
    """Give a peer an order and wait until it has been carried out."""
    assert peer.popen.stdin is not None
    peer.popen.stdin.write(f"{text}\n".encode())
    peer.popen.stdin.flush()
    assert peer.event("obeyed", LIMIT_S)["order"] == text.partition(" ")[0]


def ask(peer: Process, what: str) -> dict[str, Any]:
    """Give a peer an order that it answers by the event of that name, and return the event."""
    assert peer.popen.stdin is not None
    peer.popen.stdin.write(f"{what}\n".encode())
    peer.popen.stdin.flush()
    return peer.event(what, LIMIT_S)


def wait_until(is_so: Callable[[], bool], what: str, timeout_s: float = LIMIT_S) -> None:
    """Wait for something that a driver or a peer does by itself."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(0.05)


def describe(end: End) -> str:
    return f"{end.side} client, {end.driver.side} driver"
