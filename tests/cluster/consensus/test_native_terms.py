"""A member whose term a native agent has: the machine does not tick meanwhile, and learns from it what ticks and messages would tell."""

from __future__ import annotations

from aerowire.cluster.consensus.effects import StopLog
from aerowire.cluster.consensus.inputs import (
    CandidateTermStored,
    EffectFailed,
    LogCommitted,
    LogJoined,
    LogPublicationAdded,
    LogRecorded,
    LogStopped,
    RecoveryFacts,
    TermEventAppended,
    TermStored,
)
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import CanvassPosition, NewLeadershipTerm
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


def test_a_follower_waits_for_all_members_for_as_long_as_its_agent_has_heard_of_the_leader() -> None:
    options = ConsensusOptions(leader_heartbeat_timeout_ns=10_000, leader_heartbeat_interval_ns=200)
    machine = ConsensusMachine(1, (0, 1, 2), options, ChosenRandom(), RecoveryFacts())
    machine.start(0)
    machine.handle(0, NewLeadershipTerm(-1, 0, 0, -1, 0, 0, 0, 3, 0, 0, 77, 0, is_startup=True, commit_position=0))
    for _ in range(2):
        machine.tick(0)
    machine.handle(0, LogJoined(0, 5, 65_536))
    machine.handle(0, TermStored(0))
    machine.tick(0)
    assert machine.state is ElectionState.CLOSED
    assert StopLog(0) in machine.handle(50_000, EffectFailed("log recording stopped"))
    machine.handle(51_000, LogStopped(640, 320, leader_heard_ns=49_000))
    machine.handle(51_000, CanvassPosition(0, 640, 0, 2))
    assert (machine.log_position, machine.append_position) == (320, 640)
    states = []
    for now_ns in (58_999, 59_000):
        machine.tick(now_ns)
        states.append(machine.state)
    assert states == [ElectionState.CANVASS, ElectionState.NOMINATE]
