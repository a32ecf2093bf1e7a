"""The native machines of commit decide as those of consensus do, on random input; and their own rules, one by one."""

from __future__ import annotations

import random

import pytest

from aerowire.cluster.agents.follower_commit import FollowerCommit, FollowerStep
from aerowire.cluster.agents.leader_commit import LeaderCommit, LeaderStep
from aerowire.cluster.agents.member_positions import MemberPositions, ReportedPosition
from aerowire.cluster.consensus.core import ConsensusCore
from aerowire.cluster.consensus.effects import NotifyCommit, Send
from aerowire.cluster.consensus.follower_commit import FollowerCommit as FollowerTwin
from aerowire.cluster.consensus.inputs import RecoveryFacts
from aerowire.cluster.consensus.leader_commit import LeaderCommit as LeaderTwin
from aerowire.cluster.consensus.member_states import MemberState
from aerowire.cluster.consensus.messages import AppendPosition, CommitPosition, TerminationPosition
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.cluster.consensus.term_table import TermTable
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.system.random import SeededRandom

TERM = 5
INTERVAL_NS = 200
TIMEOUT_NS = 1_000
TURNS = 150
STEPS = 200


def core_of(count: int, role: ClusterRole, now_ns: int, append_position: int = 0, commit_position: int = 0) -> ConsensusCore:
    """Return what a member of so many knows once an election has ended."""
    options = ConsensusOptions(leader_heartbeat_interval_ns=INTERVAL_NS, leader_heartbeat_timeout_ns=TIMEOUT_NS)
    members = tuple(MemberState(member_id) for member_id in range(count))
    core = ConsensusCore(0, members, options, SeededRandom(1), TermTable(), RecoveryFacts())
    core.role, core.leadership_term_id, core.now_ns = role, TERM, now_ns
    core.append_position, core.log_position = append_position, commit_position
    core.leader_id = 0 if role is ClusterRole.LEADER else 1
    return core


def test_a_leader_commits_as_its_twin_does(seed: int) -> None:
    draw = random.Random(seed)
    seen = set()
    for _ in range(TURNS):
        count = draw.choice((1, 2, 3, 4, 5, 7))
        now_ns = draw.choice((0, 1_000_000))
        commit_position = draw.randrange(0, 300)
        append_position = draw.randrange(commit_position, 400)
        core = core_of(count, ClusterRole.LEADER, now_ns, append_position, commit_position)
        elections: list[str] = []
        twin = LeaderTwin(core, elections.append)
        twin.begin()
        native = LeaderCommit(
            0,
            MemberPositions(range(count)),
            leadership_term_id=TERM,
            commit_position=commit_position,
            heartbeat_interval_ns=INTERVAL_NS,
            heartbeat_timeout_ns=TIMEOUT_NS,
        )
        for _ in range(STEPS):
            core.now_ns += draw.choice((0, 1, 50, 199, 200, 999, 1_000) if draw.random() < 0.3 else (0, 1, 10))
            core.append_position += draw.choice((0, 0, 32, 320))
            for _ in range(draw.randrange(2 * count)):
                member = draw.randrange(count)
                term_id, position = draw.choice((TERM, TERM, TERM, TERM - 1, -1)), draw.randrange(0, core.append_position + 500)
                core.members[member].update_log_position(term_id, position, core.now_ns, is_following=True)
                assert native.positions.update(member, term_id, position, core.now_ns)
            twin.tick()
            steps = native.tick(core.append_position, core.now_ns)
            assert bool(steps & LeaderStep.LEADER_INACTIVE_QUORUM) is bool(elections)
            sent = [effect.message for effect in core.effects if isinstance(effect, Send)]
            notified = [effect.position for effect in core.effects if isinstance(effect, NotifyCommit)]
            is_published = bool(steps & LeaderStep.LEADER_PUBLISH)
            assert sent == [CommitPosition(TERM, native.commit_position, 0)] * (count - 1) * is_published
            assert notified == [native.commit_position] * bool(steps & LeaderStep.LEADER_ADVANCE)
            assert native.commit_position == core.log_position
            seen.add(steps)
            core.effects.clear()
            if elections:
                break
    assert len(seen) == 4, f"of the kinds of steps there were only {seen}"


