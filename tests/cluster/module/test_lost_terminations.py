"""Ends of a cluster that do not come about: a leader loses its term before they are committed, a service dies before it comes there."""

from __future__ import annotations

import pytest

from aerowire.codecs.flyweights.cnc import ClusterControlToggle, ConsensusModuleState
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.partitions import Partition
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.simulated_members import SimulatedMember, new_members
from tests.cluster.module.test_simulated_members import SECOND, append, elected, have_read, run_until_elected


def toggle(leader: SimulatedMember, value: ClusterControlToggle) -> None:
    assert leader.module is not None
    leader.module.agent.core.set_counter(CounterType.CLUSTER_CONTROL_TOGGLE, value)


def state(member: SimulatedMember) -> ConsensusModuleState:
    assert member.module is not None
    return member.module.agent.member.state


def leader_without_a_majority(world: SimulatedWorld) -> tuple[SimulatedMember, SimulatedMember]:
    """Return a leader whose log goes on uncommitted, and the other member, which is down."""
    members = new_members(world, 2)
    leader = run_until_elected(world, members)
    (other,) = (member for member in members if member is not leader)
    end = append(world, leader)
    assert world.run(SECOND, until=lambda: have_read(members, end)), members
    other.kill()
    append(world, leader)
    return leader, other


def test_a_leader_ends_whose_services_end_where_the_log_may_never_come_to() -> None:
    with SimulatedWorld(seed=5) as world:
        leader, other = leader_without_a_majority(world)
        toggle(leader, ClusterControlToggle.ABORT)
        assert world.run(SECOND // 2, until=lambda: state(leader) is ConsensusModuleState.TERMINATING), leader
        assert world.run(5 * SECOND, until=lambda: leader.module is not None and leader.module.has_ended), leader
        assert "before the abort at" in repr(leader)
        leader.kill()
        for member in (leader, other):
            member.start()
        end = append(world, run_until_elected(world, (leader, other)))
        assert world.run(SECOND, until=lambda: have_read((leader, other), end)), (leader, other)
        for member in (leader, other):
            member.kill()


def test_a_shutdown_that_the_log_does_not_have_has_not_begun() -> None:
    with SimulatedWorld(seed=6) as world:
        members = new_members(world, 3)
        leader = run_until_elected(world, members)
        end = append(world, leader)
        assert world.run(SECOND, until=lambda: have_read(members, end)), members
        others = [member for member in members if member is not leader]
        partition = Partition((leader.host.address,), tuple(other.host.address for other in others))
        world.network.partition(partition)
        append(world, leader)
        toggle(leader, ClusterControlToggle.SHUTDOWN)
        assert world.run(SECOND // 2, until=lambda: state(leader) is ConsensusModuleState.SNAPSHOT), leader
        second = run_until_elected(world, others)
        world.network.heal(partition)
        assert run_until_elected(world, members) is second
        for _ in range(2):  # past the position of the shutdown
            end = append(world, second)
            assert world.run(SECOND, until=lambda: have_read(members, end)), members  # noqa: B023 called at once
        world.run(SECOND)
        assert elected(members) is second
        assert [state(member) for member in members] == [ConsensusModuleState.ACTIVE] * 3
        for member in members:
            member.kill()


@pytest.mark.parametrize("of_leader", [True, False])
def test_a_member_ends_whose_service_dies_before_it_comes_to_its_end(of_leader: bool) -> None:
    with SimulatedWorld(seed=7) as world:
        members = new_members(world, 2)
        leader = run_until_elected(world, members)
        end = append(world, leader)
        assert world.run(SECOND, until=lambda: have_read(members, end)), members
        (member,) = (member for member in members if (member is leader) == of_leader)
        member.service = None  # the driver misses its client after a while
        toggle(leader, ClusterControlToggle.ABORT)
        assert world.run(SECOND, until=lambda: state(member) is ConsensusModuleState.TERMINATING), member
        assert world.run(30 * SECOND, until=lambda: all(other.module is not None and other.module.has_ended for other in members)), members
        assert "services (0,) closed before they came to their end" in repr(member)
        for other in members:
            assert ("unexpected termination" in repr(other)) == (other is member)
            other.kill()
