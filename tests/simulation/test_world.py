"""The world's own rules: when hosts work, how time passes, and what is open to tests."""

from __future__ import annotations

import pytest

from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

MS = 1_000_000
SECOND = 1_000_000_000


class Clockwork:
    """A host that has something to do every 10 ms."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.times: list[int] = []
        self.is_closed = False
        self._world = world
        self._due_ns = world.clock.now_ns() + 10 * MS

    def work(self) -> int:
        if self._world.clock.now_ns() < self._due_ns:
            return 0
        self.times.append(self._world.clock.now_ns())
        self._due_ns += 10 * MS
        return 1

    def next_deadline_ns(self) -> int:
        return self._due_ns

    def close(self) -> None:
        self.is_closed = True


def test_a_host_of_a_tests_own_works_when_it_is_due_and_ends_with_the_world() -> None:
    world = SimulatedWorld(seed=1)
    start = world.clock.now_ns()
    host = world.add(Clockwork(world))
    world.run(50 * MS)
    assert host.times == [start + number * 10 * MS for number in range(1, 6)]
    assert world.steps == 5
    world.close()
    assert host.is_closed


def test_work_without_end_is_an_error() -> None:
    world = SimulatedWorld(seed=1)
    world.add_actor(lambda: 1)
    with pytest.raises(RuntimeError, match="no rest after 1000 cycles"):
        world.settle()


def test_a_datagram_that_nobody_reads_holds_up_no_other() -> None:
    world = SimulatedWorld(seed=1)
    unread, read = (world.network.open_port(("10.0.0.1", number)) for number in (7001, 7002))
    sender = world.network.open_port(("10.0.0.2", 7000))
    sender.send_datagrams([(b"unread", unread.local_address)])
    world.run(MS)
    sender.send_datagrams([(b"read", read.local_address)])
    got: list[tuple[bytes, int]] = []

    def receive() -> int:
        batch = read.receive_datagrams()
        got.extend((payload, world.clock.now_ns() - sent_ns) for payload, _, _ in batch)
        return len(batch)

    world.add_actor(receive)
    sent_ns = world.clock.now_ns()
    world.run(MS)
    assert got == [(b"read", 10_000)]
    assert world.network.unowned.unread == 1
    assert unread.receive_datagrams() == [(b"unread", ("10.0.0.2", 7000), 0)]
    assert world.network.unowned.unread == 0


def test_a_client_lives_as_long_as_its_world(world: SimulatedWorld) -> None:
    client = StreamClient.launch(world, "10.0.0.1")
    client.subscribe("aeron:ipc")
    client.publish("aeron:ipc")
    world.run(60 * SECOND)
    client.send([b"still here"])
    assert world.run(SECOND, until=lambda: client.received == [b"still here"])
    assert client.errors == []
