"""Messages that no member, service or client sends: they are dropped, and end nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.flyweights.cluster.dispatch import decode
from aerowire.codecs.flyweights.cluster.messages.service_ack import ServiceAck
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.nodes import Node, run
from tests.cluster.module.scripted_service import CONTROL_CHANNEL
from tests.conftest import SEED
from tests.support.processes import free_port

MESSAGES = 400
SCHEMA_ID = 111
TEMPLATES = [*range(1, 9), *range(20, 28), *range(30, 36), *range(40, 44), *range(50, 58), *range(70, 82), *range(100, 109), 999]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    endpoints = [f"127.0.0.1:{free_port()}" for _ in range(5)]
    node = Node(tmp_path, f"0,{','.join(endpoints)}", 0, endpoints[4])
    node.endpoints = endpoints  # type: ignore[attr-defined]
    node.start()
    yield node
    node.close()


def hostile(randomly: random.Random) -> bytes:
    """Return a message with a header that is right, more or less, and a body that is not."""
    header = [randomly.randrange(0, 200), randomly.choice(TEMPLATES), SCHEMA_ID, 17]
    if randomly.random() < 0.2:
        header[randomly.randrange(4)] = randomly.randrange(1 << 16)
    body = bytes(randomly.choice((0, 1, 0x7F, 0x80, 0xFF, randomly.randrange(256))) for _ in range(randomly.randrange(0, 160)))
    return b"".join(value.to_bytes(2, "little") for value in header) + body


def is_ack(message: bytes) -> bool:
    """Return whether a message could be an acknowledgement of the node's own service, whose place it would take."""
    try:
        return isinstance(decode(message), ServiceAck)
    except Exception:  # whatever the codecs make of it
        return False


def test_random_messages_on_each_stream_change_neither_leader_nor_term(node: Node) -> None:
    randomly = random.Random(SEED)
    run([node], lambda: node.is_leader)
    assert node.service is not None
    aeron = node.service.aeron
    endpoints: list[str] = node.endpoints  # type: ignore[attr-defined]
    streams = ((f"aeron:udp?endpoint={endpoints[1]}", 108), (f"aeron:udp?endpoint={endpoints[0]}", 101), (CONTROL_CHANNEL, 105))
    for channel, stream_id in streams:
        pending: Any = aeron.async_add_publication(channel, stream_id)
        run([node], pending.poll)
        publication = pending.result()
        run([node], lambda: publication.is_connected)  # noqa: B023 called at once
        for _ in range(MESSAGES):
            message = hostile(randomly)
            if not is_ack(message):
                run([node], lambda: publication.offer(message) > 0)  # noqa: B023 called at once
        for _ in range(200):
            node.work()
    assert node.module is not None
    assert node.is_leader
    assert not node.module.has_ended
    assert node.counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID) == 0
    assert node.counter(CounterType.CLUSTER_ELECTION_COUNT) == 1


def test_a_second_service_with_the_same_id_is_reported_and_ends_nothing(node: Node) -> None:
    run([node], lambda: node.is_leader)
    assert node.service is not None
    ack = ServiceAck(log_position=0, timestamp=0, ack_id=0, relevant_id=77, service_id=0)
    run([node], lambda: node.service is not None and node.service.offer(ack.encode()))
    run([node], lambda: node.errors != [])
    assert "possible duplicate" in node.errors[0]
    assert node.is_leader
