"""What an image does about frames that come late, twice, out of order or not at all, and what it asks its sender for."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.protocol.lifecycle import ImageState
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost
from tests.support.wire_source import FRAME, WireSource

US = 1_000
MS = 1_000_000
PLACE = ("10.0.0.2", 40001)
BURST = 64


def join(world: SimulatedWorld, **options: Any) -> tuple[AgentHost, WireSource]:
    """Return a node with an image of a stream, and the stream's source."""
    node = world.add(AgentHost(world.clock, **options))
    node.receive_at(world.network.open_port(PLACE))
    world.settle()
    source = WireSource(world.network, PLACE)
    source.setup()
    world.run(5 * MS)
    return node, source


def payload(index: int) -> bytes:
    return index.to_bytes(32, "little")


def send(source: WireSource, indices: Iterable[int]) -> None:
    for index in indices:
        source.data(index * FRAME, payload(index))


def got(node: AgentHost) -> list[int]:
    node.subscribers[0].poll()
    return [int.from_bytes(message, "little") for message in node.subscribers[0].fragments]


def naks(source: WireSource) -> list[tuple[int, int]]:
    return [(frame.term_offset, frame.length) for frame in source.answers(FrameType.NAK)]


ORDERS = {
    "neighbours swapped": [index ^ 1 for index in range(BURST)],
    "reversed": list(reversed(range(BURST))),
    "shuffled": random.Random(3).sample(range(BURST), BURST),
    "twice": [*range(BURST), *range(BURST)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_whatever_the_order_messages_come_out_in_theirs(world: SimulatedWorld, order: str) -> None:
    node, source = join(world)
    send(source, ORDERS[order])
    world.run(5 * MS)
    assert got(node) == list(range(BURST))


def test_within_the_nak_delay_nothing_is_asked_for(world: SimulatedWorld) -> None:
    node, source = join(world, nak_delay_ns=5 * MS)
    send(source, [1, 2, 3])
    world.run(4 * MS)
    send(source, [0])
    world.run(50 * MS)
    assert got(node) == [0, 1, 2, 3]
    assert naks(source) == []
    assert node.get(SystemCounter.NAK_MESSAGES_SENT) == 0


def test_after_the_nak_delay_a_gap_is_asked_for_and_again_after_a_hundred_of_them(world: SimulatedWorld) -> None:
    node, source = join(world, nak_delay_ns=5 * MS)
    send(source, [1])
    world.run(5_500 * US)
    assert naks(source) == [(0, FRAME)]
    world.run(490 * MS)
    assert naks(source) == []
    world.run(20 * MS)
    assert naks(source) == [(0, FRAME)]
    send(source, [0])
    world.run(600 * MS)
    assert naks(source) == []
    assert got(node) == [0, 1]
    assert node.get(SystemCounter.NAK_MESSAGES_SENT) == 2


def test_neighbours_that_are_missing_are_one_gap(world: SimulatedWorld) -> None:
    _, source = join(world)
    send(source, [0, 4])
    world.run(MS)
    assert set(naks(source)) == {(FRAME, 3 * FRAME)}


def test_the_second_gap_is_asked_for_when_the_first_is_filled_and_the_rest_of_one_filled_in_part(world: SimulatedWorld) -> None:
    _, source = join(world)
    send(source, [0, 3, 5])
    world.run(MS)
    assert set(naks(source)) == {(FRAME, 2 * FRAME)}
    send(source, [1])
    world.run(50 * US)
    naks(source)
    world.run(MS)
    assert set(naks(source)) == {(2 * FRAME, FRAME)}
    send(source, [2])
    world.run(50 * US)
    naks(source)
    world.run(MS)
    assert set(naks(source)) == {(4 * FRAME, FRAME)}


def test_a_lost_end_shows_by_a_heartbeat(world: SimulatedWorld) -> None:
    node, source = join(world)
    send(source, [0])
    source.heartbeat(3 * FRAME)
    world.run(MS)
    assert set(naks(source)) == {(FRAME, 2 * FRAME)}
    send(source, [1, 2])
    world.run(5 * MS)
    assert got(node) == [0, 1, 2]


def test_an_end_that_overtakes_data_waits_for_it(world: SimulatedWorld) -> None:
    node, source = join(world)
    source.heartbeat(2 * FRAME, eos=True)
    world.run(5 * MS)
    assert node.images[0].state == ImageState.ACTIVE
    assert set(naks(source)) == {(0, 2 * FRAME)}
    send(source, [1, 0])
    world.run(5 * MS)
    assert node.images[0].state == ImageState.DRAINING
    assert got(node) == [0, 1]
    naks(source)
    world.run(300 * MS)
    assert naks(source) == []  # what drains asks for nothing more


def test_data_before_its_set_up_is_taken_when_it_comes_again(world: SimulatedWorld) -> None:
    node = world.add(AgentHost(world.clock))
    node.receive_at(world.network.open_port(PLACE))
    world.settle()
    source = WireSource(world.network, PLACE)
    send(source, [0, 1])
    world.run(5 * MS)
    source.setup()
    world.run(5 * MS)
    send(source, [0, 1])
    world.run(5 * MS)
    assert got(node) == [0, 1]


def test_while_heartbeats_flow_a_gap_that_nobody_fills_is_asked_for_and_the_image_lives(world: SimulatedWorld) -> None:
    node, source = join(world, image_liveness_timeout_ns=500 * MS)
    send(source, [1])
    for _ in range(20):
        source.heartbeat(2 * FRAME)
        world.run(100 * MS)
        assert set(naks(source)) == {(0, FRAME)}
    assert node.images[0].state == ImageState.ACTIVE


def test_what_is_long_past_or_too_far_ahead_is_counted_and_left_out(world: SimulatedWorld) -> None:
    node, source = join(world)
    send(source, range(300))
    world.run(5 * MS)
    assert got(node) == list(range(300))
    world.run(250 * MS)  # a status message tells the sender so
    send(source, [0])
    world.run(5 * MS)
    assert node.get(SystemCounter.FLOW_CONTROL_UNDER_RUNS) == 1
    source.data(900 * FRAME)  # more than half a term beyond what was told
    world.run(5 * MS)
    assert node.get(SystemCounter.FLOW_CONTROL_OVER_RUNS) == 1
    assert node.images[0].hwm_position == 300 * FRAME
