"""What the parts of a member's sessions share: the time, the member's role, and the effects that are being collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.sessions.cluster_session import NO_RESPONSE, ClusterSession, SessionState
from aerowire.cluster.sessions.effects import ChangeState, CloseResponse, Effect, EgressMessage, OpenResponse, Send
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

if TYPE_CHECKING:
    from aerowire.cluster.sessions.session_options import SessionOptions
    from aerowire.codecs.flyweights.cluster.enums import EventCode

# How often a cycle is needed while a session waits for an authenticator, for room, or for the log. Aeron: SLOW_TICK_INTERVAL_NS.
TICK_INTERVAL_NS = 10_000_000


class SessionCore:
    """Changed by the session manager, which sets time and role, and by all parts, which emit effects.

    Invariant: `_by_key` holds the sessions that have a response publication, or have asked for one.
    """

    def __init__(self, options: SessionOptions) -> None:
        """Start as a member that knows no leader."""
        self.options = options
        self.now_ns = 0
        self.now_ms = 0
        self.is_leader = False
        self.is_in_election = True
        self.is_active = False
        self.leadership_term_id = NULL_VALUE
        self.leader_member_id = NULL_VALUE
        self._effects: list[Effect] = []
        self._by_key: dict[int, ClusterSession] = {}
        self._next_key = 0

    @property
    def is_serving(self) -> bool:
        """Whether clients' sessions may be opened and closed."""
        return self.is_leader and self.is_active and not self.is_in_election

    @property
    def next_tick_ns(self) -> int:
        """The time of the next cycle while something is to be tried again."""
        return self.now_ns + TICK_INTERVAL_NS

    def emit(self, effect: Effect) -> None:
        """Add an effect."""
        self._effects.append(effect)

    def take_effects(self) -> tuple[Effect, ...]:
        """Return the effects since the last call."""
        effects, self._effects = tuple(self._effects), []
        return effects

    def session_of(self, key: int) -> ClusterSession | None:
        """Return the session that a key is of; None once its publication was closed."""
        return self._by_key.get(key)

    def change_state(self, session: ClusterSession, state: SessionState, reason: str) -> None:
        """Change a session's state, and note it."""
        old, session.state = session.state, state
        self.emit(ChangeState(session.session_id, session.action, old, state, reason))

    def has_timed_out(self, session: ClusterSession) -> bool:
        """Return whether nothing was heard of a session's client for too long."""
        return self.now_ns > session.time_of_last_activity_ns + self.options.session_timeout_ns

    # Response publications

    def open_response(self, session: ClusterSession) -> None:
        """Ask for a session's response publication."""
        session.key = self._next_key
        self._next_key += 1
        self._by_key[session.key] = session
        self.emit(OpenResponse(session.key, session.response_channel, session.response_stream_id, session.session_id, session.info))

    def close_response(self, session: ClusterSession) -> None:
        """Give a session's response publication back, if it has one."""
        if session.key != NO_RESPONSE:
            del self._by_key[session.key]
            self.emit(CloseResponse(session.key))
            session.key = NO_RESPONSE
            session.is_connected = False
            session.sending = None

    def close(self, session: ClusterSession, reason: str) -> None:
        """Give back what a session has, for good."""
        self.close_response(session)
        self.change_state(session, SessionState.CLOSED, reason)

    def send(self, session: ClusterSession, message: EgressMessage) -> None:
        """Send a message if the client is there and no other one is on its way; the result is noted in the session."""
        if session.is_connected and session.sending is None:
            session.sending = message
            self.emit(Send(session.key, message))

    def send_once(self, session: ClusterSession, message: EgressMessage) -> None:
        """Send a message that is lost if it cannot be sent now."""
        if session.is_connected:
            self.emit(Send(session.key, message))

    def event(self, session: ClusterSession, code: EventCode, detail: str) -> SessionEvent:
        """Return an event for a session's client."""
        return SessionEvent(
            cluster_session_id=session.session_id,
            correlation_id=session.correlation_id,
            leadership_term_id=self.leadership_term_id,
            leader_member_id=self.leader_member_id,
            code=code,
            version=PROTOCOL_VERSION,
            leader_heartbeat_timeout_ns=self.options.leader_heartbeat_timeout_ns,
            detail=detail,
        )
