"""What a leader does for a client in which order, so that each side has what it needs when it speaks."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.cluster.module.clients import client_sessions
from aerowire.cluster.module.clients.client_sessions import ClientSessions
from aerowire.cluster.module.context import ConsensusModuleContext
from aerowire.cluster.module.log.log_publisher import Appended
from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.inputs import IngressImage
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights.cluster import SessionEvent, SessionOpenEvent, decode
from aerowire.codecs.flyweights.cluster.enums import EventCode

MEMBERS = "0,localhost:1,localhost:2,localhost:3,localhost:4,localhost:5"
TERM = 4


class Leader:
    """The sessions of a member that leads a term, with what they do in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, has_room: bool = True) -> None:
        self.done: list[str] = []
        self.has_room = has_room
        self.results: list[Callable[[Appended], object]] = []
        clock = SimpleNamespace(now_ns=lambda: 1, now_ms=lambda: 1)
        core = SimpleNamespace(
            context=ConsensusModuleContext(
                cluster_members=MEMBERS,
                cluster_member_id=0,
                ingress_channel="aeron:udp",
                replication_channel="aeron:udp?endpoint=localhost:0",
            ),
            log_agent=SimpleNamespace(proxy=self),
            ports=SimpleNamespace(clock=clock),
            events=SimpleNamespace(tell=lambda *_, **__: None),
        )
        monkeypatch.setattr(client_sessions, "ResponsePublications", self._responses)
        self.sessions = ClientSessions(core)  # type: ignore[arg-type]
        self.sessions.begin_leading(self)  # type: ignore[arg-type]
        self.sessions.give(inputs.ActivityChanged(True))
        self.sessions.give(inputs.LeadershipBegun(TERM, is_startup=False))

    def connect(self) -> None:
        self.sessions.give(
            inputs.Connect(
                correlation_id=1,
                response_stream_id=102,
                response_channel="aeron:ipc",
                image=IngressImage(1, "a:1", 1),
                version=PROTOCOL_VERSION,
            )
        )

    # The native agent

    def add_session(self, session: Any) -> None:
        self.done.append(f"expect {session.cluster_session_id}")

    def remove_session(self, session: Any) -> None:
        self.done.append(f"remove {session.cluster_session_id}")

    # The log

    def append(self, message: bytes, on_result: Callable[[Appended], object], session: Any) -> bool:
        event = decode(message)
        assert isinstance(event, SessionOpenEvent)
        assert session.cluster_session_id == event.cluster_session_id
        self.done.append(f"append {event.cluster_session_id}")
        self.results.append(on_result)
        return True

    # The response publications

    def _responses(self, _core: object, give: Callable[[inputs.Input], object]) -> SimpleNamespace:
        def open_response(effect: Any) -> None:
            give(inputs.ResponseAdded(effect.key))
            give(inputs.ResponseConnected(effect.key, True))

        return SimpleNamespace(open=open_response, send=self._respond, close=lambda _key: None)

    def _respond(self, _key: int, message: bytes) -> bool:
        event = decode(message)
        assert isinstance(event, SessionEvent)
        assert event.code == EventCode.OK
        self.done.append(f"tell {event.cluster_session_id}")
        return True


def test_a_client_is_told_of_its_session_before_any_service_can_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader(monkeypatch)
    leader.connect()
    assert leader.done == ["expect 1", "tell 1", "append 1"]
    leader.results.pop()(Appended(64, 1))
    assert leader.done == ["expect 1", "tell 1", "append 1"], "the event OK is sent once"


def test_a_session_that_the_log_refuses_is_not_expected_any_more_and_its_client_is_not_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader(monkeypatch)
    leader.connect()
    leader.results.pop()(Appended(-2, 0))
    assert leader.done.pop() == "remove 1"
    leader.sessions.tick()
    assert leader.done == ["expect 1", "tell 1", "append 1", "expect 1", "append 1"]


def test_a_client_is_told_nothing_while_the_log_has_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader(monkeypatch, has_room=False)
    leader.connect()
    leader.sessions.tick()
    assert leader.done == []
    leader.has_room = True
    leader.sessions.tick()
    assert leader.done == ["expect 1", "tell 1", "append 1"]
