"""The rules of a majority, as ClusterMember has them."""

from __future__ import annotations

import pytest

from aerowire.cluster.consensus.member_states import (
    MemberState,
    become_candidate,
    compare_log,
    has_active_quorum,
    has_majority,
    has_quorum_at_position,
    is_leader_of_present,
    is_quorum_candidate,
    is_quorum_leader,
    is_unanimous_candidate,
    is_unanimous_leader,
    quorum_position,
    quorum_position_bounded_by_leader_log,
    quorum_threshold,
)

TIMEOUT_NS = 10
NOW_NS = 100


def members(*logs: tuple[int, int]) -> list[MemberState]:
    """Return members that have told of logs just now."""
    states = [MemberState(member_id) for member_id in range(len(logs))]
    for state, (term_id, position) in zip(states, logs, strict=True):
        state.update_log_position(term_id, position, NOW_NS, is_following=True)
    return states


def voted(states: list[MemberState], term_id: int, *votes: bool | None) -> list[MemberState]:
    """Give members' votes of a ballot."""
    for state, vote in zip(states, votes, strict=True):
        state.candidate_term_id, state.vote = (-1, None) if vote is None else (term_id, vote)
    return states


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)])
def test_a_majority_is_more_than_half(count: int, threshold: int) -> None:
    assert quorum_threshold(count) == threshold


@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [((1, 0), (0, 100), 1), ((0, 100), (1, 0), -1), ((1, 96), (1, 64), 1), ((1, 64), (1, 96), -1), ((-1, 0), (-1, 0), 0)],
)
def test_logs_are_compared_by_term_then_by_position(lhs: tuple[int, int], rhs: tuple[int, int], expected: int) -> None:
    assert compare_log(*lhs, *rhs) == expected


@pytest.mark.parametrize(
    ("positions", "expected"),
    [((64,), 64), ((96, 64), 64), ((96, 64, 32), 64), ((0, 0, 96), 0), ((160, 128, 96, 64, 32), 96), ((5, 5, 5), 5)],
)
def test_the_quorum_position_is_what_a_majority_has(positions: tuple[int, ...], expected: int) -> None:
    assert quorum_position(members(*((2, position) for position in positions)), 2, NOW_NS, TIMEOUT_NS) == expected


def test_silent_members_have_no_position() -> None:
    states = members((2, 96), (2, 96), (2, 96))
    states[1].time_of_last_append_position_ns = NOW_NS - TIMEOUT_NS
    states[2].time_of_last_append_position_ns = NOW_NS - TIMEOUT_NS + 1
    assert quorum_position(states, 2, NOW_NS, TIMEOUT_NS) == 96
    states[2].time_of_last_append_position_ns = None
    assert quorum_position(states, 2, NOW_NS, TIMEOUT_NS) == 0


def test_positions_of_other_terms_do_not_count() -> None:
    assert quorum_position(members((2, 96), (1, 96), (1, 960)), 2, NOW_NS, TIMEOUT_NS) == 0


def test_the_leaders_own_position_bounds_the_quorum_position() -> None:
    states = members((2, 32), (2, 96), (2, 96))
    assert quorum_position(states, 2, NOW_NS, TIMEOUT_NS) == 96
    assert quorum_position_bounded_by_leader_log(states, 2, 32, NOW_NS, TIMEOUT_NS) == 32


def test_a_quorum_is_active_within_the_timeout_only() -> None:
    states = members((2, 0), (2, 0), (2, 0))
    assert has_active_quorum(states, NOW_NS + TIMEOUT_NS - 1, TIMEOUT_NS)
    assert not has_active_quorum(states, NOW_NS + TIMEOUT_NS, TIMEOUT_NS)


def test_a_quorum_at_a_position_follows_the_term() -> None:
    states = members((2, 96), (2, 96), (1, 96))
    assert has_quorum_at_position(states, 2, 96, NOW_NS, TIMEOUT_NS)
    assert not has_quorum_at_position(states, 2, 97, NOW_NS, TIMEOUT_NS)
    states[1].update_log_position(2, 96, NOW_NS)  # a canvass: the member looks for its leader
    assert not has_quorum_at_position(states, 2, 96, NOW_NS, TIMEOUT_NS)


def test_a_candidate_is_unanimous_if_nobody_is_ahead() -> None:
    states = members((1, 96), (1, 64), (0, 960))
    assert is_unanimous_candidate(states, states[0], -1)
    assert not is_unanimous_candidate(states, states[1], -1)
    assert is_quorum_candidate(states, states[1])
    states[2].reset()
    assert not is_unanimous_candidate(states, states[0], -1)
    assert is_quorum_candidate(states, states[0])


def test_a_leader_that_closed_gracefully_is_not_waited_for() -> None:
    states = members((1, 96), (1, 64), (1, 96))
    states[2].reset()
    assert is_unanimous_candidate(states, states[0], 2)
    states[1].reset()
    assert not is_unanimous_candidate(states[:2], states[0], 1)
    voted(states, 5, True, True, None)
    assert is_unanimous_leader(states, 5, 2)
    assert not is_unanimous_leader(states, 5, -1)


def test_a_vote_against_keeps_a_majority_from_an_early_win() -> None:
    states = voted(members((1, 0), (1, 0), (1, 0), (1, 0), (1, 0)), 5, True, True, True, False, None)
    assert has_majority(states, 5)
    assert not is_quorum_leader(states, 5)
    assert not is_leader_of_present(states, 5)


def test_members_that_told_of_no_log_are_not_waited_for() -> None:
    states = voted(members((1, 0), (1, 0), (1, 0)), 5, True, True, None)
    assert is_quorum_leader(states, 5)
    assert not is_leader_of_present(states, 5)
    states[2].reset()
    assert is_leader_of_present(states, 5)


def test_votes_of_another_term_do_not_count() -> None:
    states = voted(members((1, 0), (1, 0), (1, 0)), 4, True, True, True)
    assert not has_majority(states, 5)
    become_candidate(states, 5, 1)
    assert [(state.vote, state.candidate_term_id, state.is_ballot_sent) for state in states] == [
        (None, -1, False),
        (True, 5, True),
        (None, -1, False),
    ]
