"""The state that a leader goes back to when its actions were not committed."""

from __future__ import annotations

from aerowire.cluster.module.uncommitted import UncommittedStates
from aerowire.codecs.flyweights.cnc import ConsensusModuleState


def test_a_committed_action_is_not_taken_back() -> None:
    states = UncommittedStates()
    states.add(160, ConsensusModuleState.ACTIVE)
    states.sweep(160)
    assert states.restore(160) is None


def test_the_state_before_the_first_action_in_vain_comes_back() -> None:
    states = UncommittedStates()
    states.add(96, ConsensusModuleState.ACTIVE)
    states.add(192, ConsensusModuleState.SUSPENDED)
    states.add(288, ConsensusModuleState.ACTIVE)
    assert states.restore(96) is ConsensusModuleState.SUSPENDED
    assert states.restore(96) is None
