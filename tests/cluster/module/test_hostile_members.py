"""Messages to three members that no client, member or service would send, and such as the rules accept: they end no member.

A leader stays the leader but for messages by which the rules begin an election, and after these there is a leader again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aerowire.codecs.flyweights import cluster
from aerowire.simulation.world import SimulatedWorld
from tests.cluster.module.simulated_attacker import SimulatedAttacker
from tests.cluster.module.simulated_members import DRIVER, MS, SimulatedMember, new_members
from tests.cluster.module.test_simulated_members import SECOND, append, elected, have_read, run_until_elected
from tests.conftest import SEED
from tests.support.hostile.cluster import ClusterView, HostileMessages

MESSAGES = 50
ELECTION_MESSAGES = 20
PAUSE_NS = MS // 2
TOO_LONG = 80_000  # for the streams of members, but not for those of the attacker


class Scene:
    """Three members with a leader, and an attacker with a host of its own."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world
        self.members = new_members(world, 3)
        self.leader = run_until_elected(world, self.members)
        self.followers = [member for member in self.members if member is not self.leader]
        self.term_id = term_of(self.leader)
        host = world.add_empty_host("10.0.0.9")
        host.start_driver(**DRIVER)
        self.attacker = SimulatedAttacker(world, host)

    def expect_the_same_term(self) -> None:
        """Let members go on for longer than a leader may be silent; assert that nothing has changed, and that the log goes on."""
        assert not self.world.run(1_500 * MS, until=self._has_changed), self.members
        end = append(self.world, self.leader)
        assert self.world.run(SECOND, until=lambda: have_read(self.members, end)), self.members

    def _has_changed(self) -> bool:
        return elected(self.members) is not self.leader or term_of(self.leader) != self.term_id


@pytest.fixture
def scene() -> Iterator[Scene]:
    with SimulatedWorld(seed=SEED) as world:
        scene = Scene(world)
        yield scene
        for member in scene.members:
            member.kill()


def term_of(member: SimulatedMember) -> int:
    """Return the term that a member takes part in."""
    assert member.module is not None
    assert member.module.agent.machine is not None
    return member.module.agent.machine.leadership_term_id


def test_messages_that_are_too_long_for_the_streams_behind_them_are_dropped(scene: Scene) -> None:
    attacker, (follower, _) = scene.attacker, scene.followers
    answer = cluster.ChallengeResponse(correlation_id=1, cluster_session_id=1, encoded_credentials=bytes(TOO_LONG))
    attacker.send(attacker.ingress(follower), answer.encode())  # which it passes on to the leader
    catchup = cluster.CatchupPosition(
        leadership_term_id=scene.term_id,
        log_position=0,
        follower_member_id=follower.member_id,
        catchup_endpoint="x:" + "1" * TOO_LONG,
    )
    attacker.send(attacker.consensus(scene.leader), catchup.encode())  # which asks its archive for a replay
    ingress = attacker.ingress(scene.leader)
    session_id = attacker.open_session(ingress)
    header = cluster.SessionMessageHeader(leadership_term_id=scene.term_id, cluster_session_id=session_id, timestamp=0).encode()
    attacker.send(ingress, header + bytes(TOO_LONG))
    attacker.send(ingress, header + b"behind")
    attacker.until(lambda: has_read(scene.leader, b"behind"), scene.members)
    scene.expect_the_same_term()


def test_random_messages_on_all_streams_change_neither_leader_nor_term(scene: Scene) -> None:
    view = ClusterView((0, 1, 2), scene.leader.member_id, scene.term_id, append(scene.world, scene.leader))
    messages = HostileMessages(SEED, view, (scene.attacker.egress_channel,))
    for member in scene.members:
        ingress, consensus = scene.attacker.ingress(member), scene.attacker.consensus(member)
        local = SimulatedAttacker(scene.world, member.host)
        service = local.service()
        for _ in range(MESSAGES):
            scene.attacker.send(ingress, messages.ingress())
            scene.attacker.send(consensus, messages.consensus())
            local.send(service, messages.service())
            scene.attacker.poll()
            scene.world.run(PAUSE_NS)
    scene.expect_the_same_term()


def test_after_messages_that_begin_elections_there_is_a_leader_again(scene: Scene) -> None:
    view = ClusterView((0, 1, 2), scene.leader.member_id, scene.term_id)
    messages = HostileMessages(SEED, view)
    streams = [scene.attacker.consensus(member) for member in scene.members]
    for number in range(ELECTION_MESSAGES):
        view.leadership_term_id = max(map(term_of, scene.members))
        scene.attacker.send(streams[number % 3], messages.election())
        scene.world.run(messages.dice.choice((0, 10, 300)) * MS)
    leader = run_until_elected(scene.world, scene.members, 30 * SECOND)
    end = append(scene.world, leader)
    assert scene.world.run(5 * SECOND, until=lambda: have_read(scene.members, end)), scene.members


def has_read(member: SimulatedMember, ending: bytes) -> bool:
    """Return whether the service of a member has read a message with an ending."""
    return member.service is not None and any(message.endswith(ending) for _, message in member.service.read)