def test_a_follower_answers_as_its_twin_does(seed: int) -> None:
    draw = random.Random(seed)
    seen = set()
    for _ in range(TURNS):
        core = core_of(3, ClusterRole.FOLLOWER, draw.choice((0, 1_000_000)), draw.randrange(0, 100))
        elections: list[str] = []
        twin = FollowerTwin(core, elections.append)
        twin.begin()
        core.effects.clear()
        native = FollowerCommit(
            leadership_term_id=TERM,
            leader_id=1,
            append_position=core.append_position,
            notified_commit_position=core.notified_commit_position,
            heartbeat_interval_ns=INTERVAL_NS,
            heartbeat_timeout_ns=TIMEOUT_NS,
            now_ns=core.now_ns,
        )
        for _ in range(STEPS):
            core.now_ns += draw.choice((0, 1, 50, 199, 200, 500))
            core.append_position += draw.choice((0, 0, 0, 32))
            if draw.random() < 0.4:
                term_id, leader_id = draw.choice((TERM, TERM, TERM, TERM - 1, TERM + 1)), draw.choice((1, 1, 1, 2))
                position = draw.randrange(0, 1_000)
                twin.on_leader_word(CommitPosition(term_id, position, leader_id))
                native.on_commit_position(term_id, leader_id, position, core.now_ns)
            if draw.random() < 0.005:
                twin.on_termination_position(TerminationPosition(TERM, 64))
                native.on_termination_position(core.now_ns)
            core.effects.clear()
            twin.tick()
            steps = native.tick(core.append_position, core.now_ns)
            assert (steps == FollowerStep.FOLLOWER_SILENT_LEADER) is bool(elections)
            sent = [(effect.member_id, effect.message) for effect in core.effects if isinstance(effect, Send)]
            expected = [(1, AppendPosition(TERM, native.last_append_position, 0))] * (steps == FollowerStep.FOLLOWER_SEND)
            assert sent == expected
            assert native.notified_commit_position == core.notified_commit_position
            seen.add(steps)
            if elections:
                break
    assert seen == {0, 1, 2}


def test_a_follower_sends_again_what_was_not_sent() -> None:
    follower = FollowerCommit(
        leadership_term_id=TERM,
        leader_id=1,
        append_position=0,
        notified_commit_position=0,
        heartbeat_interval_ns=INTERVAL_NS,
        heartbeat_timeout_ns=TIMEOUT_NS,
        now_ns=0,
    )
    assert follower.tick(32, 1) == FollowerStep.FOLLOWER_SEND
    follower.on_send_failed()
    assert follower.tick(32, 2) == FollowerStep.FOLLOWER_SEND
    assert follower.tick(32, 3) == FollowerStep.FOLLOWER_IDLE
    assert follower.next_deadline_ns() == 2 + INTERVAL_NS


def test_positions_of_members_are_reported_as_they_were_told() -> None:
    positions = MemberPositions([7, 3])
    assert positions.update(3, TERM, 640, 99)
    assert not positions.update(5, TERM, 640, 99)
    assert positions.reported() == [ReportedPosition(7, -1, -1, None), ReportedPosition(3, TERM, 640, 99)]
    assert (positions.count, positions.quorum_threshold) == (2, 2)


def test_a_term_begins_with_what_members_told_before_and_the_whole_time_out_for_the_rest() -> None:
    heard, positions = MemberPositions([1, 2, 3, 9]), MemberPositions([1, 2, 3, 4])
    heard.update(1, TERM, 640, 50)
    heard.update(2, TERM, 320, 40)
    heard.update(9, TERM, 640, 90)
    positions.update(2, TERM, 352, 41)
    positions.adopt(heard, 100)
    assert positions.reported() == [
        ReportedPosition(1, TERM, 640, 50),
        ReportedPosition(2, TERM, 352, 41),
        ReportedPosition(3, -1, -1, 100),
        ReportedPosition(4, -1, -1, 100),
    ]


@pytest.mark.parametrize("member_ids", [[], [1, 1], range(1025)])
def test_ids_that_are_not_one_per_member_are_refused(member_ids: list[int]) -> None:
    with pytest.raises(ValueError, match="member ids: expected 1 to 1024 different ones"):
        MemberPositions(member_ids)


def test_a_leader_is_one_of_the_members() -> None:
    with pytest.raises(ValueError, match="member id: expected one of the members, actual 9"):
        LeaderCommit(9, MemberPositions([1]), leadership_term_id=1, commit_position=0, heartbeat_interval_ns=1, heartbeat_timeout_ns=2)
