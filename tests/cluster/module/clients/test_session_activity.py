"""The open sessions of a leader's native agent: when they are added and removed, and how often the activity of clients is reported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.cluster.module.clients import session_activity
from aerowire.cluster.module.clients.session_activity import SessionActivity
from aerowire.cluster.sessions.inputs import SessionActive

TIMEOUT_NS = 1_000


class Proxy:
    """The commands of one agent."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, int]] = []
        self.sessions: dict[int, Any] = {}

    def add_session(self, session: Any) -> None:
        """Note a session."""
        self.commands.append(("add", session.cluster_session_id))
        self.sessions[session.cluster_session_id] = session

    def remove_session(self, session: Any) -> None:
        """Note the end of a session."""
        self.commands.append(("remove", session.cluster_session_id))
        assert self.sessions.pop(session.cluster_session_id) is session


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Proxy:
    def new_session(session_id: int, now_ns: int, *, is_open: bool) -> SimpleNamespace:
        return SimpleNamespace(cluster_session_id=session_id, time_of_last_activity_ns=now_ns, ingress_image_id=-1, is_open=is_open)

    monkeypatch.setattr(session_activity, "OpenSession", new_session)  # one that a test may touch as the agent does
    return Proxy()


def test_only_a_leaders_agent_has_sessions(proxy: Proxy) -> None:
    activity = SessionActivity(proxy, TIMEOUT_NS)  # type: ignore[arg-type]
    assert not activity.is_leading
    activity.begin_leading([1, 2], 0)
    assert activity.is_leading
    activity.expect(3, 10)
    assert [session.is_open for session in proxy.sessions.values()] == [True, True, False], "the append of its open event opens the third"
    activity.close(2)
    activity.close(2)
    assert proxy.commands == [("add", 1), ("add", 2), ("add", 3), ("remove", 2)]
    activity.end_leading()
    assert proxy.commands[4:] == [("remove", 1), ("remove", 3)]
    assert proxy.sessions == {}
    assert not activity.is_leading


def test_a_session_that_the_log_refused_is_forgotten_and_another_one_of_its_id_is_not(proxy: Proxy) -> None:
    activity = SessionActivity(proxy, TIMEOUT_NS)  # type: ignore[arg-type]
    activity.begin_leading([], 0)
    refused = activity.expect(1, 0)
    activity.forget(refused)
    assert proxy.sessions == {}
    activity.expect(1, 10)
    activity.forget(refused)
    assert list(proxy.sessions) == [1]


def test_another_term_begins_with_sessions_that_no_image_is_known_of(proxy: Proxy) -> None:
    activity = SessionActivity(proxy, TIMEOUT_NS)  # type: ignore[arg-type]
    activity.begin_leading([1], 0)
    proxy.sessions[1].ingress_image_id = 9
    assert activity.look(0) == [SessionActive(1, 0, 9)]
    activity.begin_leading([1], 50)
    assert activity.look(50) == []
    assert proxy.sessions[1].ingress_image_id == -1


def test_the_time_of_a_client_is_told_before_what_was_told_is_out_of_date(proxy: Proxy) -> None:
    activity = SessionActivity(proxy, TIMEOUT_NS)  # type: ignore[arg-type]
    activity.begin_leading([1, 2], 0)
    proxy.sessions[1].time_of_last_activity_ns = 200
    assert activity.look(249) == []
    assert activity.look(250) == [SessionActive(1, 200, -1)]
    proxy.sessions[1].time_of_last_activity_ns = 300
    assert activity.look(449) == []
    assert activity.look(450) == [SessionActive(1, 300, -1)]
    assert activity.look(10_000) == [], "the other one is silent"


def test_the_image_of_a_client_is_told_at_once(proxy: Proxy) -> None:
    activity = SessionActivity(proxy, TIMEOUT_NS)  # type: ignore[arg-type]
    activity.begin_leading([1], 0)
    proxy.sessions[1].time_of_last_activity_ns, proxy.sessions[1].ingress_image_id = 10, 9
    assert activity.look(10) == [SessionActive(1, 10, 9)]
    assert activity.look(10) == []
