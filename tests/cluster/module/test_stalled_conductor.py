"""A member whose Python stands still, as when a call of it computes without end: its native agent goes on with the term."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.cluster import AeronCluster, ClusterState
from aerowire.cluster.client.context import ClusterClientContext
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.simulated_members import DRIVER, MS, SimulatedMember, new_members
from tests.cluster.module.test_simulated_members import SECOND, run_until_elected

MESSAGE_LENGTH = 96  # of a session message with ten bytes of payload, with its frame
SLOW_LOOK_NS = 20 * MS  # a world of 20 s in less than as many


class Client:
    """A client of the cluster on a host of its own. Changed by the world; `connect` begins a session."""

    def __init__(self, world: SimulatedWorld, members: list[SimulatedMember]) -> None:
        host = world.add_empty_host("10.0.0.9")
        host.start_driver(**DRIVER)
        self._process = host.connect(work=self._work, next_deadline_ns=lambda: world.clock.now_ns() + SLOW_LOOK_NS)
        endpoints = ",".join(f"{member.member_id}={member.host.address}:9001" for member in members)
        context = ClusterClientContext.of(
            aeron=self._process.aeron,
            ingress_channel="aeron:udp?term-length=64k",
            ingress_endpoints=endpoints,
            egress_channel=f"aeron:udp?endpoint={host.address}:0",
            environ={},
        )
        self._connecting = AeronCluster.async_connect(context)
        self.cluster: AeronCluster | None = None

    def _work(self) -> int:
        if self.cluster is None:
            if self._connecting.poll():
                self.cluster = self._connecting.result()
            return 0
        return self.cluster.poll_egress() + self.cluster.poll_state_changes()


def commit_position(member: SimulatedMember) -> int:
    """Return the commit position that a member shows."""
    assert member.service is not None
    return member.service.commit_position


@pytest.mark.parametrize("is_whole_cluster", [False, True], ids=["leader", "all members"])
def test_a_conductor_that_stands_still_for_20_seconds_costs_no_term_and_no_client(is_whole_cluster: bool) -> None:
    with SimulatedWorld(seed=4) as world:
        members = new_members(world, 3)
        leader = run_until_elected(world, members)
        client = Client(world, members)
        assert world.run(5 * SECOND, until=lambda: client.cluster is not None), members
        cluster: Any = client.cluster
        assert leader.module is not None
        agent = leader.module.agent
        assert agent.machine is not None
        term_id, images = agent.machine.leadership_term_id, agent.member._ingress._images.copy()
        assert world.run(SECOND, until=lambda: False) is False  # the session's open event is committed
        for member in members:
            member.look_ns = SLOW_LOOK_NS

        stalled = members if is_whole_cluster else [leader]
        for member in stalled:
            member.is_stalled = True
        for second in range(20):
            begin = commit_position(leader)
            assert cluster.offer(b"message %02d" % second) > 0
            assert world.run(SECOND, until=lambda: False) is False
            for member in members:
                assert commit_position(member) == begin + MESSAGE_LENGTH, (second, members)
            assert cluster.send_keep_alive()
        for member in stalled:
            member.is_stalled = False

        assert world.run(2 * SECOND, until=lambda: False) is False
        assert leader.is_leader, members
        assert [member.is_follower for member in members].count(True) == 2, members
        assert (agent.machine.leadership_term_id, agent.member._ingress._images) == (term_id, images)
        assert agent.core.counter_value(CounterType.CLUSTER_CLIENT_TIMEOUT_COUNT) == 0
        assert cluster.state is ClusterState.CONNECTED
        assert cluster.offer(b"message 20") > 0
        end = commit_position(leader)
        assert world.run(SECOND, until=lambda: commit_position(leader) > end), members
        for member in members:
            member.kill()
