"""Members with driver, archive and a scripted service each, in one thread: election, log, fail-over, catch-up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ActiveClusterError, ClosedError
from aerowire.cluster.files.member_directory import describe_member
from aerowire.cluster.module.consensus_module import ConsensusModule, ConsensusModuleLaunch
from aerowire.cluster.module.log.log_publisher import Appended
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ClusterRole, ConsensusModuleState, ElectionState
from aerowire.codecs.tables.counters import CounterType
from aerowire.system.file_system import FileSystem
from tests.cluster.module.nodes import OPTIONS, Node, run
from tests.support.processes import free_port

EVENT_LENGTH = 96  # of NewLeadershipTermEvent, with its frame


class Cluster:
    """Nodes, all of which work whenever one is waited for."""

    def __init__(self, directory: Path, size: int) -> None:
        endpoints = [[f"127.0.0.1:{free_port()}" for _ in range(5)] for _ in range(size)]
        members = "|".join(f"{member_id},{','.join(own)}" for member_id, own in enumerate(endpoints))
        self.nodes = [Node(directory / str(member_id), members, member_id, own[4]) for member_id, own in enumerate(endpoints)]
        for node in self.nodes:
            node.start()

    def elected(self, nodes: list[Node]) -> Node:
        """Let all work until nodes have elected one of them; return that."""
        run(self.nodes, lambda: [node.is_leader for node in nodes].count(True) == 1 and all(n.is_leader or n.is_follower for n in nodes))
        return next(node for node in nodes if node.is_leader)

    def append(self, leader: Node, count: int) -> int:
        """Append messages to the leader's log; return the position behind them."""
        assert leader.module is not None
        effects = leader.module.agent._effects
        assert effects is not None
        publisher = effects._log_publisher
        header = SessionMessageHeader(leadership_term_id=0, cluster_session_id=1, timestamp=0).encode()
        results: list[Appended] = []
        for number in range(count):
            run(self.nodes, lambda: publisher.append(header + b"message %d" % number, results.append))  # noqa: B023 called at once
        run(self.nodes, lambda: len(results) == count)
        return results[-1].position

    def run_until_read(self, nodes: list[Node], position: int) -> None:
        """Let all work until the services of nodes have read the log up to a position."""
        run(self.nodes, lambda: all(node.service is not None and node.service.position == position for node in nodes))

    def close(self) -> None:
        """End all."""
        for node in self.nodes:
            node.close()


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, 1)
    yield cluster
    cluster.close()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path, 3)
    yield cluster
    cluster.close()


def test_a_member_alone_elects_itself_and_begins_its_term(one: Cluster) -> None:
    node = one.elected(one.nodes)
    one.run_until_read([node], EVENT_LENGTH)
    assert node.service is not None
    ((_, message),) = node.service.read
    event = NewLeadershipTermEvent.decode(message)
    assert (event.leadership_term_id, event.log_position, event.term_base_log_position, event.leader_member_id) == (0, 96, 0, 0)
    assert node.counter(CounterType.CLUSTER_CONSENSUS_MODULE_STATE) == ConsensusModuleState.ACTIVE
    assert node.counter(CounterType.CLUSTER_ELECTION_STATE) == ElectionState.CLOSED
    assert node.counter(CounterType.CLUSTER_NODE_ROLE) == ClusterRole.LEADER
    assert node.counter(CounterType.CLUSTER_CONTROL_TOGGLE) == ClusterControlToggle.NEUTRAL
    assert node.counter(CounterType.CLUSTER_ELECTION_COUNT) == 1
    assert node.counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID) == 0
    assert node.counter(CounterType.CLUSTER_COMMIT_POSITION) == EVENT_LENGTH
    assert node.errors == []
    described = describe_member(FileSystem(), node.directory / "cluster")
    assert (described.component.header.member_id, described.component.header.cluster_id) == (0, 0)


def test_a_member_that_starts_again_has_services_consume_its_log(one: Cluster) -> None:
    node = one.elected(one.nodes)
    end = one.append(node, 100)
    one.run_until_read([node], end)
    assert node.service is not None
    before = node.service.read
    node.stop()
    node.start()
    one.elected(one.nodes)
    one.run_until_read([node], end + EVENT_LENGTH)
    assert node.service.read[: len(before)] == before
    assert [(join.log_position, join.max_log_position) for join in node.service.joins] == [(0, end), (end, 2**63 - 1)]
    assert node.counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID) == 1


def test_three_members_elect_replicate_fail_over_and_take_the_former_leader_back(three: Cluster) -> None:
    leader = three.elected(three.nodes)
    end = three.append(leader, 300)
    three.run_until_read(three.nodes, end)

    leader.stop()
    others = [node for node in three.nodes if node is not leader]
    second = three.elected(others)
    assert second.counter(CounterType.CLUSTER_LEADERSHIP_TERM_ID) == 1
    end = three.append(second, 300)
    three.run_until_read(others, end)

    leader.start()
    assert three.elected(three.nodes) is second
    three.run_until_read(three.nodes, end)
    assert leader.service is not None
    assert second.service is not None
    assert leader.service.read == second.service.read


def launch_beside(one: Cluster, directory: str, **options: Any) -> ConsensusModuleLaunch:
    """Launch another consensus module at the driver of an elected member, until the launch has its result."""
    (node,) = one.nodes
    one.elected(one.nodes)
    launching = ConsensusModule.async_launch(
        aeron_dir=node.driver.aeron_dir,
        cluster_dir=str(node.directory / directory),
        use_agent_invoker=True,
        **{**OPTIONS, "cluster_members": "0,a:1,a:2,a:3,a:4,a:5", **options},
    )
    run(one.nodes, launching.poll)
    return launching


def test_one_consensus_module_lives_in_a_directory(one: Cluster) -> None:
    launching = launch_beside(one, "cluster", cluster_id=9)
    with pytest.raises(ActiveClusterError):
        launching.result()


def test_a_cluster_has_one_consensus_module_at_a_driver(one: Cluster) -> None:
    launching = launch_beside(one, "other")
    with pytest.raises(ActiveClusterError, match="existing consensus module detected"):
        launching.result()


def test_a_consensus_module_that_has_a_thread_has_no_invoker(one: Cluster) -> None:
    one.elected(one.nodes)
    module = one.nodes[0].module
    assert module is not None
    assert not module.has_ended
    one.nodes[0].stop()
    assert module.is_closed
    assert module.has_ended
    module.close()
    with pytest.raises(ClosedError, match="closed"):
        module.aeron.ensure_open()
