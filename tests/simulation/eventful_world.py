"""A world in which much happens, as a program: prints its digest and what it did, to be compared between processes.

python -m tests.simulation.eventful_world SEED
"""

from __future__ import annotations

import random
import sys
from typing import Any

from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.partitions import PartitionKind
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

MS, SECOND = 1_000_000, 1_000_000_000
GROUP = "aeron:udp?endpoint=224.71.31.1:40456|interface=10.0.0.0/24"
OPTIONS: dict[str, Any] = {
    "environ": {},
    "term_buffer_length": "64k",
    "image_liveness_timeout_ns": "2s",
    "publication_linger_timeout_ns": "1s",
    "timer_interval_ns": "100ms",
    # What is missing is asked for again after a hundred times as long: by default each 100 us, which only fills a network that is this bad.
    "nak_unicast_delay_ns": "20us",
}
ROUNDS = 30
ROUND_NS = 500 * MS
MESSAGES_PER_ROUND = 40


class Eventful:
    """Three hosts with a client each that publishes to the next one and to a group; each round something happens to one of them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.world = SimulatedWorld(seed=seed)
        self.addresses = [f"10.0.0.{number}" for number in (1, 2, 3)]
        for number, address in enumerate(self.addresses):
            self.world.names[f"host-{number}"] = address
        self.clients = [StreamClient.launch(self.world, address, **OPTIONS) for address in self.addresses]
        for client in self.clients:
            self._connect(client)

    def run(self) -> None:
        """Let everything happen."""
        self.world.network.set_faults(
            loss=0.05, duplicate=0.02, replay=0.02, reorder=0.05, jitter_ns=2 * MS, queue_length=200, send_error=0.01
        )
        for round_number in range(ROUNDS):
            for client in self.clients:
                client.send(b"%d: " % round_number + self.dice.randbytes(self.dice.randrange(1_000)) for _ in range(MESSAGES_PER_ROUND))
            happening = self.dice.choice([self._partition, self._clog, self._pause, self._slow, self._clock, self._power, self._faults])
            happening(self.dice.choice(self.clients))
            self.world.run(ROUND_NS)
            self.world.network.heal()

    def result(self) -> str:
        """Return what two runs have to have in common."""
        world = self.world
        received = [(len(client.received), sum(map(len, client.received))) for client in self.clients]
        clocks = [(host.clock.reads, host.clock.trace_hash) for host in world.hosts]
        counts = world.network.counts
        return f"{world.trace_hash:016x} {world.clock.now_ns()} {world.steps} {received} {clocks} {counts}"

    def _connect(self, client: StreamClient) -> None:
        number = self.addresses.index(client.host.address)
        client.subscribe(f"aeron:udp?endpoint=host-{number}:40001")
        client.subscribe(GROUP)
        client.publish(f"aeron:udp?endpoint=host-{(number + 1) % 3}:40001")
        if number == 0:
            client.publish(GROUP)

    def _partition(self, _client: StreamClient) -> None:
        kind = self.dice.choice(list(PartitionKind))
        self.world.network.partition(self.world.network.draw_partition(kind, one_way=self.dice.random() < 0.5))

    def _clog(self, _client: StreamClient) -> None:
        source, destination = self.dice.sample(self.addresses, 2)
        self.world.network.links.clog(source, destination, self.dice.randrange(SECOND))

    def _pause(self, client: StreamClient) -> None:
        process = client.host.driver_process
        process.pause()
        self.world.run(self.dice.randrange(3 * SECOND))
        process.resume()

    def _slow(self, client: StreamClient) -> None:
        client.host.driver_process.slow(self.dice.randrange(5 * MS))

    def _clock(self, client: StreamClient) -> None:
        client.host.clock.set_drift(self.dice.uniform(-500, 500))
        client.host.clock.jump(self.dice.randrange(-SECOND, SECOND))

    def _power(self, client: StreamClient) -> None:
        host = client.host
        host.lose_power()
        self.world.run(self.dice.randrange(SECOND))
        host.restart()
        host.start_driver(**OPTIONS)
        again = StreamClient(host)
        self.clients[self.clients.index(client)] = again
        self._connect(again)

    def _faults(self, client: StreamClient) -> None:
        faults = LinkFaults(
            loss=self.dice.uniform(0, 0.3),
            jitter_ns=self.dice.randrange(10 * MS),
            clog_interval_ns=self.dice.randrange(10, 1_000) * MS,
            clog_mean_ns=self.dice.randrange(1, 100) * MS,
            bytes_per_second=self.dice.randrange(100_000, 10_000_000),
        )
        self.world.network.links.set(client.host.address, None, faults)


def main(seed: str) -> None:
    eventful = Eventful(int(seed))
    eventful.run()
    print(eventful.result())
    eventful.world.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
