"""A stream over paths that lose, repeat, come and go: whatever happens, each message is got once and in order."""

from __future__ import annotations

import random

import pytest

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.driver.media.receive_endpoint import ReceiveEndpoint
from aerowire.driver.media.receive_transport import ReceiveTransport
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost
from tests.support.wire_source import FRAME, STREAM, WireSource

MS = 1_000_000
MESSAGES = 300  # within the first window: the sources know no flow control
PATHS = 3


class Path:
    """A destination that can be there or not, and the source that sends to it whether it is there or not."""

    def __init__(self, world: SimulatedWorld, node: AgentHost, endpoint: ReceiveEndpoint, number: int) -> None:
        self.place = ("10.0.0.2", 40001 + number)
        self.source = WireSource(world.network, self.place, host=f"10.0.1.{number}")
        self._world, self._node, self._endpoint, self._number = world, node, endpoint, number
        self.transport: ReceiveTransport | None = None

    def change(self) -> None:
        if self.transport is None:
            self.transport = self._node.add_transport(self._endpoint, self._world.network.open_port(self.place), self._number)
        else:
            self._node.remove_transport(self._endpoint, self.transport)
            self._world.settle()
            self.transport.close()
            self._endpoint.let_go(self.transport)
            self.transport = None


@pytest.mark.parametrize("seed", range(8))
def test_every_message_once_and_in_order(seed: int) -> None:
    dice = random.Random(seed)
    world = SimulatedWorld(seed=seed)
    world.network.set_faults(loss=0.1, duplicate=0.05, jitter_ns=300_000)
    node = world.add(AgentHost(world.clock, nak_delay_ns=MS, nak_retry_ns=5 * MS))
    endpoint = node.receive_endpoint(None)
    node.subscribe(endpoint, STREAM)
    paths = [Path(world, node, endpoint, number) for number in range(PATHS)]
    paths[0].change()
    messages = [index.to_bytes(32, "little") for index in range(MESSAGES)]
    sent = 0
    for step in range(3_000):
        there = [path for path in paths if path.transport is not None]
        if step % 20 == 0 or not node.subscribers:
            for path in paths:
                path.source.setup()
        if dice.random() < 0.1 and (len(there) > 1 or there == []):
            dice.choice(paths).change()
        elif not there or dice.random() < 0.02:
            next(path for path in paths if path.transport is None or len(there) > 1).change()
        if node.subscribers and sent < MESSAGES:
            for path in paths:
                path.source.data(sent * FRAME, messages[sent])
            sent += 1
        for path in paths:
            path.source.heartbeat(sent * FRAME)
            for nak in path.source.answers(FrameType.NAK):
                for offset in range(nak.term_offset, nak.term_offset + nak.length, FRAME):
                    path.source.data(offset, messages[offset // FRAME])
        world.run(MS)
        if node.subscribers:
            node.subscribers[0].poll()
            if len(node.subscribers[0].fragments) == MESSAGES:
                break
    assert node.subscribers[0].fragments == messages
    assert len(node.images) == 1
    assert node.events.held_count == 2  # the endpoint and the image
