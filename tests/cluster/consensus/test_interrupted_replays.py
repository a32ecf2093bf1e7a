"""Replays that end before their end: what services have consumed of them is not replayed to them again."""

from __future__ import annotations

from dataclasses import replace

from aerowire.cluster.consensus.effects import Effect, StartReplay, StopLog, StoreTerm
from aerowire.cluster.consensus.inputs import (
    CandidateTermStored,
    EffectFailed,
    LogConsumed,
    LogPublicationAdded,
    LogStopped,
    RecoveryFacts,
    ReplayDone,
    TermEntry,
    TermStored,
)
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import CommitPosition, NewLeadershipTerm
from aerowire.cluster.consensus.options import MILLISECOND_NS, ConsensusOptions
from aerowire.codecs.flyweights.cnc import ElectionState
from tests.cluster.consensus.conversation import ChosenRandom

FACTS = RecoveryFacts(terms=(TermEntry(0, 0),), candidate_term_id=0, append_position=1_024, log_recording_id=0)
SECOND_NS = 1_000 * MILLISECOND_NS


def replays(effects: tuple[Effect, ...]) -> list[StartReplay]:
    """Return the replays that effects begin."""
    return [effect for effect in effects if isinstance(effect, StartReplay)]


def test_a_leader_goes_on_where_a_replay_that_failed_has_come_to() -> None:
    machine = ConsensusMachine(0, (0,), ConsensusOptions(), ChosenRandom(), FACTS)
    machine.start(0)

    def lead(term_id: int) -> tuple[Effect, ...]:
        machine.handle(0, CandidateTermStored(term_id))
        machine.handle(0, TermStored(term_id))
        machine.handle(0, LogPublicationAdded(7))
        machine.tick(0)
        return machine.tick(0)

    assert replays(lead(1)) == [StartReplay(0, 1_024)]
    machine.handle(0, LogConsumed(512))
    assert (machine.state, machine.log_position) == (ElectionState.LEADER_REPLAY, 512)
    failed = machine.handle(0, EffectFailed("the replay's image has closed"))
    assert StopLog(512) in failed
    machine.handle(SECOND_NS * 10, LogStopped(1_024))
    machine.tick(SECOND_NS * 10)
    assert replays(lead(2)) == [StartReplay(512, 1_024)]


def test_a_leader_does_not_join_its_log_before_the_replay_has_ended() -> None:
    machine = ConsensusMachine(0, (0,), ConsensusOptions(), ChosenRandom(), FACTS)
    machine.start(0)
    machine.handle(0, CandidateTermStored(1))
    machine.handle(0, TermStored(1))
    machine.handle(0, LogPublicationAdded(7))
    machine.tick(0)
    machine.tick(0)
    machine.handle(0, LogConsumed(1_024))
    machine.tick(0)
    states = [machine.state]
    machine.handle(0, ReplayDone(1_024))
    machine.tick(0)
    states.append(machine.state)
    assert states == [ElectionState.LEADER_REPLAY, ElectionState.LEADER_INIT]


def test_a_follower_goes_on_where_a_replay_that_failed_has_come_to() -> None:
    machine = ConsensusMachine(0, (0, 1), ConsensusOptions(), ChosenRandom(), FACTS)
    machine.start(0)
    leader = NewLeadershipTerm(
        log_leadership_term_id=0,
        next_leadership_term_id=1,
        next_term_base_log_position=1_024,
        next_log_position=1_024,
        leadership_term_id=1,
        term_base_log_position=1_024,
        log_position=1_024,
        leader_recording_id=0,
        timestamp=0,
        leader_member_id=1,
        log_session_id=7,
    )

    def follow(now_ns: int) -> tuple[Effect, ...]:
        message = leader
        if machine.log_leadership_term_id == 1:  # as the leader answers a member whose log is of its own term
            message = replace(leader, log_leadership_term_id=1, next_leadership_term_id=-1, next_term_base_log_position=-1)
        if any(isinstance(effect, StoreTerm) for effect in machine.handle(now_ns, message)):
            machine.handle(now_ns, TermStored(1))
        machine.handle(now_ns, CommitPosition(1, 1_024, 1))
        return machine.tick(now_ns)

    assert replays(follow(0)) == [StartReplay(0, 1_024)]
    machine.handle(0, LogConsumed(512))
    assert StopLog(512) in machine.handle(0, EffectFailed("the replay's image has closed"))
    machine.handle(SECOND_NS * 10, LogStopped(1_024))
    machine.tick(SECOND_NS * 10)
    assert replays(follow(SECOND_NS * 10)) == [StartReplay(512, 1_024)]
