"""A follower whose Python stands still, as when a call of it computes without end: its native agent goes on with the leader's log."""

from __future__ import annotations

from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.simulated_members import MS, SimulatedMember, new_members
from tests.cluster.module.test_simulated_members import SECOND, append, have_read, run_until_elected

SLOW_LOOK_NS = 20 * MS  # a world of 20 s costs less then


def image_of_log(member: SimulatedMember) -> int:
    """Return the id of the image that the member's agent consumes."""
    assert member.module is not None
    effects = member.module.agent._effects
    assert effects is not None
    (log,) = effects._consumption._images
    return log.image.image_id


def election_count(member: SimulatedMember) -> int:
    """Return how many elections there were in the life of a member."""
    assert member.module is not None
    return member.module.agent.core.counter_value(CounterType.CLUSTER_ELECTION_COUNT)


def test_a_follower_whose_conductor_stands_still_for_20_seconds_keeps_its_services_at_the_leaders_commit() -> None:
    with SimulatedWorld(seed=4) as world:
        members = new_members(world, 2)
        leader = run_until_elected(world, members)
        (follower,) = (member for member in members if member is not leader)
        end = append(world, leader)
        assert world.run(SECOND, until=lambda: have_read(members, end)), members  # the event that begins a term holds the log
        image_id = image_of_log(follower)
        for member in members:
            member.look_ns = SLOW_LOOK_NS

        follower.is_stalled = True
        for _ in range(20):
            begun_ns = world.clock.now_ns()
            end = append(world, leader)
            assert world.run(SECOND, until=lambda: have_read(members, end)), members  # noqa: B023 called at once
            world.run(begun_ns + SECOND - world.clock.now_ns())
        follower.is_stalled = False

        world.run(2 * SECOND)
        assert (leader.is_leader, follower.is_follower) == (True, True), members
        assert [election_count(member) for member in members] == [1, 1]
        assert image_of_log(follower) == image_id
        end = append(world, leader)
        assert world.run(SECOND, until=lambda: have_read(members, end)), members
        for member in members:
            member.kill()
