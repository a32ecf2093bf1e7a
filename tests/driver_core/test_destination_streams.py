"""Whole streams to several destinations at once, over a network in memory that loses, repeats and reorders, by seed."""

from __future__ import annotations

import random

import pytest

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.protocol.destinations import Destinations
from aerowire.protocol.min_flow_control import MinFlowControl

MS, SECOND = 1_000_000, 1_000_000_000
STREAM, TERM = 1001, 65536
CONTROL = ("10.0.0.1", 40000)
MESSAGES = 1500
MESSAGES_PER_MS = 3  # a set-up is sent each 100 ms at most: who comes late must find something left


def join(world, number: int):
    """Start a driver that subscribes at the control address; returns it."""
    node = world.node()
    port = world.network.open_port((f"10.0.1.{number}", 40000 + number))
    endpoint = node.receive_endpoint(port, receiver_id=number, explicit_control=CONTROL)
    node.receiver.add_subscription(endpoint, STREAM)
    return node


def is_run_of(part: list[bytes], whole: list[bytes]) -> bool:
    """Whether `part` is a run of `whole`, whose messages are all different."""
    if not part:
        return False
    start = whole.index(part[0])
    return part == whole[start : start + len(part)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_receivers_that_come_late_or_die_get_an_unbroken_part_of_the_stream(make_world, seed: int) -> None:
    world = make_world(seed=seed, loss=0.05, duplicate=0.03, jitter_ns=300_000)
    dice = random.Random(seed)
    publisher = world.node()
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
    constant = join(world, 1)
    # Who dies in mid-stream, and who comes in mid-stream.
    dying, late = join(world, 2), None
    world.run(400 * MS)
    assert publisher.counters.value(count_id) == 2
    messages = [index.to_bytes(4, "little") + dice.randbytes(dice.randrange(0, 1200)) for index in range(MESSAGES)]
    sent, deadline = 0, world.clock.now_ns() + 120 * SECOND
    while sent < MESSAGES or len(constant.subscribers[0].fragments) < MESSAGES:
        for _ in range(MESSAGES_PER_MS):
            if sent < MESSAGES and appender.append(messages[sent]) > 0:
                sent += 1
        world.run(MS, 250_000)
        for node in world.nodes:
            for reader in node.subscribers:
                reader.poll()
        if sent >= MESSAGES // 3 and dying in world.nodes:
            world.nodes.remove(dying)
        if sent >= MESSAGES // 2 and late is None:
            late = join(world, 3)
        assert world.clock.now_ns() < deadline, (sent, len(constant.subscribers[0].fragments))
    assert constant.subscribers[0].fragments == messages
    assert is_run_of(dying.subscribers[0].fragments, messages)
    assert late is not None
    world.run(2 * SECOND, 10 * MS)
    for reader in late.subscribers:
        reader.poll()
    assert is_run_of(late.subscribers[0].fragments, messages)
    assert late.subscribers[0].fragments[-1] == messages[-1]
    assert publisher.get(SystemCounter.RETRANSMITS_SENT) > 0
    world.run(5 * SECOND, 10 * MS)
    assert publisher.counters.value(count_id) == 2
