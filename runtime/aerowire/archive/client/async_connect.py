"""Connecting to an archive, step by step and without waiting. Aeron: AeronArchive.AsyncConnect.

Opens the response subscription and the control publication, asks for a session, answers a challenge, and asks for the archive's id.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.archive.client.client_options import is_response_channel
from aerowire.archive.client.connecting import Connecting, add, resolved_channel
from aerowire.archive.client.control_session import ControlSession
from aerowire.archive.client.parameters import NULL_VALUE
from aerowire.archive.client.requests import Exchange
from aerowire.archive.protocol_version import PROTOCOL_VERSION, PROTOCOL_VERSION_WITH_ARCHIVE_ID
from aerowire.base.errors import ArchiveConnectionError, ArchiveTimeoutError
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.archive.messages.archive_id_request import ArchiveIdRequest
from aerowire.codecs.flyweights.archive.messages.auth_connect_request import AuthConnectRequest
from aerowire.codecs.flyweights.archive.messages.challenge import Challenge
from aerowire.codecs.flyweights.archive.messages.challenge_response import ChallengeResponse

if TYPE_CHECKING:
    from contextlib import ExitStack

    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.archive.client.archive_proxy import Message
    from aerowire.archive.client.context import ConcludedArchiveContext
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse

DEFAULT_CLIENT_NAME: Final = "archive-client"


class ConnectState(Enum):
    """What a connection waits for. The value says it in words."""

    AWAIT_CLIENT = "the media driver"
    AWAIT_SESSION_ID = "a session id of the driver"
    AWAIT_SUBSCRIPTION = "the driver to add the subscription to responses"
    AWAIT_PUBLICATION = "the driver to add the publication of requests"
    AWAIT_PUBLICATION_CONNECTED = "an archive that listens to requests"
    AWAIT_RESPONSE_PORT = "the port of the response channel"
    AWAIT_CONNECT_RESPONSE = "the archive's answer to the connect request"
    AWAIT_CHALLENGE_RESPONSE = "the archive's answer to the reply to its challenge"
    AWAIT_ARCHIVE_ID_RESPONSE = "the archive's id"
    DONE = "nothing: it is connected"
    FAILED = "nothing: it has failed"


_HINTS = {
    ConnectState.AWAIT_PUBLICATION_CONNECTED: "does an archive run, and are these its control channel and stream?",
    ConnectState.AWAIT_CONNECT_RESPONSE: "can the archive reach the response channel?",
}


class Connected(NamedTuple):
    """What a connection has found: the open session, and the archive at its other end."""

    session: ControlSession
    protocol_version: int
    owns_aeron: bool


class AsyncConnect(Connecting["AeronArchive"]):
    """A connection under way: `poll()` it until it returns true, then take its `result()`. From `AeronArchive.async_connect`.

    `state` is what it waits for, and `problem` the last error that it has got over. After `message_timeout_ns` it fails with an
    ArchiveTimeoutError that says both. Given up or failed, it leaves nothing open.
    """

    __slots__ = ("_context", "_make", "state")

    def __init__(self, context: ConcludedArchiveContext, make: Callable[[Connected], AeronArchive]) -> None:
        """`make` makes the result."""
        what = f"connect to the archive at {context.control_request_channel}"
        super().__init__(what, self._open, context, default_name=DEFAULT_CLIENT_NAME, timed_out=self._timed_out)
        self.state = ConnectState.AWAIT_CLIENT
        self._context = context
        self._make = make

    def fail(self, error: BaseException) -> None:
        """End without a connection."""
        self.state = ConnectState.FAILED
        super().fail(error)

    # ---- the steps

    def _open(self, aeron: Aeron, opened: ExitStack) -> Generator[Pending[Any] | None, Any, AeronArchive]:
        session = yield from self._open_channels(aeron, opened)
        response = yield from self._open_session(session)
        version = response.version or 0
        if version >= PROTOCOL_VERSION_WITH_ARCHIVE_ID:
            session.archive_id = (yield from self._ask_archive_id(session)).relevant_id
        while not session.keep_alive():  # the first request that is not of connecting makes the session active
            yield None
        archive = self._make(Connected(session, version, self._context.aeron is None))
        self.state = ConnectState.DONE
        return archive

    def _open_channels(self, aeron: Aeron, opened: ExitStack) -> Generator[Pending[Any] | None, Any, ControlSession]:
        context = self._context
        requests = context.control_channel(context.control_request_channel)
        responses = context.control_channel(context.control_response_channel)
        by_response_channel = is_response_channel(context.control_response_channel)
        if not by_response_channel:
            self.state = ConnectState.AWAIT_SESSION_ID
            session_id = yield aeron.async_next_session_id(context.control_request_stream_id)
            requests.parameters["session-id"] = responses.parameters["session-id"] = str(session_id)
        self.state = ConnectState.AWAIT_SUBSCRIPTION
        subscription = yield from add(self, lambda: aeron.async_add_subscription(str(responses), context.control_response_stream_id))
        opened.callback(subscription.close)
        if by_response_channel:
            requests.parameters["response-correlation-id"] = str(subscription.registration_id)
        self.state = ConnectState.AWAIT_PUBLICATION
        publication = yield from add(self, lambda: aeron.async_add_exclusive_publication(str(requests), context.control_request_stream_id))
        opened.callback(publication.close)
        session = ControlSession(context, aeron, publication, subscription)
        opened.callback(session.close)
        return session

    def _open_session(self, session: ControlSession) -> Generator[Pending[Any] | None, Any, ControlResponse]:
        context, supplier = self._context, self._context.credentials_supplier
        subscription, publication = session.poller.subscription, session.proxy.publication
        while True:
            self.state = ConnectState.AWAIT_PUBLICATION_CONNECTED
            while not publication.is_connected:
                yield None
            self.state = ConnectState.AWAIT_RESPONSE_PORT
            response_channel = yield from resolved_channel(subscription)
            self.state = ConnectState.AWAIT_CONNECT_RESPONSE
            try:
                response = yield from self._exchange(
                    session,
                    "open a control session",
                    AuthConnectRequest,
                    response_stream_id=context.control_response_stream_id,
                    version=PROTOCOL_VERSION,
                    response_channel=response_channel,
                    encoded_credentials=supplier.encoded_credentials(),
                    client_info=f"name={context.client_name} version={VERSION} commit=aerowire",
                )
                break
            except ArchiveConnectionError as error:  # the archive has gone before the request was sent: another one may come
                self.problem = error
        while isinstance(response, Challenge):
            self.state = ConnectState.AWAIT_CHALLENGE_RESPONSE
            response = yield from self._exchange(
                session,
                "answer the archive's challenge",
                ChallengeResponse,
                control_session_id=session.session_id,
                encoded_credentials=supplier.on_challenge(response.encoded_challenge),
            )
        return response

    def _ask_archive_id(self, session: ControlSession) -> Generator[Pending[Any] | None, Any, ControlResponse]:
        self.state = ConnectState.AWAIT_ARCHIVE_ID_RESPONSE
        response = yield from self._exchange(session, "get the archive's id", ArchiveIdRequest, control_session_id=session.session_id)
        assert not isinstance(response, Challenge)  # which comes before the session is open only
        return response

    def _exchange(
        self, session: ControlSession, what: str, kind: Callable[..., Message], **fields: Any
    ) -> Generator[Pending[Any] | None, Any, ControlResponse | Challenge]:
        exchange = session.ask(kind, lambda ticket: Exchange(what, ticket), **fields)
        try:
            response: ControlResponse | Challenge = yield exchange
        finally:
            if exchange.control_session_id != NULL_VALUE:  # a session that refuses is closed too
                session.session_id = exchange.control_session_id
        return response

    # ---- below: helpers

    def _timed_out(self) -> ArchiveTimeoutError:
        context = self._context
        return ArchiveTimeoutError(
            "connecting to the archive took too long",
            where=(
                f"requests {context.control_request_channel} stream {context.control_request_stream_id}, "
                f"responses {context.control_response_channel} stream {context.control_response_stream_id}"
            ),
            expected=f"a connection within {context.message_timeout_ns / 1e9:g} s",
            actual=f"still waiting for {self.state.value}" + (f"; the last error was: {self.problem}" if self.problem else ""),
            hint=_HINTS.get(self.state),
            request="connect",
        )
