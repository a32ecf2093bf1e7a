"""A control session whose channels are lists: what it sends is kept, what it is to receive is given as bytes. Time is set by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from aerowire.archive import AeronArchive, ArchiveClientContext
from aerowire.archive.client.async_connect import Connected
from aerowire.archive.client.control_session import ControlSession
from aerowire.base.errors import MessageTooLongError
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse
from aerowire.system.clock import ManualClock

SESSION_ID = 7
REQUESTS = "aeron:udp?endpoint=localhost:8010"
RESPONSES = "aeron:udp?endpoint=localhost:8020"
SECOND = 1_000_000_000


class FakePublication:
    """Keeps what is offered; answers with `results` first, then takes everything."""

    channel, stream_id = REQUESTS, 10

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.results: list[int] = []
        self.max_message_length = 8192
        self.is_connected = True
        self.is_closed = False

    def offer(self, message: bytes) -> int:
        if len(message) > self.max_message_length:
            raise MessageTooLongError("message is too long", expected=f"0 to {self.max_message_length} bytes", actual=len(message))
        result = self.results.pop(0) if self.results else 1
        if result > 0:
            self.sent.append(message)
        return result

    def close(self) -> None:
        self.is_closed = True


class FakeSubscription:
    """Hands on what is put into `messages`."""

    channel, stream_id = RESPONSES, 20

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.is_connected = True
        self.is_closed = False

    @property
    def image_count(self) -> int:
        return int(self.is_connected)

    def poll(self, assembler: Any, fragment_limit: int) -> int:
        taken, self.messages = self.messages[:fragment_limit], self.messages[fragment_limit:]
        for message in taken:
            assembler.delegate(memoryview(message), 0, len(message), None)
        return len(taken)

    def close(self) -> None:
        self.is_closed = True


class FakeAeron:
    """The little of a client that a control session uses."""

    conductor_agent_invoker = None
    is_closed = False

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.context = SimpleNamespace(clock=self.clock, driver_agent_invoker=None)
        self.correlation_id = 100

    def ensure_open(self) -> None:
        """It is open."""

    def next_correlation_id(self) -> int:
        self.correlation_id += 1
        return self.correlation_id


class FakeArchive:
    """A connected client, and the archive's side of its channels."""

    def __init__(self, **options: Any) -> None:
        given = {"control_request_channel": REQUESTS, "control_response_channel": RESPONSES, "environ": {}, **options}
        self.context = ArchiveClientContext(**given).conclude()
        self.aeron = FakeAeron()
        self.publication, self.subscription = FakePublication(), FakeSubscription()
        fakes: tuple[Any, Any, Any] = (self.aeron, self.publication, self.subscription)
        self.session = ControlSession(self.context, *fakes)
        self.session.session_id = SESSION_ID
        self.session.archive_id = 42
        self.client = AeronArchive(Connected(self.session, protocol_version=1 << 16 | 12 << 8, owns_aeron=False))

    @property
    def sent(self) -> list[bytes]:
        return self.publication.sent

    def pass_time(self, duration_ns: int) -> None:
        self.aeron.clock.advance(duration_ns)

    def say(self, *messages: Any) -> None:
        """Let the archive send messages: bytes, or records that encode themselves."""
        self.subscription.messages += [message if isinstance(message, bytes) else message.encode() for message in messages]

    def answer(self, relevant_id: int = 0, *, code: ControlResponseCode = ControlResponseCode.OK, error: str = "", **ids: int) -> None:
        """Let the archive answer the last request, or the one of `correlation_id`."""
        named = {"control_session_id": SESSION_ID, "correlation_id": self.aeron.correlation_id, **ids}
        self.say(ControlResponse(**named, relevant_id=relevant_id, code=code, version=1 << 16 | 12 << 8, error_message=error))

    def refuse(self, error_code: int, error: str = "no", **ids: int) -> None:
        """Let the archive answer with an error."""
        self.answer(error_code, code=ControlResponseCode.ERROR, error=error, **ids)
