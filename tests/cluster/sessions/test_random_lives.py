"""Random lives of a member's sessions: what must hold does at every step, and faults are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.cluster_session import ClusterSession
from aerowire.cluster.sessions.core import SessionCore
from aerowire.cluster.sessions.effects import ReportEvent
from aerowire.cluster.sessions.inputs import IngressImage
from aerowire.cluster.sessions.open_sessions import OpenSessions
from aerowire.cluster.sessions.pending_sessions import BACKUP_SESSIONS_MAX, PendingSessions
from aerowire.cluster.sessions.refusals import REFUSALS_MAX, Refusals
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION, SessionOptions
from aerowire.codecs.flyweights.cluster.enums import CloseReason, EventCode
from aerowire.security.authentication import SimpleAuthenticator
from aerowire.security.authorisation import ALLOW_ALL
from tests.cluster.sessions.abstract_agent import AbstractAgent, ViolationError
from tests.cluster.sessions.random_life import RandomLife
from tests.conftest import SEED

LIVES = 30
FAULT_LIVES_MAX = 300
SECOND_NS = 1_000_000_000
Plant = Callable[[pytest.MonkeyPatch], None]


def session_id_reused(patch: pytest.MonkeyPatch) -> None:
    """A leader begins with the ids of what is committed."""
    original = OpenSessions.end_term

    def end_term(self: OpenSessions, log_position: int) -> None:
        original(self, log_position)
        self.next_session_id = self.next_committed_session_id

    patch.setattr(OpenSessions, "end_term", end_term)


def limit_without_pending(patch: pytest.MonkeyPatch) -> None:
    """Only open sessions count against the maximum."""
    original = PendingSessions._why_refused

    def why_refused(self: PendingSessions, request: inputs.Connect) -> str:
        clients, self._clients = self._clients, []
        reason = original(self, request)
        self._clients = clients
        return reason

    patch.setattr(PendingSessions, "_why_refused", why_refused)


def closed_client_told_more(patch: pytest.MonkeyPatch) -> None:
    """A client is told twice that its session has ended."""
    original = OpenSessions.on_close_appended

    def on_close_appended(self: OpenSessions, session_id: int, position: int) -> None:
        session = self.get(session_id)
        if session is not None and session.close_reason == CloseReason.SERVICE_ACTION:
            self._core.send_once(session, self._core.event(session, EventCode.CLOSED, ""))
        original(self, session_id, position)

    patch.setattr(OpenSessions, "on_close_appended", on_close_appended)


def open_event_repeated(patch: pytest.MonkeyPatch) -> None:
    """A client is told in each cycle that its session is open."""
    patch.setattr(OpenSessions, "on_sent", lambda *_: None)


def refusal_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A refused client is not told."""
    patch.setattr(Refusals, "reject", lambda self, session, *_, **__: self._core.close(session, "rejected"))


def publication_leaked(patch: pytest.MonkeyPatch) -> None:
    """A session that is given up keeps its response publication."""
    original = PendingSessions._give_up

    def give_up(self: PendingSessions, session: ClusterSession, reason: str) -> None:
        if reason == "session timed out":
            self._leave(session)
        else:
            original(self, session, reason)

    patch.setattr(PendingSessions, "_give_up", give_up)


def append_not_tried_again(patch: pytest.MonkeyPatch) -> None:
    """An event for which the log had no room is never appended."""
    patch.setattr(PendingSessions, "on_append_refused", lambda *_: None)


def append_given_up(patch: pytest.MonkeyPatch) -> None:
    """A session times out while the log takes its event."""
    original = PendingSessions.tick

    def tick(self: PendingSessions) -> None:
        for session in self.clients:
            session.is_appending = session.is_appending and not self._core.has_timed_out(session)
        original(self)

    patch.setattr(PendingSessions, "tick", tick)


def sent_without_client(patch: pytest.MonkeyPatch) -> None:
    """Messages are sent whether or not a client is there."""
    original = SessionCore.send

    def send(self: SessionCore, session: ClusterSession, message: Any) -> None:
        session.is_connected = True
        original(self, session, message)

    patch.setattr(SessionCore, "send", send)


FAULTS: tuple[Plant, ...] = (
    session_id_reused,
    limit_without_pending,
    closed_client_told_more,
    open_event_repeated,
    refusal_forgotten,
    publication_leaked,
    append_not_tried_again,
    append_given_up,
    sent_without_client,
)


def test_no_rule_is_broken() -> None:
    for seed in range(SEED, SEED + LIVES):
        life = RandomLife(seed)
        try:
            life.run()
        except ViolationError as violation:
            raise AssertionError(f"seed {seed}, step {len(life.trace)}: {violation}") from violation


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    for seed in range(FAULT_LIVES_MAX):
        try:
            RandomLife(seed).run()
        except ViolationError:
            return
    raise AssertionError(f"{plant.__name__} was not found by {FAULT_LIVES_MAX} seeds")


@pytest.mark.parametrize("is_leader", [True, False], ids=["leader", "follower"])
def test_hostile_requests_take_no_more_than_a_bound(is_leader: bool) -> None:
    authenticator = SimpleAuthenticator({b"user": b"right"})
    manager = SessionManager(SessionOptions(member_id=0, max_sessions=10, session_timeout_ns=SECOND_NS), authenticator, ALLOW_ALL)
    reports: list[ReportEvent] = []
    agent = AbstractAgent(manager, 10, lambda effect: reports.append(effect) if isinstance(effect, ReportEvent) else None)
    agent.give(inputs.ActivityChanged(True))
    agent.give(inputs.LeadershipBegun(1, False) if is_leader else inputs.FollowingBegun(1, 1))
    bound = 10 + REFUSALS_MAX + BACKUP_SESSIONS_MAX
    for number in range(6_000):
        agent.now_ns += 1_000
        agent.give(
            inputs.Connect(
                correlation_id=number // 2,
                response_stream_id=number,
                response_channel=f"aeron:udp?endpoint=h{number}" + "x" * (5_000 if number % 7 == 0 else 0),
                image=IngressImage(number, "hostile", number),
                version=PROTOCOL_VERSION if number % 3 else 5 << 16,
                encoded_credentials=b"right",
                client_info="i" * 4_000,
            )
        )
        agent.give(inputs.ChallengeResponse(number, number, b"right"))
        agent.give(inputs.KeepAlive(1, number, number))
        assert manager.session_count <= bound
        assert len(agent.responses) <= bound
    assert manager.dropped_requests > 5_000
    assert {report.kind for report in reports} == ({"concurrent session limit", "invalid client version"} if is_leader else set())
    agent.now_ns += 2 * SECOND_NS
    agent.tick()
    assert (manager.session_count, len(agent.responses), len(authenticator._found)) == (0, 0, 0)
    assert manager.next_deadline_ns() is None
