"""An extension of a consensus module: messages of its own schema on ingress, log, egress and in snapshots, at three members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.client import Aeron
from aerowire.cluster import AeronCluster, ConsensusModuleContext, ExtensionMessage
from aerowire.codecs.flyweights.cnc import ClusterControlToggle
from aerowire.codecs.tables.counters import CounterType
from tests.cluster.module.nodes import Node, run
from tests.cluster.module.summing_extension import BODY, FailingExtension, SummingExtension, message
from tests.cluster.module.test_context import NEEDED
from tests.support.processes import free_port


class Cluster:
    """Members with an extension each, in one thread."""

    def __init__(self, directory: Path, size: int, extensions: list[Any] | None = None) -> None:
        self.endpoints = [[f"127.0.0.1:{free_port()}" for _ in range(5)] for _ in range(size)]
        members = "|".join(f"{member_id},{','.join(own)}" for member_id, own in enumerate(self.endpoints))
        self.extensions: list[Any] = extensions or [SummingExtension() for _ in range(size)]
        self.nodes = [
            Node(directory / str(member_id), members, member_id, own[4], service_count=0, extension=self.extensions[member_id])
            for member_id, own in enumerate(self.endpoints)
        ]
        for node in self.nodes:
            node.start()

    def elected(self, nodes: list[Node]) -> Node:
        """Let all work until nodes have elected one of them; return that."""
        run(self.nodes, lambda: [node.is_leader for node in nodes].count(True) == 1 and all(n.is_leader or n.is_follower for n in nodes))
        return next(node for node in nodes if node.is_leader)

    def send(self, leader: Node, *numbers: int) -> None:
        """Send numbers to the leader's ingress, without a session."""
        aeron = leader.connect()
        publication = aeron.add_publication(f"aeron:udp?endpoint={self.endpoints[leader.member_id][0]}", 101)
        for number in numbers:
            run(self.nodes, lambda: aeron.invoke() >= 0 and publication.offer(message(number).encode()) > 0)  # noqa: B023 called at once
        aeron.close()

    def run_until_total(self, total: int, nodes: list[Node]) -> None:
        """Let all work until the extensions of nodes have that sum."""
        run(self.nodes, lambda: all(self.extensions[node.member_id].total == total for node in nodes))

    def close(self) -> None:
        for node in self.nodes:
            node.close()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, 3)
    yield cluster
    cluster.close()


def test_members_apply_the_same_messages_over_a_snapshot_and_a_fail_over(three: Cluster) -> None:
    leader = three.elected(three.nodes)
    three.send(leader, *range(10))
    three.run_until_total(45, three.nodes)
    positions = three.extensions[leader.member_id].positions
    # 24 bytes of a message and 32 of its frame take 64 each, behind the event that begins the term.
    assert [position - positions[0] for position in positions] == [64 * number for number in range(10)]
    assert positions[0] >= 96 + 64

    assert leader.module is not None
    leader.module.agent.core.counters[CounterType.CLUSTER_CONTROL_TOGGLE].value = ClusterControlToggle.SNAPSHOT
    run(three.nodes, lambda: all(node.counter(CounterType.CLUSTER_SNAPSHOT) == 1 for node in three.nodes))
    three.send(leader, 100)
    three.run_until_total(145, three.nodes)
    assert [node.errors for node in three.nodes] == [[], [], []]

    leader.stop()
    others = [node for node in three.nodes if node is not leader]
    second = three.elected(others)
    three.send(second, 1_000)
    three.run_until_total(1_145, others)
    assert three.extensions[leader.member_id].events[0] == "start"
    assert three.extensions[leader.member_id].events[-2:] == ["leads", "close"]
    # A follower may read the event that begins a term before or after its election has ended.
    events = three.extensions[second.member_id].events
    assert set(events) >= {"start", "term 0", "follows"}
    assert (events[0], events[-2:]) == ("start", ["prepare", "leads"])

    back = three.extensions[leader.member_id] = SummingExtension()
    leader._options["extension"] = back
    leader.start()
    three.elected(three.nodes)
    three.run_until_total(1_145, three.nodes)
    assert back.events[0] == "start from a snapshot"
    assert back.events[1].startswith("term ")  # of the next leader, for whom it may have taken several elections
    assert back.control is not None
    assert back.control.archive.is_connected
    assert (back.control.member_id, back.control.cluster_id) == (leader.member_id, 0)


def test_sessions_are_told_of_and_answered(tmp_path: Path) -> None:
    one = Cluster(tmp_path, 1)
    node = one.elected(one.nodes)
    answers: list[ExtensionMessage] = []
    aeron: Aeron = node.connect()
    connecting = AeronCluster.async_connect(
        aeron=aeron,
        ingress_channel="aeron:udp",
        ingress_endpoints=f"0={one.endpoints[0][0]}",
        egress_channel="aeron:udp?endpoint=127.0.0.1:0",
        egress_listener=lambda *_: None,
        extension_listener=answers.append,
    )
    run(one.nodes, connecting.poll)
    client = connecting.result()
    publication = client.ingress_publication
    assert publication is not None
    session_id = client.cluster_session_id
    for number in (40, 2):
        run(one.nodes, lambda: publication.offer(message(number, session_id).encode()) > 0)  # noqa: B023 called at once
    run(one.nodes, lambda: client.poll_egress() >= 0 and len(answers) == 2)
    assert [BODY.unpack(answer.payload) for answer in answers] == [(40, session_id), (42, session_id)]
    one.extensions[0].control.close_cluster_session(session_id)
    run(one.nodes, lambda: client.poll_egress() >= 0 and client.is_closed)
    assert one.extensions[0].events == ["start", "leads", f"session {session_id} opened", f"session {session_id} closed: SERVICE_ACTION"]
    assert one.extensions[0].control.get_client_session(session_id) is None
    assert node.errors == []
    aeron.close()
    one.close()


@pytest.mark.parametrize(("where", "ends"), [("on_start", True), ("on_election_complete", False), ("exit", True)])
def test_what_an_extension_raises_is_recorded(tmp_path: Path, where: str, ends: bool) -> None:
    one = Cluster(tmp_path, 1, [FailingExtension(where)])
    (node,) = one.nodes
    run(one.nodes, lambda: node.module is not None and (node.module.has_ended if ends else node.is_leader))
    found = [error for error in node.errors if f"wrong in {where}" in error]
    assert bool(found) is (where != "exit")
    assert node.module is not None
    assert node.module.has_ended is ends
    one.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"extension": SummingExtension(), "service_count": 1}, "service.count does not fit"),
        ({"service_count": 0}, "service.count does not fit"),
        ({"consensus_module_extension": "nowhere", "service_count": 0}, "there is no such extension"),
        ({"consensus_module_extension": "tests.nowhere:Extension", "service_count": 0}, "an extension cannot be made"),
    ],
)
def test_an_extension_stands_in_the_place_of_services(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ConsensusModuleContext(**{**NEEDED, **options})


def test_an_option_names_the_extension() -> None:
    name = "tests.cluster.module.summing_extension:SummingExtension"
    context = ConsensusModuleContext(**NEEDED, consensus_module_extension=name, service_count=0)
    assert type(context.extension).__name__ == "SummingExtension"
