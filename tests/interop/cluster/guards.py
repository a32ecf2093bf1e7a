"""Authentication and authorisation of members of ours: what ClusterNode.java gives official ones."""

from __future__ import annotations

from aerowire.security.authentication import Authenticator, SessionProxy

ADMIN = b"admin"


class Users(Authenticator):
    """Accepts every client under the name that its credentials are, challenges "hello", and rejects "bad"."""

    def __init__(self) -> None:
        self._said: dict[int, bytes] = {}
        self._challenged: set[int] = set()

    def on_connect_request(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        self._said[session_id] = encoded_credentials

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        self._said[session_id] = encoded_credentials
        self._challenged.add(session_id)

    def on_connected_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        if self._said[session.session_id] == b"hello":
            session.challenge(b"who-are-you")
        else:
            self._decide(session)

    def on_challenged_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        if session.session_id in self._challenged:
            self._decide(session)

    def _decide(self, session: SessionProxy) -> None:
        said = self._said[session.session_id]
        if said == b"bad":
            session.reject()
        else:
            session.authenticate(said)


class Authorisation:
    """Permits all to "admin", and nothing to others: no snapshot."""

    def is_authorised(self, _protocol_id: int, _action_id: int, _action_type: object, encoded_principal: bytes, /) -> bool:
        """Return whether a principal is the one that may do all."""
        return encoded_principal == ADMIN
