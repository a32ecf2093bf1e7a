"""Outputs of a service as values, and stand-ins for streams that note them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aerowire.base.channel_uri import IPC_CHANNEL
from aerowire.base.errors import ServiceCallError
from aerowire.cluster.services.session_header import SESSION_HEADER_LENGTH
from aerowire.codecs.flyweights.base import align
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, MAX_MESSAGE_LENGTH_TERM_SHIFT, DataHeaderDecoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

SESSION_OFFER: Final = "session offer"
CLUSTER_OFFER: Final = "cluster offer"
TIMER_SCHEDULED: Final = "timer scheduled"
TIMER_CANCELLED: Final = "timer cancelled"
SESSION_CLOSED: Final = "session closed"
SNAPSHOT: Final = "snapshot message"
ERROR: Final = "error raised"

_MTU: Final = 1408
_TERM_LENGTH: Final = 64 << 20


class Output(NamedTuple):
    """One action of a service: its kind, its subject, and its bytes, if any."""

    kind: str
    subject: str
    data: bytes = b""


Note = Callable[[Output], object]


def snapshot_output(log_position: int, message: bytes) -> Output:
    """Return a message of a snapshot as an output."""
    return Output(SNAPSHOT, f"at {log_position}", message)


def snapshot_position(output: Output) -> int:
    """Return the log position of the snapshot that a message belongs to."""
    return int(output.subject.removeprefix("at "))


class NotedClaim:
    """Space for a message that is noted when it is committed. Stands in for BufferClaim."""

    def __init__(self, length: int, result: int, on_commit: Callable[[bytes], object]) -> None:
        self._memory = bytearray(length)
        self._on_commit = on_commit
        self.result = result
        self.is_open = True

    def __bool__(self) -> bool:
        return True

    @property
    def length(self) -> int:
        """Bytes of the message, its header included."""
        return len(self._memory)

    @property
    def buffer(self) -> memoryview:
        """The bytes, writable until commit or abort."""
        return memoryview(self._memory)

    def put_bytes(self, data: Buffer, offset: int = 0) -> None:
        """Write a part of the message."""
        view = memoryview(data).cast("B")
        self.buffer[offset : offset + len(view)] = view

    def commit(self) -> None:
        """Note the message, once."""
        if self.is_open:
            self.is_open = False
            self._on_commit(bytes(self._memory))

    def abort(self) -> None:
        """Note nothing."""
        self.is_open = False


class NotedPublication:
    """A publication that always has room, and notes what is sent. Stands in for Publication and ExclusivePublication."""

    is_connected = True
    is_closed = False
    session_id = 0
    initial_term_id = 0
    term_buffer_length = _TERM_LENGTH
    mtu_length = _MTU
    max_payload_length = _MTU - DataHeaderDecoder.ENCODED_LENGTH
    max_message_length = _TERM_LENGTH >> MAX_MESSAGE_LENGTH_TERM_SHIFT

    def __init__(self, channel: str, stream_id: int, on_message: Callable[[bytes], object]) -> None:
        self.channel = channel
        self.stream_id = stream_id
        self.position = 0
        self._on_message = on_message

    def offer(self, buffer: Buffer, offset: int = 0, length: int | None = None, reserved_value: object = None) -> int:
        """Note a message; return the position behind it."""
        del reserved_value
        view = memoryview(buffer).cast("B")
        return self.offer_parts(view[offset : len(view) if length is None else offset + length])

    def offer_parts(self, *buffers: Buffer, reserved_value: object = None) -> int:
        """Note a message that lies in several buffers; return the position behind it."""
        del reserved_value
        message = b"".join(memoryview(part).cast("B") for part in buffers)
        self._on_message(message)
        return self._advance(len(message))

    def try_claim(self, length: int) -> NotedClaim:
        """Claim space for a message."""
        return NotedClaim(length, self._advance(length), self._on_message)

    def close(self) -> None:
        """Do nothing: what was noted stays."""

    def _advance(self, length: int) -> int:
        self.position += align(DataHeaderDecoder.ENCODED_LENGTH + length, FRAME_ALIGNMENT)
        return self.position


class NotedConsensusModule:
    """Notes the requests of a service to its consensus module. Stands in for ConsensusModuleProxy."""

    is_connected = True

    def __init__(self, note: Note) -> None:
        self._note = note
        self._publication = NotedPublication(IPC_CHANNEL, 0, self._on_message)

    def schedule_timer(self, correlation_id: int, deadline: int) -> bool:
        """Note a timer and its deadline."""
        self._note(Output(TIMER_SCHEDULED, f"timer {correlation_id}, deadline {deadline}"))
        return True

    def cancel_timer(self, correlation_id: int) -> bool:
        """Note a timer that is cancelled."""
        self._note(Output(TIMER_CANCELLED, f"timer {correlation_id}"))
        return True

    def close_session(self, session_id: int) -> bool:
        """Note a session that is to be closed."""
        self._note(Output(SESSION_CLOSED, f"session {session_id}"))
        return True

    def offer_parts(self, *parts: Buffer) -> int:
        """Note a message for the log, whose header comes first."""
        return self._publication.offer_parts(*parts)

    def try_claim(self, length: int) -> NotedClaim:
        """Claim space for such a message, header included."""
        return self._publication.try_claim(length)

    def _on_message(self, message: bytes) -> None:
        self._note(Output(CLUSTER_OFFER, "to all services", message[SESSION_HEADER_LENGTH:]))


class NotedClients:
    """Makes publications to clients that note the messages. Stands in for the client of a driver: a replay has none."""

    is_closed = False

    def __init__(self, note: Note) -> None:
        self._note = note

    def async_add_publication(self, channel: str, stream_id: int) -> NotedPublication:
        """Return a publication to a client, at once."""
        return NotedPublication(channel, stream_id, self._on_message)

    def _on_message(self, message: bytes) -> None:
        session_id = SessionMessageHeader.decode(message).cluster_session_id
        self._note(Output(SESSION_OFFER, f"to session {session_id}", message[SESSION_HEADER_LENGTH:]))

    def __getattr__(self, name: str) -> Any:
        raise ServiceCallError(
            "a replay has no media driver",
            where=f"cluster.aeron.{name}",
            expected="a service whose state and messages follow from the log alone",
            hint="a service that has streams of its own cannot be replayed",
        )
