"""Two clusters on one driver and one archive, with clocks of two units: neither takes what is the other's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
from aerowire.codecs.flyweights.cnc import ClusterControlToggle
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.whole_node import Node

SECOND_NS = 1_000_000_000
HOUR_S = 3_600


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[Node, Node]]:
    first = Node(tmp_path / "first", clock="microseconds")
    second = Node(
        tmp_path / "second",
        beside=first,
        cluster_id=7,
        consensus_module_stream_id=205,
        service_stream_id=204,
        clock="io.aeron.cluster.NanosecondClusterClock",
    )
    yield first, second
    second.stop()
    first.stop()


def counters(node: Node, kind: CounterType) -> dict[str, int]:
    """Return the values of counters of a kind, by the end of their labels: the cluster."""
    found = (info for info in node.module.aeron.counters_reader.for_each() if info.type_id == kind)
    return {info.label.split(" - ")[-1].split()[0]: info.value for info in found}


def test_clusters_of_one_driver_have_their_own_sessions_counters_and_snapshots(nodes: tuple[Node, Node]) -> None:
    first, second = nodes
    clients = [node.connect() for node in nodes]
    for node, client in zip(nodes, clients, strict=True):
        node.echo(client, f"hello {node.directory.name}")
        node.say(client, "tell it all")
        node.until(lambda node=node: "told it all" in node.service.events)  # type: ignore[misc]
    assert [node.heard for node in nodes] == [[b"hello first"], [b"hello second"]]
    assert [node.service.cluster.time_unit for node in nodes] == [ClusterTimeUnit.MICROS, ClusterTimeUnit.NANOS]
    for node, per_second in ((first, 1_000_000), (second, SECOND_NS)):
        now_s = node.module.agent.core.ports.clock.now_epoch_ns() / SECOND_NS
        assert abs(node.service.last_message_at / per_second - now_s) < HOUR_S
    second.say(clients[1], f"timer {SECOND_NS // 100}")
    second.until(lambda: "timer 7" in second.service.events)
    assert "timer 7" not in first.service.events

    second.toggle(ClusterControlToggle.SNAPSHOT)
    second.until(lambda: second.counter(CounterType.CLUSTER_SNAPSHOT) == 1)
    assert counters(first, CounterType.CLUSTER_SNAPSHOT) == {"clusterId=0": 0, "clusterId=7": 1}
    count = second.service.count
    clients[1].close()
    second.stop()
    second.start()
    assert second.service.count == count
    client = second.connect()
    second.echo(client, "again")
    client.close()
    first.echo(clients[0], "as before")
    clients[0].close()
    assert [node.errors for node in nodes] == [[], []]
