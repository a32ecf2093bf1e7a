"""Sessions that are refused or redirected: each waits for its client to be there, tells it why, and ends.

Aeron: SessionManager.sendForAll.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.cluster.sessions.cluster_session import SessionState
from aerowire.cluster.sessions.effects import ReportEvent
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

if TYPE_CHECKING:
    from aerowire.cluster.sessions.cluster_session import ClusterSession
    from aerowire.cluster.sessions.core import SessionCore
    from aerowire.cluster.sessions.effects import EgressMessage

# Each of them has a response publication at the driver: enough for clients that all try at once, and a bound for hostile ones.
REFUSALS_MAX: Final = 256


class Refusals:
    """Sessions that only wait to be told why they end. Changed by all methods.

    Invariant: there are at most REFUSALS_MAX, and those that were pending before.
    """

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._sessions: list[ClusterSession] = []

    @property
    def sessions(self) -> tuple[ClusterSession, ...]:
        """The sessions, in the order in which they were refused."""
        return tuple(self._sessions)

    @property
    def is_full(self) -> bool:
        """Whether no other session can be told anything."""
        return len(self._sessions) >= REFUSALS_MAX

    def redirect(self, session: ClusterSession, ingress_endpoints: str) -> None:
        """Tell a client where the members are."""
        session.event_code, session.response_detail = EventCode.REDIRECT, ingress_endpoints
        self._sessions.append(session)

    def reject(self, session: ClusterSession, code: EventCode, detail: str, *, kind: str | None) -> None:
        """Tell a client that it gets no session, or no answer, and why. `kind` is that of the report, None for no report."""
        session.event_code, session.response_detail = code, detail
        self._core.change_state(session, SessionState.REJECTED, f"{code.name}: {detail}")
        if kind is not None:
            member_id = self._core.options.member_id
            self._core.emit(ReportEvent(kind, f"{code.name} {detail}, clusterMemberId={member_id}, id={session.session_id}"))
        self._sessions.append(session)
        self.advance(session)

    def tick(self) -> None:
        """Tell clients that are there; give up those that never came, or cannot be reached."""
        for session in self.sessions:
            if session.state is SessionState.INVALID:
                self._remove(session, "invalid")
            elif self._core.has_timed_out(session):
                self._remove(session, "session timed out")
            else:
                self.advance(session)

    def advance(self, session: ClusterSession) -> None:
        """Tell a client, if it is there and one of these."""
        if session not in self._sessions:
            return
        self._core.send(session, self._core.event(session, session.event_code, session.response_detail))

    def on_sent(self, session: ClusterSession, message: EgressMessage) -> bool:
        """End a session whose client was told; return whether it is one of these. What was sent before it was refused tells nothing."""
        if session not in self._sessions:
            return False
        if isinstance(message, SessionEvent):
            self._remove(session, session.event_code.name)
        else:
            self.advance(session)
        return True

    def next_deadline_ns(self) -> int | None:
        """Return when a session is to be told again, or is given up."""
        core = self._core
        deadlines = [session.time_of_last_activity_ns + core.options.session_timeout_ns + 1 for session in self._sessions]
        if any(session.is_connected or session.state is SessionState.INVALID for session in self._sessions):
            deadlines.append(core.next_tick_ns)
        return min(deadlines, default=None)

    def close(self, reason: str) -> None:
        """End all of them without a word."""
        for session in self.sessions:
            self._remove(session, reason)

    def _remove(self, session: ClusterSession, reason: str) -> None:
        self._sessions.remove(session)
        self._core.close(session, reason)
