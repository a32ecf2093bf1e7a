"""Whole streams to several destinations at once, over a network in memory that loses, repeats and reorders, by seed."""

from __future__ import annotations

import random

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.protocol.destinations import Destinations
from aerowire.protocol.min_flow_control import MinFlowControl
from aerowire.simulation.world import SimulatedWorld
from tests.support.agent_host import AgentHost

MS, SECOND = 1_000_000, 1_000_000_000
CONTROL = ("10.0.0.1", 40000)
MESSAGES = 1500
MESSAGES_PER_MS = 3  # a set-up is sent each 100 ms at most: who comes late must find something left


def join(world: SimulatedWorld, number: int) -> AgentHost:
    """Start a driver that subscribes at the control address; returns it."""
    node = world.add(AgentHost(world.clock))
    port = world.network.open_port((f"10.0.1.{number}", 40000 + number))
    node.receive_at(port, receiver_id=number, explicit_control=CONTROL)
    return node


def is_run_of(part: list[bytes], whole: list[bytes]) -> bool:
    """Whether `part` is a run of `whole`, whose messages are all different."""
    if not part:
        return False
    start = whole.index(part[0])
    return part == whole[start : start + len(part)]


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_receivers_that_come_late_or_die_get_an_unbroken_part_of_the_stream(seed: int) -> None:
    world = SimulatedWorld(seed=seed)
    world.network.set_faults(loss=0.05, duplicate=0.03, jitter_ns=300_000)
    dice = random.Random(seed)
    publisher = world.add(AgentHost(world.clock))
    count_id, group_id = publisher.counter("mdc-num-dest"), publisher.counter("fc-receivers")
    endpoint = publisher.send_endpoint(
        world.network.open_port(CONTROL),
        group=True,
        destinations=Destinations(dynamic=True),
        counters=publisher.counters,
        destination_count_id=count_id,
    )
    flow = MinFlowControl(4, 128 * 1024, receiver_timeout_ns=SECOND, counters=publisher.counters, receivers_counter_id=group_id)
    _, appender = publisher.publish(endpoint, flow_control=flow)
    # One dies in mid-stream, and one comes in mid-stream.
    members = [constant, dying] = [join(world, number) for number in (1, 2)]
    late = None
    # A question that is lost is asked again after a second.
    assert world.run(3 * SECOND, until=lambda: bool(constant.subscribers and dying.subscribers))
    assert publisher.counters.value(count_id) == 2
    messages = [index.to_bytes(4, "little") + dice.randbytes(dice.randrange(0, 1200)) for index in range(MESSAGES)]
    sent, deadline = 0, world.clock.now_ns() + 120 * SECOND
    while sent < MESSAGES or len(constant.subscribers[0].fragments) < MESSAGES:
        for _ in range(MESSAGES_PER_MS):
            if sent < MESSAGES and appender.append(messages[sent]) > 0:
                sent += 1
        world.run(MS)
        for node in members:
            for reader in node.subscribers:
                reader.poll()
        if sent >= MESSAGES // 3 and dying in members:
            world.remove(dying)
            members.remove(dying)
        if sent >= MESSAGES // 2 and late is None:
            late = join(world, 3)
            members.append(late)
        assert world.clock.now_ns() < deadline, (sent, len(constant.subscribers[0].fragments))
    assert constant.subscribers[0].fragments == messages
    assert is_run_of(dying.subscribers[0].fragments, messages)
    assert late is not None
    world.run(2 * SECOND)
    for reader in late.subscribers:
        reader.poll()
    assert is_run_of(late.subscribers[0].fragments, messages)
    assert late.subscribers[0].fragments[-1] == messages[-1]
    assert publisher.get(SystemCounter.RETRANSMITS_SENT) > 0
    world.run(5 * SECOND)
    assert publisher.counters.value(count_id) == 2
