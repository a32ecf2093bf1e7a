"""A leader whose term a native agent has: the machine learns from it how far the log is committed, because it does not tick meanwhile."""

from __future__ import annotations

from aerowire.cluster.consensus.effects import StopLog
from aerowire.cluster.consensus.inputs import (
    CandidateTermStored,
    EffectFailed,
    LogCommitted,
    LogJoined,
    LogPublicationAdded,
    LogRecorded,
    RecoveryFacts,
    TermEventAppended,
    TermStored,
)
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.codecs.flyweights.cnc import ElectionState
from tests.cluster.consensus.conversation import ChosenRandom


def test_a_leader_tells_what_its_agent_has_committed_and_begins_an_election_from_there() -> None:
    machine = ConsensusMachine(0, (0,), ConsensusOptions(), ChosenRandom(), RecoveryFacts())
    machine.start(0)
    machine.handle(0, CandidateTermStored(0))
    machine.handle(0, LogPublicationAdded(7))
    for _ in range(3):
        machine.tick(0)
    machine.handle(0, LogCommitted(64))
    assert machine.log_position == 0, "no term has begun"
    machine.handle(0, LogJoined(0, 5, 65_536))
    machine.handle(0, TermStored(0))
    machine.tick(0)
    machine.handle(0, TermEventAppended(96))
    assert machine.state is ElectionState.CLOSED
    machine.handle(0, LogRecorded(960, 960))
    assert machine.handle(0, LogCommitted(640)) == ()
    assert machine.handle(0, LogCommitted(320)) == ()
    assert (machine.log_position, machine.append_position) == (640, 960)
    assert StopLog(640) in machine.handle(0, EffectFailed("inactive follower quorum"))
