"""Requests from clients: which they are, whose they are, whether they are permitted, and what is done about those that are not valid.

A request that breaks a rule is answered where its session is known, and dropped and reported where it is not; none ends the conductor.
Aeron: ControlSessionAdapter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from struct import Struct
from typing import TYPE_CHECKING, Any

from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.control.request_routes import AUTH_CONNECT, CHALLENGE_RESPONSE, CLOSE_SESSION, KEEP_ALIVE, ROUTES
from aerowire.archive.control.requests import NULL_VALUE, Replay
from aerowire.archive.control.session_machine import REQUEST_IMAGE_UNAVAILABLE, SESSION_CLOSED
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ChannelError
from aerowire.codecs.flyweights.archive import AuthConnectRequest, ChallengeResponse, SbeError
from aerowire.codecs.flyweights.archive.dispatch import SCHEMA_ID
from aerowire.codecs.flyweights.archive.header import HEADER
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.security.authorisation import ALLOW_ALL

if TYPE_CHECKING:
    from aerowire.archive.control.archive_events import ArchiveEvents
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.cycle_time import CycleTime
    from aerowire.archive.control.operations import ArchiveOperations
    from aerowire.archive.control.replay_tokens import ReplayTokens
    from aerowire.archive.control.request_routes import Route
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.security.authorisation import AuthorisationService

# Notes an error or a text; those of one key are one entry of the error log.
Report = Callable[[BaseException | str, Hashable], object]
Connect = Callable[["Image", AuthConnectRequest], "ControlSession"]

# What every request of a session begins with.
_SESSION_AND_CORRELATION = Struct("<qq")
_SESSION = Struct("<q")


class ControlSessionAdapter:
    """Serves the requests of all clients. The conductor's thread. Invariant: a session in the table is not closed."""

    def __init__(
        self,
        operations: ArchiveOperations,
        connect: Connect,
        authorisation: AuthorisationService,
        tokens: ReplayTokens,
        time: CycleTime,
        events: ArchiveEvents,
        report: Report,
    ) -> None:
        """`connect` makes the session of a client; what it raises leaves the client without one."""
        self._operations = operations
        self._make_session = connect
        self._authorisation = authorisation
        self._is_all_allowed = authorisation == ALLOW_ALL
        self._tokens = tokens
        self._time = time
        self._events = events
        self._report = report
        self._sessions: dict[int, ControlSession] = {}

    @property
    def sessions(self) -> tuple[ControlSession, ...]:
        """The sessions that are open."""
        return tuple(self._sessions.values())

    def remove(self, session: ControlSession) -> None:
        """Forget a session that has ended, and its tokens."""
        self._sessions.pop(session.session_id, None)
        self._tokens.forget(session)

    def abort_by_image(self, image: Image) -> None:
        """End the sessions whose requests came by an image that has gone."""
        for session in self.sessions:
            if session.image is image and not session.is_done:
                session.abort(
                    f"{REQUEST_IMAGE_UNAVAILABLE} : controlSessionId={session.session_id} "
                    f"image.correlationId={image.correlation_id} sessionId={image.session_id} streamId={image.stream_id}"
                )

    def on_fragment(self, buffer: memoryview, offset: int, length: int, header: Header, /) -> None:
        """Serve one message, assembled from its fragments. Nothing that is raised goes further: it would end other clients' requests."""
        try:
            self.on_message(buffer[offset : offset + length], header.image)
        except Exception as error:
            self._report(error, ("request", type(error)))

    def on_message(self, message: memoryview, image: Image) -> None:
        """Serve one message that came by `image`."""
        if len(message) < HEADER.size:
            self._drop(image, "a message shorter than its header", "length")
            return
        _, template_id, schema_id, _ = HEADER.unpack(message, 0)
        if self._events.is_on:
            self._events.message(template_id, message)
        if schema_id != SCHEMA_ID:
            self._drop(image, f"expected schemaId={SCHEMA_ID}, actual={schema_id}", "schema")
        elif template_id in ROUTES or template_id == KEEP_ALIVE:
            self._serve(template_id, message, image)
        elif template_id == AUTH_CONNECT:
            self._connect(message, image)
        elif template_id == CLOSE_SESSION:
            self._close_session(message, image)
        elif template_id == CHALLENGE_RESPONSE:
            self._challenge_response(message, image)
        else:
            self._drop(image, f"unknown request templateId={template_id}", "template")

    # ---- requests about a session itself

    def _connect(self, message: memoryview, image: Image) -> None:
        try:
            session = self._make_session(image, AuthConnectRequest.decode(message))
        except Exception as error:  # there is no session yet that could answer; an authenticator may raise anything
            self._drop(image, f"connect request cannot be served: {error}", AUTH_CONNECT)
            return
        self._sessions[session.session_id] = session

    def _close_session(self, message: memoryview, image: Image) -> None:
        if len(message) < HEADER.size + _SESSION.size:
            self._drop(image, "close request too short", CLOSE_SESSION)
            return
        session = self._sessions.get(_SESSION.unpack_from(message, HEADER.size)[0])
        if session is not None and session.image is image:
            session.abort(SESSION_CLOSED)

    def _challenge_response(self, message: memoryview, image: Image) -> None:
        try:
            response = ChallengeResponse.decode(message)
        except SbeError as error:
            self._drop(image, f"challenge response cannot be read: {error}", CHALLENGE_RESPONSE)
            return
        session = self._sessions.get(response.control_session_id)
        if session is not None and session.image is image:
            session.on_challenge_response(response.correlation_id, response.encoded_credentials)

    # ---- requests of a session

    def _serve(self, template_id: int, message: memoryview, image: Image) -> None:
        if len(message) < HEADER.size + _SESSION_AND_CORRELATION.size:
            self._drop(image, f"request templateId={template_id} is too short", template_id)
            return
        session_id, correlation_id = _SESSION_AND_CORRELATION.unpack_from(message, HEADER.size)
        route = ROUTES.get(template_id)
        request, error = (None, None) if route is None else _decode(route, message)
        answering = _answering(request, image) if isinstance(request, Replay) else None
        if answering is not None:
            session = self._session_by_token(answering, image)
            request = answering
        else:
            session = self._session_of(session_id, template_id, image)
        if session is None or not session.on_request():
            return
        if not self._is_all_allowed and not self._is_authorised(session, correlation_id, template_id, image):
            return
        if error is not None:
            session.send_error(correlation_id, f"malformed request: {error}")
            self._drop(image, f"malformed request templateId={template_id}: {error}", template_id)
        elif route is not None:
            self._perform(session, correlation_id, route, request)

    def _session_by_token(self, request: Replay, image: Image) -> ControlSession | None:
        session = self._tokens.session_of(request.replay_token, request.recording_id, self._time.now_ns)
        if session is None:
            self._drop(image, f"unknown session or token timeout for replayToken={request.replay_token}", "token")
        return session

    def _session_of(self, session_id: int, template_id: int, image: Image) -> ControlSession | None:
        session = self._sessions.get(session_id)
        if session is None:
            self._drop(image, f"control request for unknown session: controlSessionId={session_id} templateId={template_id}", "session")
        elif session.image is not image:
            self._drop(image, f"unauthorised archive action={template_id} controlSessionId={session_id}", "image")
            return None
        return session

    def _is_authorised(self, session: ControlSession, correlation_id: int, template_id: int, image: Image) -> bool:
        try:
            if self._authorisation.is_authorised(SCHEMA_ID, template_id, None, session.encoded_principal):
                return True
        except Exception as error:  # what cannot be decided is not permitted
            self._report(error, ("authorisation", type(error)))
        self._drop(image, f"unauthorised archive action={template_id} controlSessionId={session.session_id}", "principal")
        session.send_error(correlation_id, "unauthorised action", ArchiveErrorCode.UNAUTHORISED_ACTION)
        return False

    def _perform(self, session: ControlSession, correlation_id: int, route: Route, request: Any) -> None:
        try:
            getattr(self._operations, route.operation)(session, request)
        except RequestRefusedError as refusal:
            session.send_error(correlation_id, refusal.what, refusal.code)
        except Exception as error:  # told to the client; a bad request must not end the archive
            self._report(error, (route.operation, type(error)))
            session.send_error(correlation_id, str(error) or type(error).__name__)

    def _drop(self, image: Image, text: str, kind: Hashable) -> None:
        self._report(f"WARN - {text} source={image.source_identity}", ("dropped request", kind))


def _decode(route: Route, message: memoryview) -> tuple[Any, Exception | None]:
    """Return the request, or why it cannot be read."""
    try:
        decoded = route.message.decode(message)
    except (SbeError, UnicodeError) as error:
        return None, error
    return (decoded if route.request_of is None else route.request_of(decoded)), None


def _answering(request: Replay, image: Image) -> Replay | None:
    """Return a replay by token with a response channel that answers the image that asks for it; None for any other replay."""
    if request.replay_token == NULL_VALUE:
        return None
    try:
        uri = ChannelUri.parse(request.channel)
    except ChannelError:
        return None
    if uri.get("control-mode") != "response":
        return None
    uri.parameters["response-correlation-id"] = str(image.correlation_id)
    return replace(request, channel=str(uri))
