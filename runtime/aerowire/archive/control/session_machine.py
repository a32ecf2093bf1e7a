"""The states of a control session, without input or output: what a session has to do at a time, and why it ends. Aeron: ControlSession.

    INIT -> CONNECTING -> CONNECTED -> (CHALLENGED) -> AUTHENTICATED -> ACTIVE -> DONE
                              |             |
                              +-> REJECTED <+

All times are milliseconds of one clock.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

RESEND_INTERVAL_MS = 200
SESSION_CLOSED = "session closed"
RESPONSE_NOT_CONNECTED = "control response publication is not connected"
REQUEST_IMAGE_UNAVAILABLE = "control request publication image unavailable"
AUTHENTICATION_REJECTED = "authentication rejected"


class SessionState(enum.Enum):
    """How far a session has come."""

    INIT = "INIT"
    CONNECTING = "CONNECTING"
    CONNECTED = "CONNECTED"
    CHALLENGED = "CHALLENGED"
    AUTHENTICATED = "AUTHENTICATED"
    ACTIVE = "ACTIVE"
    REJECTED = "REJECTED"
    DONE = "DONE"


class SessionTask(enum.Enum):
    """What a session has to do now."""

    OPEN = enum.auto()  # look for the response publication and the session's counter
    REFUSE_VERSION = enum.auto()  # tell the client that its version is not served
    AUTHENTICATE = enum.auto()  # ask the authenticator about a connected client
    CHALLENGE = enum.auto()  # ask the authenticator about a challenged client
    CONFIRM = enum.auto()  # send the session's id
    PING = enum.auto()  # send a ping
    REJECT = enum.auto()  # tell the client that its credentials are not accepted


_EACH_CYCLE = {SessionState.INIT: SessionTask.OPEN, SessionState.CHALLENGED: SessionTask.CHALLENGE}
_EACH_INTERVAL = {
    SessionState.CONNECTED: SessionTask.AUTHENTICATE,
    SessionState.AUTHENTICATED: SessionTask.CONFIRM,
    SessionState.REJECTED: SessionTask.REJECT,
}

StateChange = Callable[[SessionState, SessionState, str], object]


class SessionMachine:
    """One session's state. Changed by `poll` and by what the session tells of its sending, its authenticator and its requests.

    Invariant: a session that is DONE has an `end_reason` and stays so. `_activity_deadline_ms` is None while nothing is unsent.
    """

    def __init__(
        self,
        *,
        now_ms: int,
        connect_timeout_ms: int,
        liveness_check_interval_ms: int,
        is_version_valid: bool = True,
        on_change: StateChange | None = None,
    ) -> None:
        """`on_change(old, new, reason)` is called after each change of the state."""
        self.state = SessionState.INIT
        self.end_reason: str | None = None
        self._connect_timeout_ms = connect_timeout_ms
        self._liveness_check_interval_ms = liveness_check_interval_ms
        self._is_version_valid = is_version_valid
        self._on_change = on_change
        self._activity_deadline_ms: int | None = now_ms + connect_timeout_ms
        self._liveness_deadline_ms = now_ms + liveness_check_interval_ms
        self._resend_deadline_ms = now_ms - 1

    @property
    def is_done(self) -> bool:
        """Whether the session has ended."""
        return self.state is SessionState.DONE

    @property
    def is_flowing(self) -> bool:
        """Whether the session is active, and no message waits for the client's attention."""
        return self.state is SessionState.ACTIVE and self._activity_deadline_ms is None

    @property
    def is_aborted(self) -> bool:
        """Whether the session ended for a reason that its client does not know of: neither its request nor its absence."""
        reason = self.end_reason
        return (
            reason is not None
            and reason not in {SESSION_CLOSED, RESPONSE_NOT_CONNECTED}
            and not reason.startswith(REQUEST_IMAGE_UNAVAILABLE)
        )

    def poll(self, now_ms: int, *, is_connected: bool) -> SessionTask | None:
        """Go on to the state that is due, and return what is to be done now, if anything.

        `is_connected` says whether the response publication has a subscriber.
        """
        if self._activity_deadline_ms is not None and now_ms > self._activity_deadline_ms:
            self.end(self._silence())
        elif self.state is SessionState.CONNECTING and is_connected:
            self._go_to(SessionState.CONNECTED, "connected")
        elif self.state is SessionState.ACTIVE and not is_connected:
            self.end(RESPONSE_NOT_CONNECTED)
        elif self.state is SessionState.ACTIVE:
            return self._due_ping(now_ms)
        elif self.state in _EACH_CYCLE:
            return _EACH_CYCLE[self.state]
        elif self.state in _EACH_INTERVAL:
            return self._due_message(now_ms)
        return None

    def on_open(self, now_ms: int) -> None:
        """The response publication and the counter are there."""
        if self.state is SessionState.INIT:
            self._activity_deadline_ms = now_ms + self._connect_timeout_ms
            self._go_to(SessionState.CONNECTING, "connecting")

    def on_challenged(self) -> None:
        """A challenge was sent."""
        if self.state in {SessionState.CONNECTED, SessionState.CHALLENGED}:
            self._go_to(SessionState.CHALLENGED, "challenged")

    def on_authenticated(self) -> None:
        """The client was accepted, and told so."""
        if self.state in {SessionState.CONNECTED, SessionState.CHALLENGED}:
            self._activity_deadline_ms = None
            self._go_to(SessionState.AUTHENTICATED, "authenticated")

    def on_rejected(self) -> None:
        """The client was refused; it is told each 200 ms, until the connect timeout is over."""
        if self.state in {SessionState.CONNECTED, SessionState.CHALLENGED}:
            self._go_to(SessionState.REJECTED, AUTHENTICATION_REJECTED)

    def on_request(self) -> bool:
        """A request has come: the first of an authenticated client makes the session active. Returns whether it may be served."""
        if self.state is SessionState.AUTHENTICATED and self._is_version_valid:
            self._go_to(SessionState.ACTIVE, "active")
        return self.state is SessionState.ACTIVE

    def on_sent(self) -> None:
        """A message of an authenticated session was sent."""
        if self._activity_deadline_ms is not None and self.state in {SessionState.AUTHENTICATED, SessionState.ACTIVE}:
            self._activity_deadline_ms = None

    def on_blocked(self, now_ms: int) -> None:
        """A message could not be sent: from now on the connect timeout runs."""
        if self._activity_deadline_ms is None:
            self._activity_deadline_ms = now_ms + self._connect_timeout_ms

    def end(self, reason: str) -> None:
        """End the session; the first reason stays."""
        if self.state is not SessionState.DONE:
            self.end_reason = reason
            self._go_to(SessionState.DONE, reason)

    def _due_ping(self, now_ms: int) -> SessionTask | None:
        if now_ms <= self._liveness_deadline_ms:
            return None
        self._liveness_deadline_ms = now_ms + self._liveness_check_interval_ms
        return SessionTask.PING

    def _due_message(self, now_ms: int) -> SessionTask | None:
        if now_ms <= self._resend_deadline_ms:
            return None
        self._resend_deadline_ms = now_ms + RESEND_INTERVAL_MS
        if self.state is SessionState.CONNECTED and not self._is_version_valid:
            return SessionTask.REFUSE_VERSION
        return _EACH_INTERVAL[self.state]

    def _silence(self) -> str:
        if self.state is SessionState.ACTIVE:
            return f"failed to send response for more than connectTimeoutMs={self._connect_timeout_ms}"
        return f"failed to establish initial connection: state={self.state.value}"

    def _go_to(self, state: SessionState, reason: str) -> None:
        old, self.state = self.state, state
        if self._on_change is not None:
            self._on_change(old, state, reason)
