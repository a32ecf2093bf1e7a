"""A control session's other ends, in memory: an image, a response publication, additions to a driver, operations that note requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from aerowire.archive.control.archive_events import ArchiveEvents
from aerowire.archive.control.control_response_proxy import ControlResponseProxy
from aerowire.archive.control.control_session import ControlSession
from aerowire.archive.control.control_session_adapter import ControlSessionAdapter
from aerowire.archive.control.cycle_time import CycleTime
from aerowire.archive.control.replay_tokens import ReplayTokens
from aerowire.archive.control.retried_request import RetriedRequest
from aerowire.archive.control.session_machine import SessionMachine
from aerowire.client.handles.waiting import Pending
from aerowire.codecs.flyweights import archive
from aerowire.security.authentication import Authenticator
from aerowire.security.authorisation import ALLOW_ALL, AuthorisationService

PROTOCOL_VERSION = 0x010C00


@dataclass(eq=False)
class MemoryImage:
    """The image of a client's requests."""

    session_id: int = 7
    correlation_id: int = 70
    stream_id: int = 10
    source_identity: str = "127.0.0.1:5000"


@dataclass(eq=False)
class MemoryPublication:
    """A response publication whose subscriber reads at once; `result` is what an offer returns in place of a position."""

    result: int | None = None
    is_connected: bool = True
    registration_id: int = 500
    is_closed: bool = False
    revoke_on_close: bool = False
    messages: list[bytes] = field(default_factory=list)

    def offer_parts(self, *parts: Any) -> int:
        if self.result is not None:
            return self.result
        self.messages.append(b"".join(bytes(part) for part in parts))
        return 32 * len(self.messages)

    def close(self) -> None:
        self.is_closed = True

    def take(self) -> list[Any]:
        """Return the messages that came since the last call."""
        taken, self.messages = self.messages, []
        return [archive.decode(message) for message in taken]


@dataclass(eq=False)
class MemoryCounter:
    """The counter of a session."""

    value: int = 0
    reference_id: int = 0
    is_closed: bool = False

    def close(self) -> None:
        self.is_closed = True


def answered(value: Any) -> Pending[Any]:
    """Return an addition that the driver has answered."""
    pending: Pending[Any] = Pending(1, "add", lambda: None, lambda _: None)
    pending.complete(value)
    return pending


def refused(error: BaseException) -> Pending[Any]:
    """Return an addition that the driver has refused."""
    pending: Pending[Any] = Pending(1, "add", lambda: None, lambda _: None)
    pending.fail(error)
    return pending


class NotedOperations:
    """Operations that note what they are asked for. `raises` is raised by the next one."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.raises: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        def note(session: ControlSession, request: Any) -> None:
            self.calls.append((name, request))
            if self.raises is not None:
                raised, self.raises = self.raises, None
                raise raised
            session.send_ok(request.correlation_id)

        return note


class SessionHost:
    """An adapter with its sessions, in place of the conductor. Times are milliseconds."""

    def __init__(self, *, authenticator: Authenticator | None = None, authorisation: AuthorisationService = ALLOW_ALL) -> None:
        self.time = CycleTime()
        self.image = MemoryImage()
        self.publication = MemoryPublication()
        self.counter = MemoryCounter()
        self.reports: list[str] = []
        self.operations = NotedOperations()
        self.authenticator = authenticator or Authenticator()
        self.proxy = ControlResponseProxy(ArchiveEvents(), PROTOCOL_VERSION)
        self.tokens = ReplayTokens(iter(range(1, 1000)).__next__, 5_000_000_000)
        self.adapter = ControlSessionAdapter(
            cast(Any, self.operations),
            lambda image, request: self.new_session(image, correlation_id=request.correlation_id),
            authorisation,
            self.tokens,
            self.time,
            ArchiveEvents(),
            lambda error, _key: self.reports.append(str(error)),
        )
        self._next_session_id = 100

    def new_session(self, image: Any = None, *, correlation_id: int = 1, invalid_version: str | None = None) -> ControlSession:
        """Return a session in the state INIT."""
        session_id, self._next_session_id = self._next_session_id, self._next_session_id + 1
        machine = SessionMachine(
            now_ms=self.time.now_ms,
            connect_timeout_ms=5000,
            liveness_check_interval_ms=1000,
            is_version_valid=invalid_version is None,
        )
        return ControlSession(
            session_id,
            correlation_id,
            machine,
            image=cast(Any, image or self.image),
            publication=RetriedRequest(lambda: answered(self.publication)),
            counter=answered(self.counter),
            proxy=self.proxy,
            authenticator=self.authenticator,
            time=self.time,
            invalid_version=invalid_version,
        )

    def connect(self) -> ControlSession:
        """Connect a client, up to its session's id; return the session."""
        self.send(
            archive.AuthConnectRequest(correlation_id=1, response_stream_id=20, version=PROTOCOL_VERSION, response_channel="aeron:ipc")
        )
        session = self.adapter.sessions[-1]
        for _ in range(4):
            session.do_work()
        return session

    def active(self) -> ControlSession:
        """Return a session that is ACTIVE, whose client has read everything."""
        session = self.connect()
        self.send(archive.KeepAliveRequest(control_session_id=session.session_id, correlation_id=2))
        self.publication.take()
        return session

    def send(self, request: Any, image: MemoryImage | None = None) -> None:
        """Hand a request, or the bytes of one, to the adapter."""
        message = request if isinstance(request, bytes) else request.encode()
        self.adapter.on_message(memoryview(message), cast(Any, image or self.image))
