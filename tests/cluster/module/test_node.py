"""A whole node of one member: clients, timers and services over toggles, snapshots and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ConsensusModuleState
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.whole_node import Node


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    node.stop()


def test_clients_timers_and_services_are_served_over_a_shutdown_with_a_snapshot(node: Node) -> None:
    client = node.connect()
    node.echo(client, "hello")
    node.echo(client, "x" * 5_000)
    node.say(client, "tell something")
    node.until(lambda: "told something" in node.service.events)
    node.say(client, "timer 20")
    node.until(lambda: "timer 7" in node.service.events)

    node.toggle(ClusterControlToggle.SNAPSHOT)
    node.until(lambda: node.counter(CounterType.CLUSTER_SNAPSHOT) == 1)
    node.toggle(ClusterControlToggle.SUSPEND)
    node.until(lambda: node.counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE) == ConsensusModuleState.SUSPENDED)
    node.toggle(ClusterControlToggle.RESUME, ClusterControlToggle.SUSPEND)
    node.until(lambda: node.counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE) == ConsensusModuleState.ACTIVE)
    node.say(client, "timer 1")
    node.echo(client, "resumed")
    node.say(client, "timer 500")  # in place of the one before, if that has not expired
    node.echo(client, "before the end")
    count = node.service.count
    node.toggle(ClusterControlToggle.SHUTDOWN)
    node.until(lambda: node.module.has_ended)
    node.until(lambda: "terminated" in node.service.events)
    assert node.errors == []
    client.close()
    node.stop()

    node.start()
    assert node.service.count == count
    node.until(lambda: "timer 7" in node.service.events)
    client = node.connect()
    node.echo(client, "again")
    assert (client.cluster_session_id, node.counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID)) == (2, 1)
    client.close()
    node.toggle(ClusterControlToggle.ABORT)
    node.until(lambda: node.module.has_ended)
    assert node.errors == []


def test_each_cycle_tells_its_time_and_goes_on_where_the_application_fails(tmp_path: Path) -> None:
    told: list[int] = []

    def consume(time: int) -> None:
        told.append(time)
        if len(told) == 3:
            raise ValueError("no more room for times")

    node = Node(tmp_path, cluster_time_consumer=consume, clock="nanoseconds")
    try:
        client = node.connect()
        node.echo(client, "hello")
        client.close()
        node.until(lambda: len(told) > 10 and told[-1] > node.service.last_message_at)
        assert told == sorted(told)
        assert told[0] < node.service.last_message_at
        assert sum("no more room for times" in error for error in node.errors) == 1
    finally:
        node.stop()
    count = len(told)
    assert node.module.has_ended
    assert len(told) == count


def test_a_member_ends_with_its_service(node: Node) -> None:
    node.containers[0].close()
    node.until(lambda: node.module.has_ended)
    assert any("Aeron client in service closed unexpectedly" in error for error in node.errors)
