"""Connecting to an archive, step by step and without waiting. Aeron: AeronArchive.AsyncConnect.

Opens the response subscription and the control publication, asks for a session, answers a challenge, and asks for the archive's id.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.archive.client.client_options import is_response_channel
from aerowire.archive.client.control_session import ControlSession
from aerowire.archive.client.opening import add, connect_client
from aerowire.archive.client.parameters import NULL_VALUE
from aerowire.archive.client.requests import Exchange
from aerowire.archive.client.steps import Steps
from aerowire.archive.client.waiting import run_invokers
from aerowire.archive.protocol_version import PROTOCOL_VERSION, PROTOCOL_VERSION_WITH_ARCHIVE_ID
from aerowire.base.errors import AerowireError, ArchiveConnectionError, ArchiveTimeoutError
from aerowire.base.version import VERSION
from aerowire.codecs.flyweights.archive.messages.archive_id_request import ArchiveIdRequest
from aerowire.codecs.flyweights.archive.messages.auth_connect_request import AuthConnectRequest
from aerowire.codecs.flyweights.archive.messages.challenge import Challenge
from aerowire.codecs.flyweights.archive.messages.challenge_response import ChallengeResponse

if TYPE_CHECKING:
    from aerowire.archive.client.aeron_archive import AeronArchive
    from aerowire.archive.client.archive_proxy import Message
    from aerowire.archive.client.context import ConcludedArchiveContext
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.subscriptions.subscription import Subscription
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


class AsyncConnect(Steps["AeronArchive"]):
    """A connection under way: `poll()` it until it returns true, then take its `result()`. From `AeronArchive.async_connect`.

    `state` is what it waits for, and `problem` the last error that it has got over. After `message_timeout_ns` it fails with an
    ArchiveTimeoutError that says both. Given up or failed, it leaves nothing open.
    """

    __slots__ = ("_aeron", "_context", "_deadline_ns", "_make", "problem", "state")

    def __init__(self, context: ConcludedArchiveContext, make: Callable[[Connected], AeronArchive]) -> None:
        """`make` makes the result."""
        super().__init__(f"connect to the archive at {context.control_request_channel}", self._connect(), self._look_at_time)
        self.state = ConnectState.AWAIT_CLIENT
        self.problem: AerowireError | None = None
        self._context = context
        self._make = make
        self._aeron = context.aeron
        self._deadline_ns = self._now_ns() + context.message_timeout_ns

    @property
    def deadline_ns(self) -> int:
        """When (ns of the client's clock) the connection fails."""
        return self._deadline_ns

    def fail(self, error: BaseException) -> None:
        """End without a connection."""
        self.state = ConnectState.FAILED
        super().fail(error)

    # ---- the steps

    def _connect(self) -> Generator[Pending[Any] | None, Any, AeronArchive]:
        with ExitStack() as opened:
            aeron = self._aeron if self._aeron is not None else (yield from self._connect_client(opened))
            session = yield from self._open_channels(aeron, opened)
            response = yield from self._open_session(session)
            version = response.version or 0
            if version >= PROTOCOL_VERSION_WITH_ARCHIVE_ID:
                session.archive_id = (yield from self._ask_archive_id(session)).relevant_id
            while not session.keep_alive():  # the first request that is not of connecting makes the session active
                yield None
            archive = self._make(Connected(session, version, self._context.aeron is None))
            opened.pop_all()
            self.state = ConnectState.DONE
            return archive

    def _connect_client(self, opened: ExitStack) -> Generator[Pending[Any] | None, Any, Aeron]:
        context = self._context
        self._aeron = aeron = yield from connect_client(context, context.client_name or DEFAULT_CLIENT_NAME, self._report)
        opened.callback(aeron.close)
        return aeron

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
        subscription = yield from add(
            lambda: aeron.async_add_subscription(str(responses), context.control_response_stream_id), self._report
        )
        opened.callback(subscription.close)
        if by_response_channel:
            requests.parameters["response-correlation-id"] = str(subscription.registration_id)
        self.state = ConnectState.AWAIT_PUBLICATION
        publication = yield from add(
            lambda: aeron.async_add_exclusive_publication(str(requests), context.control_request_stream_id), self._report
        )
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
            response_channel = yield from self._response_channel(subscription)
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

    def _response_channel(self, subscription: Subscription) -> Generator[Pending[Any] | None, Any, str]:
        while True:
            channel = subscription.try_resolve_channel_endpoint_port()
            if channel is not None:
                return channel
            yield None

    # ---- below: helpers

    def _report(self, problem: AerowireError | None) -> None:
        self.problem = problem

    def _now_ns(self) -> int:
        clock = self._context.ports.clock if self._aeron is None else self._aeron.context.clock
        return clock.now_ns()

    def _look_at_time(self) -> None:
        if self._now_ns() >= self._deadline_ns:
            self.interrupt(self._timed_out())
        elif self._aeron is not None:
            run_invokers(self._context, self._aeron)

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
