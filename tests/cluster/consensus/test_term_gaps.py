"""Terms that are too far ahead of the log's: no vote and no leader's word leads there, because recording.log could not store them."""

from __future__ import annotations

from aerowire.cluster.consensus.core import TERM_GAP_MAX
from aerowire.cluster.consensus.effects import StoreCandidateTerm
from aerowire.cluster.consensus.inputs import CandidateTermStored, RecoveryFacts, TermEntry
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import RequestVote
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.cluster.files.recording_log import MISSING_TERMS_MAX
from aerowire.system.random import SeededRandom

LOG_TERM = 7


def canvassing() -> ConsensusMachine:
    """Return a member whose log is of a term, in a canvass."""
    facts = RecoveryFacts(terms=(TermEntry(LOG_TERM, 0),), candidate_term_id=LOG_TERM, log_recording_id=0)
    machine = ConsensusMachine(0, (0, 1, 2), ConsensusOptions(), SeededRandom(1), facts)
    machine.start(0)
    return machine


def asked(machine: ConsensusMachine, candidate_term_id: int) -> bool:
    """Return whether a member votes in a term, in any way."""
    effects = machine.handle(1, RequestVote(LOG_TERM, 0, candidate_term_id, 1))
    if StoreCandidateTerm(candidate_term_id, 0) not in effects:
        return False
    machine.handle(2, CandidateTermStored(candidate_term_id))
    return True


def test_a_vote_is_given_in_no_term_that_is_too_far_ahead() -> None:
    machine = canvassing()
    assert not asked(machine, LOG_TERM + TERM_GAP_MAX + 1)
    assert machine.candidate_term_id == LOG_TERM
    assert machine.dropped_messages == 1
    assert asked(machine, LOG_TERM + TERM_GAP_MAX)


def test_requests_one_after_another_lead_no_further() -> None:
    machine = canvassing()
    assert asked(machine, LOG_TERM + TERM_GAP_MAX)
    assert not asked(machine, LOG_TERM + TERM_GAP_MAX + 1)
    assert not asked(machine, LOG_TERM + 2 * TERM_GAP_MAX)


def test_what_is_believed_can_be_stored_even_if_as_many_elections_fail_before_it() -> None:
    assert 2 * TERM_GAP_MAX <= MISSING_TERMS_MAX
