"""What the log builds at a member that reads it: what the sessions are given of each event."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from aerowire.cluster.module.cluster_clock import ClusterClock
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.cluster.module.replicated_state import ReplicatedState
from aerowire.cluster.sessions import inputs
from aerowire.codecs.flyweights.cluster.enums import ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.system.clock import SystemClock
from tests.cluster.module.test_context import NEEDED


def test_a_session_that_the_log_opens_has_the_principal_that_it_was_authenticated_as() -> None:
    given: list[inputs.Input] = []
    clock = ClusterClock(SystemClock(), ClusterTimeUnit.MILLIS)
    core: Any = SimpleNamespace(context=ConsensusModuleContext(**NEEDED), cluster_clock=clock)
    state = ReplicatedState(core, SimpleNamespace(give=given.append))  # type: ignore[arg-type]
    event = SessionOpenEvent(
        leadership_term_id=0,
        correlation_id=5,
        cluster_session_id=3,
        timestamp=1,
        response_stream_id=102,
        response_channel="aeron:udp?endpoint=a:1",
        encoded_principal=b"admin",
    )
    assert state.on_log_event(event, 256)
    assert given == [inputs.OpenReplayed(256, 5, 3, 102, "aeron:udp?endpoint=a:1", b"admin")]
