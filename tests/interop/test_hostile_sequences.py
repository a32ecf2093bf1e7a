"""The same hostile sequences to our driver and the official one: ours delivers what the other does, and streams of others are whole."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from aerowire.client import Aeron, Header
from tests.fuzz.grammar.bystander import Bystander
from tests.interop.harness import Bench, Driver, Side
from tests.interop.hostile_sequences import Sequence, draw, undisputed_part
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM, OWN_STREAM = 1001, 2001
SEQUENCES = int(os.environ.get("AEROWIRE_HOSTILE_SEQUENCES") or 300)
AT_ONCE = 10
FIRST_SESSION = 10_000
DATAGRAMS_UNREAD_MAX = 32  # fewer than fill a socket's receive buffer
PATIENCE_S = 30.0
SETUP_INTERVAL_S = 0.2
PROPERTIES = {
    # Nothing arrives for an image while the other driver is served: it outlives the pauses of a busy machine.
    "aeron.image.liveness.timeout": "10s",
    "aeron.term.buffer.length": "65536",
    "aeron.term.buffer.sparse.file": "true",
    "aeron.timer.interval": "100ms",
    "aeron.dir.delete.on.start": "true",
}


class Place:
    """A driver with a hostile endpoint, a client of ours, and a stream of others on the same endpoint."""

    def __init__(self, driver: Driver, stack: ExitStack) -> None:
        self.port = free_port()
        self.driver = driver
        self.delivered: dict[int, list[tuple[int, bytes]]] = {}
        channel = f"aeron:udp?endpoint=127.0.0.1:{self.port}"
        aeron = stack.enter_context(Aeron.connect(driver.directory, driver_timeout_ns="60s", error_handler=lambda _error: None))
        self._subscription = aeron.add_subscription(channel, STREAM)
        own = aeron.add_subscription(channel, OWN_STREAM)
        self.bystander = Bystander(aeron.add_exclusive_publication(f"{channel}|term-length=64k", OWN_STREAM), own, 1, "poll")
        self._socket = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._socket.connect(("127.0.0.1", self.port))

    def send(self, datagrams: list[bytes]) -> None:
        """Send datagrams; return when the driver has read them all."""
        for first in range(0, len(datagrams), DATAGRAMS_UNREAD_MAX):
            for datagram in datagrams[first : first + DATAGRAMS_UNREAD_MAX]:
                self._socket.send(datagram)
            # The other stream has the same receiving socket, which is read in order.
            self._pass_on(1)

    def await_images(self, sequences: list[Sequence]) -> None:
        """Send SETUPs, again where one has no effect, as a publisher does, until there is an image of each session."""
        deadline = time.monotonic() + PATIENCE_S
        next_setup = 0.0
        while missing := [each for each in sequences if self._subscription.image_by_session_id(each.session_id) is None]:
            now = time.monotonic()
            if now >= next_setup:
                next_setup = now + SETUP_INTERVAL_S
                self.send([each.setup for each in missing])
            assert now < deadline, f"{self.driver.side}: no image of {[each.session_id for each in missing]}\n{self.driver.process.said()}"
            self.bystander.work()

    def take(self) -> None:
        """Take everything that can be read of the hostile sessions."""
        while self._subscription.poll(self._on_fragment, 100):
            continue
        self.bystander.take()

    def finish(self) -> None:
        """Assert that the stream of others arrives."""
        self._pass_on(100)

    def _pass_on(self, count: int) -> None:
        """Send messages of the other stream and wait until they have arrived."""
        deadline = time.monotonic() + PATIENCE_S
        goal = self.bystander.sent + count
        while self.bystander.received < goal:
            assert time.monotonic() < deadline, (
                f"{self.driver.side}: {self.bystander.received} of {goal} messages\n{self.driver.process.said()}"
            )
            if self.bystander.sent < goal:
                self.bystander.work()
            else:
                self.bystander.take()

    def _on_fragment(self, buffer: memoryview, offset: int, length: int, header: Header) -> None:
        # Behind a driver that lets frames overlap, a header may name another session: its image's counts.
        self.delivered.setdefault(header.session_id, []).append((offset - 32, bytes(buffer[offset : offset + length])))


@pytest.fixture
def places(bench: Bench) -> Iterator[dict[Side, Place]]:
    with ExitStack() as stack:
        drivers = [bench.driver(side, PROPERTIES) for side in ("aerowire", "official")]
        yield {driver.side: Place(driver, stack) for driver in drivers}


def drawn(first: int) -> list[Sequence]:
    return [draw(first + at, STREAM, FIRST_SESSION + first + at) for at in range(AT_ONCE)]


def test_ours_delivers_what_the_official_driver_does(places: dict[Side, Place], seed: int) -> None:
    compared = sequences = 0
    base = seed % 1_000_000
    for first in range(0, SEQUENCES, AT_ONCE):
        batch = drawn(base + first)
        for place in places.values():
            place.await_images(batch)
        for place in places.values():
            place.send([datagram for sequence in batch for datagram in sequence.datagrams])
        for place in places.values():
            place.take()
        for sequence in batch:
            ours, theirs = (places[side].delivered.pop(sequence.session_id, []) for side in ("aerowire", "official"))
            expected = undisputed_part(sequence, theirs)
            whole = (
                f"seed {sequence.seed}, session {sequence.session_id}: {len(ours)} of {len(theirs)} fragments, {len(expected)} undisputed"
            )
            assert ours[: len(expected)] == expected, whole
            compared += len(expected)
            sequences += 1
    for place in places.values():
        place.finish()
    print(f"seed {base}: {sequences} sequences, {compared} fragments compared")
    # Sequences that neither driver delivers would prove nothing.
    assert compared > 2 * sequences
