"""The way out of a term whose log a native agent had: what it has committed until it was stopped counts."""

from __future__ import annotations

import pytest

from aerowire.cluster.consensus.core import ConsensusCore
from aerowire.cluster.consensus.effects import StopLog
from aerowire.cluster.consensus.initiation import Initiation
from aerowire.cluster.consensus.inputs import LogStopped, RecoveryFacts, TermEntry
from aerowire.cluster.consensus.member_states import MemberState
from aerowire.cluster.consensus.options import ConsensusOptions
from aerowire.cluster.consensus.term_table import TermTable
from aerowire.codecs.flyweights.cnc import ElectionState
from aerowire.system.random import SeededRandom


@pytest.mark.parametrize(("result", "log_position"), [(LogStopped(640, 480), 480), (LogStopped(640, 160), 320), (LogStopped(640), 320)])
def test_a_log_that_was_committed_further_meanwhile_stays_so(result: LogStopped, log_position: int) -> None:
    terms = TermTable([TermEntry(1, 0)])
    facts = RecoveryFacts(log_position=320, append_position=320, log_recording_id=7)
    members = tuple(MemberState(member_id) for member_id in range(3))
    core = ConsensusCore(0, members, ConsensusOptions(), SeededRandom(1), terms, facts)
    core.state = ElectionState.CLOSED
    begun: list[object] = []
    initiation = Initiation(core, lambda: None, begun.append, lambda: None)
    initiation.enter_election("leader heartbeat timeout")
    assert StopLog(320) in core.effects
    assert begun == []
    initiation.on_log_stopped(result)
    assert begun == [None]
    assert (core.append_position, core.log_position) == (640, log_position)
