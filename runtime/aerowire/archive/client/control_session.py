"""The client's end of a control session: requests go out, answers come in, by correlation id. Aeron: AeronArchive.

Many requests may be in flight. Knows no operation of an archive: those are in the modules of commands.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, TypeVar

from aerowire.archive.client.archive_proxy import ArchiveProxy, encode
from aerowire.archive.client.control_responses import ControlResponsePoller
from aerowire.archive.client.descriptors import RecordingDescriptor, RecordingSignalEvent, RecordingSubscriptionDescriptor
from aerowire.archive.client.parameters import NULL_VALUE
from aerowire.archive.client.requests import ArchiveRequest, Ticket, unrequested
from aerowire.archive.client.steps import Steps
from aerowire.archive.client.waiting import run_invokers, wait_for_result
from aerowire.base.errors import (
    AerowireError,
    ArchiveConnectionError,
    ArchiveError,
    ArchiveTimeoutError,
    ClosedError,
    MessageTooLongError,
)
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages import challenge as challenges
from aerowire.codecs.flyweights.archive.messages import control_response as answers
from aerowire.codecs.flyweights.archive.messages import recording_descriptor as recordings
from aerowire.codecs.flyweights.archive.messages import recording_signal_event as signals
from aerowire.codecs.flyweights.archive.messages import recording_subscription_descriptor as subscriptions
from aerowire.codecs.flyweights.archive.messages.close_session_request import CloseSessionRequest
from aerowire.codecs.flyweights.archive.messages.keep_alive_request import KeepAliveRequest

if TYPE_CHECKING:
    from aerowire.archive.client.archive_proxy import Message
    from aerowire.archive.client.context import ConcludedArchiveContext
    from aerowire.archive.client.control_responses import Response
    from aerowire.client.aeron import Aeron
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.subscription import Subscription

T = TypeVar("T")
R = TypeVar("R", bound=ArchiveRequest[Any])

# Errors that answer no request are kept until they are asked for, the last ones: who never asks has no use for more.
ERRORS_MAX = 64


class SessionState(Enum):
    """Whether requests can be made. Aeron: AeronArchive.State."""

    CONNECTED = auto()
    DISCONNECTED = auto()
    CLOSED = auto()


class _Unsent:
    """A request that waits for room in its publication, and how often it is still tried; None: until its time is over."""

    __slots__ = ("_attempts", "message", "proxy", "request")

    def __init__(self, request: ArchiveRequest[Any], message: bytes, proxy: ArchiveProxy, attempts: int | None) -> None:
        self.request = request
        self.message = message
        self.proxy = proxy
        self._attempts = attempts

    def is_given_up(self) -> bool:
        """Count an attempt that found no room, and return whether it was the last."""
        if self._attempts is not None:
            self._attempts -= 1
        return self._attempts == 0


class ControlSession:
    """One control session, of any thread. Changed by `ask` and `poll`, under one lock.

    `session_id` is -1 until the archive has opened it, and then filters what comes; so is `archive_id` until the archive has told it, and
    for one that does not tell. Invariant: a request that is not done is in the
    table, in order of its deadline; one that is done is not.
    """

    def __init__(
        self, context: ConcludedArchiveContext, aeron: Aeron, publication: ExclusivePublication, subscription: Subscription
    ) -> None:
        self.context = context
        self.aeron = aeron
        self.session_id = NULL_VALUE
        self.archive_id = NULL_VALUE
        self.proxy = ArchiveProxy(publication)
        self.poller = ControlResponsePoller(subscription)
        self._state = SessionState.CONNECTED
        self._lock = context.lock
        self._clock = aeron.context.clock
        self._requests: dict[int, ArchiveRequest[Any]] = {}
        self._unsent: deque[_Unsent] = deque()
        self._listeners: dict[int, tuple[Callable[[ArchiveError], object], Callable[[RecordingSignalEvent], object]]] = {}
        self._errors: deque[ArchiveError] = deque(maxlen=ERRORS_MAX)
        self._fragment_count = 0
        self._signal_count = 0
        self._is_polling = False

    # ---- asking

    def ask(self, kind: Callable[..., Message], make: Callable[[Ticket], R], *, proxy: ArchiveProxy | None = None, **fields: Any) -> R:
        """Send a request and return it, not done yet. `kind` is its message, made of `fields`; `make` makes the request of its ticket.

        `proxy` sends it in place of the session's own. Raises ArchiveConnectionError without a connection, ClosedError after `close`,
        ConfigurationError for a value out of range.
        """
        with self._lock:
            self._ensure_connected()
            correlation_id = self.aeron.next_correlation_id()
            message = encode(kind(correlation_id=correlation_id, **fields))
            deadline_ns = self._clock.now_ns() + self.context.message_timeout_ns
            recording_id = fields.get("recording_id", NULL_VALUE)
            assert isinstance(recording_id, int)  # the message is encoded
            request = make(Ticket(correlation_id, recording_id, deadline_ns, self.poll, self._give_up))
            self._requests[correlation_id] = request
            self._unsent.append(_Unsent(request, message, proxy or self.proxy, self.context.message_retry_attempts))
            self._send()
            return request

    def tell(self, message: Message) -> bool:
        """Send a message that has no answer, and return whether there was room for it."""
        with self._lock:
            self._ensure_connected()
            return self.proxy.offer(encode(message))

    def keep_alive(self) -> bool:
        """Tell the archive that the client is there, and return whether there was room for that. The archive does not answer."""
        return self.tell(KeepAliveRequest(control_session_id=self.session_id, correlation_id=NULL_VALUE))

    def wait(self, pending: Pending[T]) -> T:
        """Wait for the result of what was started, and return it: the one way in which a call of this client waits."""
        with self._lock:
            if self._is_polling:
                pending.cancel()
                raise AerowireError(
                    f"{pending.what}: waiting for the archive inside a handler of its messages",
                    expected="a call from outside the handler, or the async_ form",
                )
        return wait_for_result(pending, self.context, progress=lambda: self._fragment_count)

    def steps(self, what: str, steps: Generator[Pending[Any] | None, Any, T]) -> Steps[T]:
        """Start an operation of several steps."""
        started = Steps(what, steps, self.poll)
        started.start()
        return started

    def require_waiting(self, call: str) -> None:
        """Raise BlockingCallError where nothing may wait, BEFORE the operation `call` has begun anything."""
        self.context.ports.waiting.require(f"AeronArchive.{call}", f"AeronArchive.async_{call}")

    # ---- hearing

    def poll(self) -> int:
        """Handle what the archive says, send what waits for room, end what is late; return how much was done. Does not wait.

        Raises what a handler of the application raises, and what has ended the client of the driver.
        """
        with self._lock:
            if self._is_polling or self._state is SessionState.CLOSED:
                return 0
            self._is_polling = True
            try:
                return self._poll()
            finally:
                self._is_polling = False

    def poll_signals(self) -> int:
        """Poll, and return how many recording signals there were."""
        with self._lock:
            self._ensure_connected()
            before = self._signal_count
            self.poll()
            return self._signal_count - before

    def take_error(self) -> ArchiveError | None:
        """Poll, and return the next error that answers no request; None while there is none, or where `error_handler` gets them."""
        with self._lock:
            if not self._errors:
                self._ensure_connected()
                self.poll()
            return self._errors.popleft() if self._errors else None

    def listen(
        self,
        correlation_id: int,
        *,
        on_error: Callable[[ArchiveError], object],
        on_signal: Callable[[RecordingSignalEvent], object] = lambda _: None,
    ) -> None:
        """Call `on_error` with the next errors of a replay or replication, which go nowhere else then, and `on_signal` with its signals.

        `correlation_id` is that of the request for the replay, or the replication's id.
        """
        with self._lock:
            self._listeners[correlation_id] = (on_error, on_signal)

    def forget(self, correlation_id: int) -> None:
        """End a `listen`."""
        with self._lock:
            self._listeners.pop(correlation_id, None)

    @property
    def state(self) -> SessionState:
        """Whether requests can be made."""
        return self._state

    @property
    def requests_in_flight(self) -> int:
        """How many requests are not answered yet."""
        return len(self._requests)

    def next_deadline_ns(self) -> int | None:
        """Return when (ns of the client's clock) the next request is late; None without one."""
        with self._lock:
            first = next(iter(self._requests.values()), None)
            return None if first is None else first.deadline_ns

    def disconnection(self, request: ArchiveRequest[Any] | None = None) -> ArchiveConnectionError:
        """Return the error that the archive is not connected any more, of a request that has no answer for it."""
        return ArchiveConnectionError(
            "the archive is not connected any more" + (f": {request.what}" if request else ""),
            where=self._where(),
            expected="a connected response channel",
            actual=f"{self.poller.subscription.image_count} images",
            hint="connect a new AeronArchive",
            request=request.what if request else "",
            correlation_id=request.correlation_id if request else NULL_VALUE,
            recording_id=request.recording_id if request else NULL_VALUE,
        )

    # ---- ending

    def close(self) -> None:
        """Close the session at the archive, and what it was held by. Every request that is not answered fails. Once."""
        with self._lock:
            if self._state is SessionState.CLOSED:
                return
            self._state = SessionState.CLOSED
            self._fail_all(lambda request: ClosedError(f"the client of the archive was closed: {request.what}"))
            try:
                if not self.aeron.is_closed and self.session_id != NULL_VALUE and self.proxy.publication.is_connected:
                    self.proxy.offer(encode(CloseSessionRequest(control_session_id=self.session_id)))
            finally:
                self.proxy.publication.close()
                self.poller.subscription.close()

    # ---- below: helpers, under the lock

    def _ensure_connected(self) -> None:
        self.aeron.ensure_open()
        if self._state is SessionState.CLOSED:
            raise ClosedError("the client of the archive is closed", where=f"control session {self.session_id}", expected="an open client")
        if self._state is SessionState.DISCONNECTED:
            raise self.disconnection()

    def _poll(self) -> int:
        run_invokers(self.context, self.aeron)
        self.aeron.ensure_open()
        work = self.poller.poll()
        self._fragment_count += work
        responses = self.poller.responses
        while responses:
            self._on_response(responses.popleft())
        self._send()
        self._expire()
        if work == 0 and self.session_id != NULL_VALUE and not self.poller.subscription.is_connected:
            self._disconnect()
        return work

    def _on_response(self, response: Response) -> None:
        if self.session_id not in (NULL_VALUE, response.control_session_id):
            return
        if isinstance(response, signals.RecordingSignalEvent):
            self._on_signal(RecordingSignalEvent.of(response))
        elif isinstance(response, answers.ControlResponse):
            self._on_answer(response)
        elif isinstance(response, challenges.Challenge):
            self._on_request(response.correlation_id, lambda request: request.on_challenge(response))
        elif isinstance(response, recordings.RecordingDescriptor):
            self._on_request(response.correlation_id, lambda request: request.on_descriptor(RecordingDescriptor.of(response)))
        elif isinstance(response, subscriptions.RecordingSubscriptionDescriptor):
            found = RecordingSubscriptionDescriptor.of(response)
            self._on_request(response.correlation_id, lambda request: request.on_descriptor(found))

    def _on_signal(self, event: RecordingSignalEvent) -> None:
        self._signal_count += 1
        listener = self._listeners.get(event.correlation_id)
        if listener is not None:
            listener[1](event)
        if self.context.recording_signal_consumer is not None:
            self.context.recording_signal_consumer(event)

    def _on_answer(self, response: answers.ControlResponse) -> None:
        if self._on_request(response.correlation_id, lambda request: request.on_response(response)):
            return
        if response.code == ControlResponseCode.ERROR:
            error = unrequested(response)
            listener = self._listeners.get(response.correlation_id)
            handler = self.context.error_handler or self._errors.append
            (handler if listener is None else listener[0])(error)

    def _on_request(self, correlation_id: int, tell: Callable[[ArchiveRequest[Any]], None]) -> bool:
        """Give a request its answer, and return whether there is one. One that goes on waiting has its whole time again."""
        request = self._requests.pop(correlation_id, None)
        if request is None:
            return False
        tell(request)
        if not request.is_done:
            request.deadline_ns = self._clock.now_ns() + self.context.message_timeout_ns
            self._requests[correlation_id] = request
        return True

    def _send(self) -> None:
        """Send what waits for room, in order; a request that has found none too often fails, and so does one that is too long."""
        while self._unsent:
            unsent = self._unsent[0]
            request = unsent.request
            if not request.is_done:
                try:
                    is_sent = unsent.proxy.offer(unsent.message)
                except ArchiveConnectionError as error:
                    self._fail(request, self._not_sent(request, error))
                except MessageTooLongError as error:
                    self._fail(request, error)
                else:
                    if not is_sent:
                        if not unsent.is_given_up():
                            return
                        self._fail(request, self._not_sent(request, None))
            self._unsent.popleft()

    def _expire(self) -> None:
        now_ns = self._clock.now_ns()
        while self._requests:
            request = next(iter(self._requests.values()))
            if now_ns < request.deadline_ns:
                return
            self._fail(request, self._late(request))

    def _disconnect(self) -> None:
        self._state = SessionState.DISCONNECTED
        self._fail_all(self.disconnection)

    def _fail(self, request: ArchiveRequest[Any], error: AerowireError) -> None:
        del self._requests[request.correlation_id]
        request.fail(error)

    def _fail_all(self, error_of: Callable[[ArchiveRequest[Any]], AerowireError]) -> None:
        requests, self._requests = self._requests, {}
        self._unsent.clear()
        for request in requests.values():
            request.fail(error_of(request))

    def _give_up(self, pending: Pending[Any]) -> None:
        with self._lock:
            if self._requests.pop(pending.correlation_id, None) is not None:
                pending.fail(ClosedError(f"given up: {pending.what}"))

    # ---- below: errors

    def _where(self) -> str:
        publication, subscription = self.proxy.publication, self.poller.subscription
        return (
            f"control session {self.session_id}, requests {publication.channel} stream {publication.stream_id}, "
            f"responses {subscription.channel} stream {subscription.stream_id}"
        )

    def _late(self, request: ArchiveRequest[Any]) -> ArchiveTimeoutError:
        is_unsent = any(unsent.request is request for unsent in self._unsent)
        found = "no room in the control publication to send it" if is_unsent else "none"
        last = self._errors[-1].what if self._errors else None
        return ArchiveTimeoutError(
            f"no answer of the archive to: {request.what}",
            where=f"{self._where()}, correlation id {request.correlation_id}",
            expected=f"an answer within {self.context.message_timeout_ns / 1e9:g} s",
            actual=found + (f"; the last error was: {last}" if last else ""),
            request=request.what,
            correlation_id=request.correlation_id,
            recording_id=request.recording_id,
        )

    def _not_sent(self, request: ArchiveRequest[Any], error: ArchiveConnectionError | None) -> ArchiveConnectionError:
        attempts = self.context.message_retry_attempts
        return ArchiveConnectionError(
            f"a request could not be sent: {request.what}",
            where=self._where(),
            expected=error.expected if error else "room in the control publication",
            actual=error.what if error else f"back pressure, {attempts} times",
            hint=None if error else "poll the requests in flight first, or raise message_retry_attempts",
            request=request.what,
            correlation_id=request.correlation_id,
            recording_id=request.recording_id,
        )
