"""A client's control session: its response publication, its responses in order, its counter. Aeron: ControlSession, ControlSessionProxy.

The rules of its states are in session_machine.py; the operations that a client asks for are the conductor's.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from aerowire.archive.control.control_response_proxy import SendResult, result_of
from aerowire.archive.control.session_machine import (
    AUTHENTICATION_REJECTED,
    RESPONSE_NOT_CONNECTED,
    SessionMachine,
    SessionState,
    SessionTask,
)
from aerowire.codecs.flyweights.archive import ControlResponseCode
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from aerowire.archive.control.control_response_proxy import ControlResponseProxy
    from aerowire.archive.control.cycle_time import CycleTime
    from aerowire.archive.control.retried_request import RetriedRequest
    from aerowire.client.handles.counter import Counter
    from aerowire.client.handles.waiting import Pending
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.client.subscriptions.image import Image
    from aerowire.codecs.flyweights.archive import RecordingSignal
    from aerowire.security.authentication import Authenticator

# Responses that a client may leave unread: more than its term takes, and a bound for what it makes the archive keep.
RESPONSES_WAITING_MAX = 4096
BYTES_WAITING_MAX = 1 << 20
_RESPONSES_PER_CYCLE = 64

# What a session does each cycle while it waits for others: it is no work.
_TASKS_OF_WAITING = {SessionTask.OPEN, SessionTask.CHALLENGE}

_ENDED_BY = {
    SendResult.NOT_CONNECTED: RESPONSE_NOT_CONNECTED,
    SendResult.CLOSED: "control response publication is closed",
    SendResult.AT_MAX_POSITION: "control response publication is at max position",
}


class Listing(Protocol):
    """An operation that a session has one of at a time."""

    def abort(self, reason: str) -> None:
        """End it without a response."""


class ControlSession:
    """One client's session. The conductor's thread.

    Invariant: responses and signals are sent in the order in which they were given; `_waiting` holds those that could not be sent yet.
    """

    def __init__(
        self,
        session_id: int,
        correlation_id: int,
        machine: SessionMachine,
        *,
        image: Image,
        publication: RetriedRequest[ExclusivePublication],
        counter: Pending[Counter],
        proxy: ControlResponseProxy,
        authenticator: Authenticator,
        time: CycleTime,
        invalid_version: str | None = None,
    ) -> None:
        """`image` is that of the requests; `invalid_version` the text for a client whose version is not served."""
        self.session_id = session_id
        self.correlation_id = correlation_id
        self.image = image
        self.machine = machine
        self.encoded_principal = b""
        self.active_listing: Listing | None = None
        self._adding_publication = publication
        self._adding_counter = counter
        self._publication: ExclusivePublication | None = None
        self._counter: Counter | None = None
        self._proxy = proxy
        self._authenticator = authenticator
        self._time = time
        self._invalid_version = invalid_version
        self._waiting: deque[bytes] = deque()
        self._bytes_waiting = 0
        self._tasks: dict[SessionTask, Callable[[], object]] = {
            SessionTask.OPEN: self._open,
            SessionTask.REFUSE_VERSION: self._refuse_version,
            SessionTask.AUTHENTICATE: self._ask_authenticator,
            SessionTask.CHALLENGE: self._ask_about_response,
            SessionTask.CONFIRM: self._confirm,
            SessionTask.PING: self._ping,
            SessionTask.REJECT: self._send_rejection,
        }

    @property
    def is_done(self) -> bool:
        """Whether the session has ended, and is to be closed."""
        return self.machine.is_done

    @property
    def has_unsent(self) -> bool:
        """Whether responses wait until the client has read others."""
        return bool(self._waiting)

    @property
    def is_flowing(self) -> bool:
        """Whether requests may be answered past the session: it is active, and neither a response nor a ping is unsent."""
        return self.machine.is_flowing and not self._waiting

    @property
    def state(self) -> SessionState:
        """How far the session has come."""
        return self.machine.state

    @property
    def has_active_listing(self) -> bool:
        """Whether a listing is going on."""
        return self.active_listing is not None

    def do_work(self) -> int:
        """Do what is due; return how much was done. What a driver or an authenticator raises ends the session and is raised."""
        publication = self._publication
        try:
            task = self.machine.poll(self._time.now_ms, is_connected=publication is not None and publication.is_connected)
            if task is not None:
                self._tasks[task]()
        except Exception as error:
            self.abort(f"failed with exception: {error}")
            raise
        return self._send_waiting() + (task is not None and task not in _TASKS_OF_WAITING)

    def abort(self, reason: str) -> None:
        """End the session, and its listing with it."""
        self.machine.end(reason)
        if self.active_listing is not None:
            self.active_listing.abort(reason)

    def close(self) -> None:
        """Give back the publication, which is revoked, and the counter; the authenticator comes last, as it may raise."""
        self._waiting.clear()
        if self._publication is None:
            self._adding_publication.abandon()
        elif not self._publication.is_closed:
            self._publication.revoke_on_close = True
            self._publication.close()
        if self._counter is None:
            self._adding_counter.abandon()
        elif not self._counter.is_closed:
            self._counter.close()
        self._authenticator.on_session_closed(self.session_id)

    # ---- requests about the session itself

    def on_request(self) -> bool:
        """Note a request; return whether it may be served."""
        return self.machine.on_request()

    def on_challenge_response(self, correlation_id: int, encoded_credentials: bytes) -> None:
        """Hand a response to a challenge to the authenticator; without a challenge it is nothing."""
        if self.machine.state is SessionState.CHALLENGED:
            self.correlation_id = correlation_id
            self._authenticator.on_challenge_response(self.session_id, encoded_credentials, self._time.now_ms)

    # ---- responses

    def send_ok(self, correlation_id: int, relevant_id: int = 0) -> None:
        """Respond that a request was done."""
        self._send_response(correlation_id, relevant_id, ControlResponseCode.OK)

    def send_error(self, correlation_id: int, text: str, code: ArchiveErrorCode = ArchiveErrorCode.GENERIC) -> None:
        """Respond that a request failed."""
        self._send_response(correlation_id, code, ControlResponseCode.ERROR, text)

    def send_recording_unknown(self, correlation_id: int, recording_id: int) -> None:
        """Respond that a listing has no recording from that id on."""
        self._send_response(correlation_id, recording_id, ControlResponseCode.RECORDING_UNKNOWN)

    def send_subscription_unknown(self, correlation_id: int) -> None:
        """Respond that a listing has no more recording subscriptions."""
        self._send_response(correlation_id, 0, ControlResponseCode.SUBSCRIPTION_UNKNOWN)

    def send_signal(self, correlation_id: int, recording_id: int, subscription_id: int, position: int, signal: RecordingSignal) -> None:
        """Send a recording signal, which the correlation id of its request accompanies."""
        self._send(self._proxy.signal(self.session_id, correlation_id, recording_id, subscription_id, position, signal))

    def descriptor_head(self, correlation_id: int) -> bytes:
        """Return what the messages of a listing begin with."""
        return self._proxy.descriptor_head(self.session_id, correlation_id)

    @property
    def free_publication(self) -> ExclusivePublication | None:
        """The response publication, for messages that are offered to it in another way; None while responses wait before them."""
        return None if self._waiting else self._publication

    def on_offered(self, sent: int, refusal: int) -> None:
        """Note what became of messages that were offered to `free_publication`: how many were sent, why no more were; 0 for no reason."""
        if sent:
            self.machine.on_sent()
        if refusal:
            self._on_refused(result_of(refusal))

    def send_subscription_descriptor(self, correlation_id: int, subscription_id: int, stream_id: int, channel: str) -> bool:
        """Send the descriptor of a recording subscription; False when it is to be sent again later, or the session has ended."""
        return self._try_send(self._proxy.subscription_descriptor(self.session_id, correlation_id, subscription_id, stream_id, channel))

    def _send_response(self, correlation_id: int, relevant_id: int, code: ControlResponseCode, text: str = "") -> None:
        self._send(self._proxy.response(self.session_id, correlation_id, relevant_id, code, text))

    def _send(self, message: bytes) -> None:
        if self.machine.is_done or self._try_send(message) or self.machine.is_done:
            return
        if len(self._waiting) >= RESPONSES_WAITING_MAX or self._bytes_waiting >= BYTES_WAITING_MAX:
            self.abort(f"{len(self._waiting)} responses of {self._bytes_waiting} bytes are not read")
        else:
            self._waiting.append(message)
            self._bytes_waiting += len(message)

    def _try_send(self, *parts: Buffer) -> bool:
        """Send a message if nothing waits before it."""
        return not self._waiting and self._offer(*parts)

    def _offer(self, *parts: Buffer) -> bool:
        if self._publication is None:
            return False
        result = self._proxy.send(self._publication, *parts)
        if result is SendResult.SENT:
            self.machine.on_sent()
            return True
        self._on_refused(result)
        return False

    def _on_refused(self, result: SendResult) -> None:
        if result is SendResult.BLOCKED:
            self.machine.on_blocked(self._time.now_ms)
        else:
            self.abort(_ENDED_BY[result])

    def _send_waiting(self) -> int:
        count = 0
        while self._waiting and count < _RESPONSES_PER_CYCLE and not self.is_done and self._offer(self._waiting[0]):
            self._bytes_waiting -= len(self._waiting.popleft())
            count += 1
        return count

    # ---- tasks of the states

    def _open(self) -> None:
        if self._publication is None:
            self._publication = self._adding_publication.poll(self._time.now_ms)
        if self._counter is None and self._adding_counter.poll():
            self._counter = self._adding_counter.result()
        if self._publication is not None and self._counter is not None:
            self._counter.reference_id = self._publication.registration_id
            self._counter.value = self.session_id
            self.machine.on_open(self._time.now_ms)

    def _refuse_version(self) -> None:
        assert self._invalid_version is not None
        self._reply_to_connect(self.session_id, ControlResponseCode.ERROR, self._invalid_version)

    def _ask_authenticator(self) -> None:
        self._authenticator.on_connected_session(self, self._time.now_ms)

    def _ask_about_response(self) -> None:
        self._authenticator.on_challenged_session(self, self._time.now_ms)

    def _confirm(self) -> None:
        self._reply_to_connect(self.session_id, ControlResponseCode.OK)

    def _ping(self) -> None:
        self._try_send(self._proxy.ping(self.session_id))

    def _send_rejection(self) -> None:
        self._reply_to_connect(ArchiveErrorCode.AUTHENTICATION_REJECTED, ControlResponseCode.ERROR, AUTHENTICATION_REJECTED)

    def _reply_to_connect(self, relevant_id: int, code: ControlResponseCode, text: str = "") -> bool:
        return self._offer(self._proxy.response(self.session_id, self.correlation_id, relevant_id, code, text))

    def challenge(self, encoded_challenge: bytes) -> bool:
        """Authenticator: send a challenge."""
        is_sent = self._offer(self._proxy.challenge(self.session_id, self.correlation_id, encoded_challenge))
        if is_sent:
            self.machine.on_challenged()
        return is_sent

    def authenticate(self, encoded_principal: bytes) -> bool:
        """Authenticator: accept the client."""
        is_sent = self._reply_to_connect(self.session_id, ControlResponseCode.OK)
        if is_sent:
            self.encoded_principal = encoded_principal
            self.machine.on_authenticated()
        return is_sent

    def reject(self) -> None:
        """Authenticator: refuse the client."""
        self.machine.on_rejected()

    def __repr__(self) -> str:
        return f"ControlSession(session_id={self.session_id}, state={self.state.value})"
