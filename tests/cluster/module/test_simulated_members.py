"""Three members in a simulated world: the leader's machine dies, another one leads in time, and the killed one comes back."""

from __future__ import annotations

from collections.abc import Sequence

from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent, NewLeadershipTermEventDecoder
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.simulated_members import MS, SimulatedMember, new_members

SECOND = 1_000 * MS
MESSAGES = 20
EVENT_LENGTH = 96  # of NewLeadershipTermEvent, with its frame


def elected(members: Sequence[SimulatedMember]) -> SimulatedMember | None:
    """Return the leader that members have elected, once all follow it."""
    leaders = [member for member in members if member.is_leader]
    is_done = len(leaders) == 1 and all(member.is_leader or member.is_follower for member in members)
    return leaders[0] if is_done else None


def run_until_elected(world: SimulatedWorld, members: Sequence[SimulatedMember], limit_ns: int = 10 * SECOND) -> SimulatedMember:
    """Let the world run until members have elected a leader; return it."""
    assert world.run(limit_ns, until=lambda: elected(members) is not None), members
    leader = elected(members)
    assert leader is not None
    return leader


def append(world: SimulatedWorld, leader: SimulatedMember) -> int:
    """Append messages to a leader's log; return the position behind them."""
    leader.appended.clear()
    for number in range(MESSAGES):
        assert world.run(SECOND, until=lambda: leader.append(number)), leader  # noqa: B023 called at once
    assert world.run(SECOND, until=lambda: len(leader.appended) == MESSAGES), leader
    return leader.appended[-1].position


def have_read(members: Sequence[SimulatedMember], position: int) -> bool:
    """Return whether the services of members have read the log up to a position."""
    return all(member.service is not None and member.service.position == position for member in members)


def test_a_leader_that_is_killed_is_replaced_in_time_and_comes_back_as_a_follower() -> None:
    with SimulatedWorld(seed=1) as world:
        members = new_members(world, 3)
        leader = run_until_elected(world, members)
        end = append(world, leader)
        assert world.run(SECOND, until=lambda: have_read(members, end)), members

        leader.kill()
        killed_ns = world.clock.now_ns()
        others = [member for member in members if member is not leader]
        second = run_until_elected(world, others)
        assert world.clock.now_ns() - killed_ns < 1_300 * MS  # of which the heartbeat timeout is 1 s
        end = append(world, second)

        leader.start()
        started_ns = world.clock.now_ns()
        assert world.run(10 * SECOND, until=lambda: elected(members) is second and have_read(members, end)), members
        assert world.clock.now_ns() - started_ns < 2 * SECOND
        assert leader.service is not None
        assert second.service is not None
        assert leader.service.read == second.service.read
        for member in members:
            member.kill()


def test_a_leader_without_a_majority_shows_services_once_what_its_next_term_commits() -> None:
    with SimulatedWorld(seed=3) as world:
        members = new_members(world, 2)
        leader = run_until_elected(world, members)
        (follower,) = (member for member in members if member is not leader)
        follower.kill()
        end = append(world, leader)
        assert world.run(5 * SECOND, until=lambda: not leader.is_leader), leader
        follower.start()
        assert world.run(10 * SECOND, until=lambda: elected(members) is leader), members
        assert world.run(SECOND, until=lambda: have_read(members, end + EVENT_LENGTH)), members
        for member in members:
            assert member.service is not None
            positions = [position for position, _ in member.service.read]
            assert positions == sorted(set(positions)), member
            member.kill()


def test_a_member_that_was_away_for_terms_replicates_them_and_catches_up() -> None:
    with SimulatedWorld(seed=2) as world:
        members = new_members(world, 3)
        leader = run_until_elected(world, members)
        end = append(world, leader)
        assert world.run(SECOND, until=lambda: have_read(members, end)), members
        away = next(member for member in members if member is not leader)
        others = [member for member in members if member is not away]
        away.kill()
        for _ in range(2):
            end = append(world, leader)
            assert world.run(SECOND, until=lambda: have_read(others, end)), others  # noqa: B023 called at once
            leader.kill()
            leader.start()
            leader = run_until_elected(world, others, 20 * SECOND)
        end = append(world, leader)

        away.start()
        assert world.run(10 * SECOND, until=lambda: elected(members) is leader and have_read(members, end)), members
        assert away.service is not None
        assert leader.service is not None
        assert away.service.read == leader.service.read
        events = [message for _, message in away.service.read if message[2] == NewLeadershipTermEventDecoder.SBE_TEMPLATE_ID]
        assert [NewLeadershipTermEvent.decode(event).leadership_term_id for event in events] == [0, 1, 2]
        for member in members:
            member.kill()
