"""Authenticators of clients: all accepted, users with secrets, or a challenge. Aeron: io.aeron.security.

A session asks its authenticator in each state of connecting; the authenticator decides through the session's proxy.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import Protocol

NO_PRINCIPAL = b""


class SessionProxy(Protocol):
    """The decisions that an authenticator can take about a session that is being connected."""

    @property
    def session_id(self) -> int:
        """Id of the session."""

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Send the client a challenge; False when it could not be sent now, and the authenticator is to be asked again."""

    def authenticate(self, encoded_principal: bytes) -> bool:
        """Accept the client as a principal; False as for `challenge`."""

    def reject(self) -> None:
        """Refuse the client."""


class Authenticator:
    """Accepts every client, as a principal without a name. Subclasses decide otherwise; all methods run on the thread of the component.

    Aeron: Authenticator, DefaultAuthenticatorSupplier.
    """

    def on_connect_request(self, session_id: int, encoded_credentials: bytes, now_ms: int, /) -> None:
        """Note the credentials of a client that asks to connect."""

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes, now_ms: int, /) -> None:
        """Note a client's response to a challenge."""

    def on_connected_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        """Decide about a client that can be answered; called again and again until a decision was sent: by an archive each 200 ms."""
        session.authenticate(NO_PRINCIPAL)

    def on_challenged_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        """Decide about a client that was challenged; called each cycle until a decision was sent."""
        session.authenticate(NO_PRINCIPAL)

    def on_session_closed(self, session_id: int, /) -> None:
        """Forget a session, decided or not."""


class SimpleAuthenticator(Authenticator):
    """Accepts clients by their credentials: each secret is that of one principal. Aeron: SimpleAuthenticator."""

    def __init__(self, principals: Mapping[bytes, bytes]) -> None:
        """`principals` holds the encoded credentials of each encoded principal."""
        self._credentials = {bytes(principal): bytes(credentials) for principal, credentials in principals.items()}
        self._found: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        found = None
        for principal, credentials in self._credentials.items():
            # All of them are compared, so that the time tells nothing.
            if hmac.compare_digest(credentials, encoded_credentials) and found is None:
                found = principal
        if found is not None:
            self._found[session_id] = found

    def on_connected_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        principal = self._found.get(session.session_id)
        if principal is None:
            session.reject()
        else:
            session.authenticate(principal)

    def on_challenged_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        session.reject()  # no session of this authenticator is challenged

    def on_session_closed(self, session_id: int, /) -> None:
        self._found.pop(session_id, None)


class ChallengeAuthenticator(Authenticator):
    """Challenges every client, and accepts those whose response is right.

    Invariant: `_responses` holds a response only of a session whose challenge is in `_challenges`.
    """

    def __init__(self, challenge: Callable[[int, bytes], bytes], verify: Callable[[bytes, bytes], bytes | None]) -> None:
        """`challenge(session_id, credentials)` makes the challenge of a client, by the credentials that it connects with.

        `verify(challenge, response)` returns the encoded principal of a right response, or None.
        """
        self._make_challenge = challenge
        self._verify = verify
        self._challenges: dict[int, bytes] = {}
        self._responses: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        self._challenges[session_id] = self._make_challenge(session_id, encoded_credentials)

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        if session_id in self._challenges:
            self._responses[session_id] = encoded_credentials

    def on_connected_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        session.challenge(self._challenges[session.session_id])

    def on_challenged_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        response = self._responses.get(session.session_id)
        if response is None:
            return
        principal = self._verify(self._challenges[session.session_id], response)
        if principal is None:
            session.reject()
        else:
            session.authenticate(principal)

    def on_session_closed(self, session_id: int, /) -> None:
        self._challenges.pop(session_id, None)
        self._responses.pop(session_id, None)
