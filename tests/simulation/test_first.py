"""The smallest test of whole drivers in the simulated world: copy it to begin another one."""

from __future__ import annotations

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

SECOND = 1_000_000_000
CHANNEL = "aeron:udp?endpoint=10.0.0.2:40456"


def test_messages_arrive_in_order_over_a_network_that_loses_some(world: SimulatedWorld) -> None:
    publisher, subscriber = (StreamClient.launch(world, address) for address in ("10.0.0.1", "10.0.0.2"))
    subscriber.subscribe(CHANNEL)
    publisher.publish(CHANNEL)
    world.network.set_faults(loss=0.1)
    messages = [b"message %d" % number for number in range(1_000)]
    publisher.send(messages)
    assert world.run(30 * SECOND, until=lambda: len(subscriber.received) == len(messages))
    assert subscriber.received == messages
    assert publisher.system(SystemCounter.RETRANSMITS_SENT) > 0
