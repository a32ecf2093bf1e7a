"""The authenticator of a member's sessions, and what becomes of a session by its decisions. Aeron: ClusterSessionProxy.

An error of an authenticator is reported, and rejects the session that it was asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from aerowire.cluster.sessions.cluster_session import SessionState
from aerowire.cluster.sessions.effects import ReportEvent
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge

if TYPE_CHECKING:
    from aerowire.cluster.sessions.cluster_session import ClusterSession
    from aerowire.cluster.sessions.core import SessionCore
    from aerowire.cluster.sessions.refusals import Refusals
    from aerowire.security.authentication import Authenticator

# A principal stands in the event that opens a session. Aeron: ClusterSession.MAX_ENCODED_PRINCIPAL_LENGTH.
ENCODED_PRINCIPAL_LENGTH_MAX: Final = 4 * 1024
SESSION_REJECTED: Final = "session failed authentication"


class _Proxy:
    """The decisions of an authenticator about one session."""

    def __init__(self, core: SessionCore, session: ClusterSession) -> None:
        self._core = core
        self._session = session
        self.is_rejected = False

    @property
    def session_id(self) -> int:
        """Id of the session."""
        return self._session.session_id

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Send the client a challenge; the session is challenged once it was sent."""
        session = self._session
        message = Challenge(
            correlation_id=session.correlation_id, cluster_session_id=session.session_id, encoded_challenge=encoded_challenge
        )
        self._core.send(session, message)
        return True

    def authenticate(self, encoded_principal: bytes) -> bool:
        """Accept the client as a principal."""
        if len(encoded_principal) > ENCODED_PRINCIPAL_LENGTH_MAX:
            raise ValueError(f"the principal of a session has {len(encoded_principal)} bytes, at most {ENCODED_PRINCIPAL_LENGTH_MAX} fit")
        self._session.encoded_principal = bytes(encoded_principal)
        self._core.change_state(self._session, SessionState.AUTHENTICATED, "authenticated")
        return True

    def reject(self) -> None:
        """Refuse the client."""
        self.is_rejected = True


class Authentication:
    """Questions to the authenticator. A rejected session is moved to the refusals; its list must let it go."""

    def __init__(self, core: SessionCore, refusals: Refusals, authenticator: Authenticator) -> None:
        self._core = core
        self._refusals = refusals
        self._authenticator = authenticator

    def on_connect_request(self, session: ClusterSession, encoded_credentials: bytes) -> bool:
        """Tell the authenticator of a client; return whether the session goes on."""
        return self._ask(
            session, lambda: self._authenticator.on_connect_request(session.session_id, encoded_credentials, self._core.now_ms)
        )

    def on_challenge_response(self, session: ClusterSession, encoded_credentials: bytes) -> bool:
        """Tell the authenticator of a client's answer; return whether the session goes on."""
        return self._ask(
            session, lambda: self._authenticator.on_challenge_response(session.session_id, encoded_credentials, self._core.now_ms)
        )

    def decide(self, session: ClusterSession) -> bool:
        """Let the authenticator decide about a client that is there; return whether the session goes on."""
        proxy = _Proxy(self._core, session)
        ask = self._authenticator.on_connected_session
        if session.state is SessionState.CHALLENGED:
            ask = self._authenticator.on_challenged_session
        if not self._ask(session, lambda: ask(proxy, self._core.now_ms)):
            return False
        if proxy.is_rejected:
            self._reject(session)
        return not proxy.is_rejected

    def forget(self, session: ClusterSession) -> None:
        """Tell the authenticator that a session is decided, or gone."""
        try:
            self._authenticator.on_session_closed(session.session_id)
        except Exception as error:  # of the application
            self._report(session, error)

    def _ask(self, session: ClusterSession, question: Callable[[], object]) -> bool:
        try:
            question()
        except Exception as error:  # of the application
            self._report(session, error)
            self._reject(session)
            return False
        return True

    def _report(self, session: ClusterSession, error: Exception) -> None:
        kind = f"authenticator failed: {type(error).__name__}"
        self._core.emit(ReportEvent(kind, f"authenticator failed: id={session.session_id}, {error!r}"))

    def _reject(self, session: ClusterSession) -> None:
        self._refusals.reject(session, EventCode.AUTHENTICATION_REJECTED, SESSION_REJECTED, kind=None)
