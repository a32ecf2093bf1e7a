"""Our service container under an official consensus module, with an official archive, driver and client."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.cluster.services import ClusteredServiceContainer
from aerowire.codecs.tables.counters import CounterType
from tests.interop.cluster.counting_service import CountingService
from tests.interop.cluster.service_nodes import ServiceNode
from tests.interop.harness import Bench
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop


def official_events(node: ServiceNode) -> list[dict[str, Any]]:
    """Return what the official service has noted."""
    return [{name: value for name, value in event.items() if name not in {"event", "service"}} for event in node.take("service")]


def wait_for(service: CountingService, what: str, count: int = 1) -> None:
    wait_until(lambda: len(service.named(what)) >= count, f"{service.events[-5:]}: not {count} x {what}")


def error_count(container: ClusteredServiceContainer) -> int:
    return container.agent.core.counters[CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT].value


def test_services_of_both_languages_apply_the_same_log(bench: Bench) -> None:
    node = ServiceNode(bench, service_count=2)
    node.start(0)
    service = CountingService()
    container = node.launch(service, service_id=1)
    node.connect()
    node.send("echo hello", "timer 7 20", "timer 8 600000", "cancel 8", "tell echo all", "fail", "echo " + "long" * 1000)
    assert sorted(node.egress(4)) == ["0:hello", "0:" + "long" * 1000, "1:hello", "1:" + "long" * 1000]
    wait_for(service, "timer")
    wait_for(service, "message", 9)
    assert error_count(container) == 1  # what failed, which the official service did, too
    node.send("close")
    assert node.obey("poll 1000000", "polled")["is_closed"]
    wait_for(service, "close")
    node.connect()  # its session goes into the snapshot
    node.obey("toggle SNAPSHOT", "toggled")
    wait_for(service, "snapshot")
    node.send("echo after")
    assert sorted(node.egress(2)) == ["0:after", "1:after"]
    node.obey("toggle SHUTDOWN", "toggled")
    node.obey("terminated", "terminated")
    wait_until(lambda: container.has_ended, "the container lives on")
    assert container.termination is not None
    assert container.termination.is_expected
    container.close()
    node.stop()
    before = official_events(node)
    assert service.events == before
    kinds = [event["what"] for event in before]
    assert (kinds.count("timer"), kinds.count("snapshot"), kinds.count("close"), kinds[-1]) == (1, 2, 1, "terminate")

    # Each service begins with the snapshot that a container of the other language has taken.
    node.start(1)
    again = CountingService()
    with node.launch(again, service_id=0) as container:
        wait_for(again, "role")
        assert again.events[0] == {**again.events[0], "what": "start", "count": 11, "sessions": 1}
        node.connect()
        node.send("echo again")
        assert sorted(node.egress(2)) == ["0:again", "1:again"]
        wait_for(again, "message")
        node.stop()
        wait_until(lambda: container.has_ended, "the container outlives its consensus module")
        after = official_events(node)
        assert again.events[: len(after) - 1] == after[:-1]  # the official one was closed, ours heard that the module has gone
        assert again.events[-1]["what"] == "terminate"
        assert again.count == 12
