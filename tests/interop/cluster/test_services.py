"""Our service container under an official consensus module, with an official archive, driver and client."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.cluster.services import ClusteredServiceContainer
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.error_log import read_errors
from tests.interop.cluster.counting_service import CountingService
from tests.interop.cluster.service_nodes import ServiceNode
from tests.interop.cluster.summing_service import SummingService, sums_to
from tests.interop.scenarios import Scenario
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def official_events(node: ServiceNode) -> list[dict[str, Any]]:
    """Return what the official service has noted."""
    return [{name: value for name, value in event.items() if name not in {"event", "service"}} for event in node.take("service")]


def wait_for(service: CountingService, what: str, count: int = 1) -> None:
    wait_until(lambda: len(service.named(what)) >= count, f"{service.events[-5:]}: not {count} x {what}")


def error_count(container: ClusteredServiceContainer) -> int:
    return container.agent.core.counters[CounterType.CLUSTER_CLUSTERED_SERVICE_ERROR_COUNT].value


def own_errors(container: ClusteredServiceContainer) -> list[str]:
    """Return the errors of this container, without the word that one before may have ended with its driver."""
    texts = [found.text for found in read_errors(container.agent.core.mark_file.error_log_buffer)]
    return [text for text in texts if "errors of the container before" not in text]


def name_ends(scenario: Scenario) -> None:
    for row in scenario.rows:
        row.publishing, row.subscribing = "official client, official consensus module", ["aerowire service container"]


def serve_all(node: ServiceNode) -> CountingService:
    """Run service 0 there and service 1 here, from the beginning to the end that the module orders; return ours."""
    node.start(0)
    service = CountingService()
    container = node.launch(service, service_id=1)
    node.connect()
    # Both services schedule timer 7, and it expires once if they do so within its time.
    node.send("echo hello", "timer 7 500", "timer 8 600000", "cancel 8", "tell echo all", "fail", "echo " + "long" * 1000)
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
    return service


def serve_on(node: ServiceNode) -> None:
    """Run each service on, in the other language."""
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
        assert after[-1]["what"] == "message"
        assert again.events[: len(after)] == after
        assert again.events[-1]["what"] == "terminate"
        assert again.count == 12


def test_services_of_both_languages_apply_the_same_log(scenario: Scenario) -> None:
    scenario.feature("Service container: messages, timers, sessions, messages of services, snapshots, the end")
    node = ServiceNode(scenario.bench, service_count=2)
    scenario.row.messages = serve_all(node).count
    scenario.observed("events, positions and times equal those of an official container on the same log")

    scenario.next_feature("Service container: a snapshot of the other language, loaded")
    serve_on(node)
    scenario.row.messages = 1
    scenario.observed("state and sessions, each way")
    name_ends(scenario)
    scenario.finish()


def test_a_service_goes_on_from_its_snapshot_and_the_log_behind_it(scenario: Scenario) -> None:
    scenario.feature("Service container: batches, a state as an object, replay of the log behind a snapshot")
    node = ServiceNode(scenario.bench, properties={"aeron.cluster.log.channel": "aeron:ipc?term-length=64k"})
    node.start()
    service = SummingService()
    with node.launch(service) as container:
        node.connect()
        node.obey("burst 0 3000", "sent")
        wait_until(lambda: service.sums.count == 3000, f"{service.sums}")
        assert service.batches < 3000
        node.obey("toggle SNAPSHOT", "toggled")
        snapshots = container.agent.core.counters[CounterType.CLUSTERED_SERVICE_MAX_SNAPSHOT_DURATION]
        wait_until(lambda: snapshots.value > 0, "no snapshot was taken")
        node.obey("burst 3000 2000", "sent")
        wait_until(lambda: service.sums.count == 5000, f"{service.sums}")
        assert service.sums == sums_to(5000)
        assert error_count(container) == 0
        end = container.cluster.log_position
        node.stop()
    node.start()
    again = SummingService()
    with node.launch(again) as container:
        wait_until(lambda: container.cluster.role == ClusterRole.LEADER, "the member does not lead")
        assert (again.restored, again.sums) == (sums_to(3000), sums_to(5000))
        node.connect()
        node.obey("burst 5000 100", "sent")
        wait_until(lambda: again.sums == sums_to(5100), f"{again.sums}")
        assert container.cluster.log_position > end
        assert own_errors(container) == []
        node.stop()
    scenario.row.messages, scenario.row.terms = 5100, end // 65536
    scenario.observed("sums over all messages, before and after")
    name_ends(scenario)
    scenario.finish()
