"""The open sessions of a leader as its native agent has them: whose messages go into the log, and when a client was heard of.

Session messages and keep-alives are the agent's, so that the sessions learn of a client from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aerowire.cluster.agents.session_table import OpenSession
from aerowire.cluster.sessions.inputs import SessionActive

if TYPE_CHECKING:
    from aerowire.cluster.agents.agent_proxies import LogAgentProxy

# The activity of a client is reported at most once in the session timeout divided by this.
_TOLD_PART = 4


class SessionActivity:
    """Changed by all methods. Invariant: there are sessions only while the member leads."""

    def __init__(self, proxy: LogAgentProxy, session_timeout_ns: int) -> None:
        """Start with a member that does not lead."""
        self._proxy = proxy
        self._told_for_ns = session_timeout_ns // _TOLD_PART
        self._sessions: dict[int, OpenSession] = {}
        self._told: dict[int, tuple[int, int]] = {}
        self.is_leading = False

    def begin_leading(self, session_ids: Iterable[int], now_ns: int) -> None:
        """Let open sessions append, before ingress is read."""
        self.end_leading()
        self.is_leading = True
        for session_id in session_ids:
            self._add(session_id, now_ns, is_open=True)

    def end_leading(self) -> None:
        """Let no session append any more."""
        self.is_leading = False
        for session_id in tuple(self._sessions):
            self.close(session_id)

    def expect(self, session_id: int, now_ns: int) -> OpenSession:
        """Let a session append as soon as its open event is in the log: the append of that event has to open it. Ask of a leader only."""
        return self._add(session_id, now_ns, is_open=False)

    def forget(self, session: OpenSession) -> None:
        """Expect a session no more: the log refused its open event."""
        if self._sessions.get(session.cluster_session_id) is session:
            self.close(session.cluster_session_id)

    def close(self, session_id: int) -> None:
        """Let a session append no more, BEFORE its close event is appended."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            del self._told[session_id]
            self._proxy.remove_session(session)

    def _add(self, session_id: int, now_ns: int, *, is_open: bool) -> OpenSession:
        session = self._sessions[session_id] = OpenSession(session_id, now_ns, is_open=is_open)
        self._told[session_id] = now_ns, session.ingress_image_id
        self._proxy.add_session(session)
        return session

    def look(self, now_ns: int) -> list[SessionActive]:
        """Return the activity that sessions have to be told of: often enough for their timeout, and of each new image BEFORE its end."""
        found = []
        for session_id, session in self._sessions.items():
            told_ns, told_image_id = self._told[session_id]
            time_ns, image_id = session.time_of_last_activity_ns, session.ingress_image_id
            if image_id != told_image_id or (time_ns > told_ns and now_ns - told_ns >= self._told_for_ns):
                self._told[session_id] = time_ns, image_id
                found.append(SessionActive(session_id, time_ns, image_id))
        return found
