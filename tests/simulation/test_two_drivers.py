"""Two whole drivers, conductor included, in virtual time: no socket, no file of theirs, no sleep."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.world import SimulatedHost, SimulatedWorld
from tests.support.simulated_client import SimulatedClient

MS = 1_000_000
SECOND = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:40456|term-length=64k"
HEADER = 32


class Client(SimulatedClient):
    """A client that sends an outbox and collects an inbox."""

    def __init__(self, host: SimulatedHost) -> None:
        super().__init__(host)
        self.outbox: list[bytes] = []
        self.sent = 0
        self.inbox: list[bytes] = []

    def work(self) -> int:
        done = self.poll_responses()
        while self.appender is not None and self.sent < len(self.outbox) and self.appender.append(self.outbox[self.sent]) > 0:
            self.sent += 1
            done += 1
        return done + self.poll()

    def poll(self) -> int:
        if self.image is None:
            return 0
        start = position = self.counters.value(self.position_id)
        while True:
            term = self.image.term_view(position // self.image.length_of_term % 3)
            offset = position % self.image.length_of_term
            header = DataHeaderDecoder(term, offset)
            length = header.frame_length
            if length <= 0:
                break
            if header.type == FrameType.DATA:
                self.inbox.append(bytes(term[offset + HEADER : offset + length]))
            position += -(-length // HEADER) * HEADER
        if position != start:
            self.counters.set_value(self.position_id, position)
        return position - start


def stream(directory: Path, seed: int, count: int, **faults: Any) -> tuple[SimulatedWorld, Client, Client]:
    world = SimulatedWorld(directory, seed=seed)
    publisher, subscriber = Client(world.add_host("10.0.0.1")), Client(world.add_host("10.0.0.2"))
    clients = (publisher, subscriber)
    dice = random.Random(seed)
    publisher.outbox = [dice.randbytes(dice.randrange(1, 1300)) for _ in range(count)]
    for client in clients:
        world.add_actor(client.work)
    subscriber.subscribe("aeron:udp?endpoint=10.0.0.2:40456")
    publisher.publish(CHANNEL)
    world.run(200 * MS, until=lambda: subscriber.image is not None)
    world.network.set_faults(**faults)
    for _ in range(120):
        for client in clients:
            client.keep_alive()
        if world.run(SECOND, until=lambda: len(subscriber.inbox) == count):
            break
    return world, publisher, subscriber


def test_messages_cross_two_drivers(tmp_path: Path) -> None:
    world, publisher, subscriber = stream(tmp_path, 1, 500)
    assert publisher.errors == subscriber.errors == []
    assert subscriber.inbox == publisher.outbox
    assert subscriber.counters.value(SystemCounter.NAK_MESSAGES_SENT) == 0
    world.close()


@pytest.mark.parametrize("seed", range(1, 4))
def test_messages_survive_a_bad_network(tmp_path: Path, seed: int) -> None:
    world, publisher, subscriber = stream(tmp_path, seed, 1500, loss=0.05, duplicate=0.05, jitter_ns=200_000)
    assert subscriber.inbox == publisher.outbox
    assert subscriber.counters.value(SystemCounter.NAK_MESSAGES_SENT) > 0
    assert publisher.counters.value(SystemCounter.RETRANSMITS_SENT) > 0
    world.close()


def test_the_same_seed_has_the_same_trace(tmp_path: Path) -> None:
    hashes = []
    for attempt, seed in zip(itertools.count(), (7, 7, 8), strict=False):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        world, _, _ = stream(directory, seed, 300, loss=0.05, duplicate=0.05, jitter_ns=200_000)
        hashes.append((world.network.trace_hash, world.clock.now_ns(), world.steps))
        world.close()
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_an_idle_world_takes_few_steps(tmp_path: Path) -> None:
    world, _, _ = stream(tmp_path, 1, 1)
    before = world.steps
    world.run(5 * SECOND)
    assert world.steps - before < 1_000
    world.close()
