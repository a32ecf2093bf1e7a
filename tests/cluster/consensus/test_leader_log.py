"""What a follower does about a leader's log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aerowire.cluster.consensus.inputs import TermEntry
from aerowire.cluster.consensus.leader_log import Decision, LeaderLog, Step
from aerowire.cluster.consensus.messages import NewLeadershipTerm
from aerowire.cluster.consensus.term_table import TermTable

# The leader of term 3, whose log of term 1 ends at 96, of term 2 at 160, where its own begins.
TERM = NewLeadershipTerm(
    log_leadership_term_id=2,
    next_leadership_term_id=3,
    next_term_base_log_position=160,
    next_log_position=-1,
    leadership_term_id=3,
    term_base_log_position=160,
    log_position=224,
    leader_recording_id=0,
    timestamp=0,
    leader_member_id=1,
    log_session_id=5,
)
AT_TERM_1 = replace(TERM, log_leadership_term_id=1, next_leadership_term_id=2, next_term_base_log_position=96, next_log_position=160)
TERMS_TO_2 = TermTable([TermEntry(0, 0, 0), TermEntry(1, 0, 96), TermEntry(2, 96)])


def verified(leader_log: LeaderLog, append_position: int) -> Decision:
    """Ask where term 2 begins, and get the answer that it begins at 96."""
    assert leader_log.decide(TERM, TERMS_TO_2, 2, append_position, 0).step is Step.ASK
    return leader_log.decide(AT_TERM_1, TERMS_TO_2, 2, append_position, 0)


@pytest.mark.parametrize(
    ("append_position", "step", "position"),
    [(160, Step.FOLLOW, -1), (192, Step.TRUNCATE, 160), (128, Step.REPLICATE, 160)],
)
def test_a_log_of_the_same_term_follows_once_that_is_known(append_position: int, step: Step, position: int) -> None:
    decision = verified(LeaderLog(), append_position)
    assert (decision.step, decision.position) == (step, position)


def test_a_log_term_that_begins_elsewhere_is_truncated_to_where_both_logs_are_the_same() -> None:
    leader_log = LeaderLog()
    leader_log.decide(TERM, TERMS_TO_2, 2, 128, 0)
    other_base = replace(AT_TERM_1, next_term_base_log_position=160)
    assert leader_log.decide(other_base, TERMS_TO_2, 2, 128, 0) == Decision(Step.TRUNCATE, position=96, leadership_term_id=1)


def test_what_is_committed_is_never_truncated() -> None:
    assert LeaderLog().decide(AT_TERM_1, TermTable([TermEntry(0, 0, 0), TermEntry(1, 0)]), 1, 128, 128).step is Step.ASK
    leader_log = LeaderLog()
    leader_log.decide(TERM, TERMS_TO_2, 2, 192, 192)
    decision = leader_log.decide(AT_TERM_1, TERMS_TO_2, 2, 192, 192)
    assert decision == Decision(Step.IGNORE, "truncation to 160 would remove what is committed up to 192")


def test_an_empty_log_replicates_term_by_term() -> None:
    first = replace(TERM, log_leadership_term_id=-1, next_leadership_term_id=0, next_term_base_log_position=0, next_log_position=96)
    assert LeaderLog().decide(first, TermTable(), -1, 0, 0) == Decision(
        Step.REPLICATE, position=96, leadership_term_id=0, term_base_log_position=0
    )


def test_a_message_for_another_log_term_is_answered_by_a_canvass() -> None:
    assert LeaderLog().decide(AT_TERM_1, TERMS_TO_2, 2, 160, 0).step is Step.CANVASS


def test_a_leader_of_an_earlier_term_than_the_log_is_ignored() -> None:
    assert LeaderLog().decide(replace(TERM, leadership_term_id=1), TERMS_TO_2, 2, 160, 0).step is Step.IGNORE


def test_within_the_leaders_term_nothing_is_truncated_by_an_old_message() -> None:
    terms = TermTable([TermEntry(0, 0, 160), TermEntry(3, 160)])
    own_term = replace(TERM, log_leadership_term_id=3)
    assert LeaderLog().decide(own_term, terms, 3, 224, 0).step is Step.FOLLOW


def test_a_leader_that_does_not_know_the_log_term_truncates_nothing() -> None:
    leader_log = LeaderLog()
    leader_log.decide(TERM, TERMS_TO_2, 2, 128, 0)
    unknown = replace(AT_TERM_1, next_leadership_term_id=3, next_term_base_log_position=160)
    assert leader_log.decide(unknown, TERMS_TO_2, 2, 128, 0).step is Step.IGNORE
