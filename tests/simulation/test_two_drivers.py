"""Two whole drivers, conductor included, in virtual time: no socket, no file of theirs, no sleep."""

from __future__ import annotations

import random
from typing import Any

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

MS = 1_000_000
SECOND = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:40456"


def stream(seed: int, count: int, **faults: Any) -> tuple[SimulatedWorld, StreamClient, StreamClient, list[bytes]]:
    world = SimulatedWorld(seed=seed)
    publisher, subscriber = (StreamClient.launch(world, address) for address in ("10.0.0.1", "10.0.0.2"))
    dice = random.Random(seed)
    messages = [dice.randbytes(dice.randrange(1, 1300)) for _ in range(count)]
    subscriber.subscribe(CHANNEL)
    publisher.publish(CHANNEL)
    world.run(200 * MS, until=lambda: subscriber.has_image)
    world.network.set_faults(**faults)
    publisher.send(messages)
    world.run(120 * SECOND, until=lambda: len(subscriber.received) == count)
    return world, publisher, subscriber, messages


def test_messages_cross_two_drivers() -> None:
    world, publisher, subscriber, messages = stream(1, 500)
    assert publisher.errors == subscriber.errors == []
    assert subscriber.received == messages
    assert subscriber.system(SystemCounter.NAK_MESSAGES_SENT) == 0
    world.close()


@pytest.mark.parametrize("seed", range(1, 4))
def test_messages_survive_a_bad_network(seed: int) -> None:
    world, publisher, subscriber, messages = stream(seed, 1500, loss=0.05, duplicate=0.05, jitter_ns=200_000)
    assert subscriber.received == messages
    assert subscriber.system(SystemCounter.NAK_MESSAGES_SENT) > 0
    assert publisher.system(SystemCounter.RETRANSMITS_SENT) > 0
    world.close()


def test_the_same_seed_has_the_same_trace() -> None:
    hashes = []
    for seed in (7, 7, 8):
        world, *_ = stream(seed, 300, loss=0.05, duplicate=0.05, jitter_ns=200_000)
        hashes.append((world.network.trace_hash, world.clock.now_ns(), world.steps))
        world.close()
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


def test_an_idle_world_takes_few_steps() -> None:
    world, *_ = stream(1, 1)
    before = world.steps
    world.run(5 * SECOND)
    assert world.steps - before < 1_000
    world.close()
