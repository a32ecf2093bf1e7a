"""As many services as a member can have: each has all messages, its own word to the others, and a snapshot of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.cnc import ClusterControlToggle
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.whole_node import Node

SERVICES = 10


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path, service_count=SERVICES)
    yield node
    node.stop()


def test_ten_services_hear_all_and_go_on_from_their_snapshots(node: Node) -> None:
    client = node.connect()
    node.say(client, "hello")
    node.until(lambda: len(node.heard) == SERVICES, work=client.poll_egress)
    assert node.heard == [b"hello"] * SERVICES
    node.say(client, "tell a word")
    node.until(lambda: all(service.events.count("told a word") == SERVICES for service in node.services))
    node.toggle(ClusterControlToggle.SNAPSHOT)
    node.until(lambda: node.counter(CounterType.CLUSTER_SNAPSHOT) == 1)
    assert [service.events[-1] for service in node.services] == ["snapshot"] * SERVICES
    counts = [service.count for service in node.services]
    assert counts == [2 + SERVICES] * SERVICES, "two messages of the client, and one of each service"
    node.say(client, "tell another word")
    node.until(lambda: all(service.events.count("told another word") == SERVICES for service in node.services))
    client.close()
    node.stop()
    node.start()
    assert [service.count for service in node.services] == [3 + 2 * SERVICES] * SERVICES, "from the snapshots, then from the log"
    assert node.errors == []
