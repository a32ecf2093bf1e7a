"""Messages to a client, encoded and offered to its response publication. Aeron: ControlResponseProxy."""

from __future__ import annotations

import enum
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.codecs.flyweights.archive import (
    Challenge,
    ControlResponseCode,
    ControlResponseDecoder,
    Ping,
    RecordingDescriptorDecoder,
    RecordingSignal,
    RecordingSignalEvent,
    RecordingSubscriptionDescriptor,
)
from aerowire.codecs.flyweights.archive.header import HEADER
from aerowire.codecs.flyweights.transport import TERM_LENGTH_MIN

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.archive.control.archive_events import ArchiveEvents

# A publication that is rotating its terms takes a message at the next attempt.
SEND_ATTEMPTS = 3
_TEXT_LENGTH_SIZE = 4
# The longest message of a response publication with the shortest term: no message may be longer, whatever the client has chosen.
MESSAGE_LENGTH_MAX = TERM_LENGTH_MIN // 8
_ERROR_MESSAGE_LENGTH_MAX = MESSAGE_LENGTH_MAX - HEADER.size - ControlResponseDecoder.SBE_BLOCK_LENGTH - _TEXT_LENGTH_SIZE


class ResponsePublication(Protocol):
    """What of a publication a response needs."""

    @property
    def is_connected(self) -> bool:
        """Whether there is a subscriber."""

    def offer_parts(self, *buffers: Buffer) -> int:
        """Append a message, whose parts follow each other; returns a position above 0, or why not."""


class SendResult(enum.Enum):
    """The outcome of a send."""

    SENT = enum.auto()
    BLOCKED = enum.auto()  # another attempt may succeed
    NOT_CONNECTED = enum.auto()
    CLOSED = enum.auto()
    AT_MAX_POSITION = enum.auto()


_FAILURES = {
    NOT_CONNECTED: SendResult.NOT_CONNECTED,
    CLOSED: SendResult.CLOSED,
    MAX_POSITION_EXCEEDED: SendResult.AT_MAX_POSITION,
}

# A message header, the fields of ControlResponse, and the length of its text.
_RESPONSE = Struct("<HHHHqqqiiI")
_RESPONSE_HEADER = (
    ControlResponseDecoder.SBE_BLOCK_LENGTH,
    ControlResponseDecoder.SBE_TEMPLATE_ID,
    ControlResponseDecoder.SBE_SCHEMA_ID,
    ControlResponseDecoder.SBE_SCHEMA_VERSION,
)
_DESCRIPTOR_HEAD = Struct("<HHHHqq")
_DESCRIPTOR_HEADER = (
    RecordingDescriptorDecoder.SBE_BLOCK_LENGTH,
    RecordingDescriptorDecoder.SBE_TEMPLATE_ID,
    RecordingDescriptorDecoder.SBE_SCHEMA_ID,
    RecordingDescriptorDecoder.SBE_SCHEMA_VERSION,
)


class ControlResponseProxy:
    """Encodes messages of one protocol version, and sends them. Keeps nothing of a session."""

    def __init__(self, events: ArchiveEvents, protocol_version: int) -> None:
        self._events = events
        self._protocol_version = protocol_version

    def response(self, session_id: int, correlation_id: int, relevant_id: int, code: ControlResponseCode, error_message: str = "") -> bytes:
        """Return the response to a request."""
        text = _ascii(error_message)[:_ERROR_MESSAGE_LENGTH_MAX].encode("ascii", "surrogateescape") if error_message else b""
        fields = session_id, correlation_id, relevant_id, code, self._protocol_version, len(text)
        return _RESPONSE.pack(*_RESPONSE_HEADER, *fields) + text

    def challenge(self, session_id: int, correlation_id: int, encoded_challenge: bytes) -> bytes:
        """Return a challenge; its version is left out, as officially."""
        return Challenge(control_session_id=session_id, correlation_id=correlation_id, encoded_challenge=encoded_challenge).encode()

    def signal(
        self, session_id: int, correlation_id: int, recording_id: int, subscription_id: int, position: int, signal: RecordingSignal
    ) -> bytes:
        """Return a recording signal."""
        return RecordingSignalEvent(
            control_session_id=session_id,
            correlation_id=correlation_id,
            recording_id=recording_id,
            subscription_id=subscription_id,
            position=position,
            signal=signal,
        ).encode()

    def ping(self, session_id: int) -> bytes:
        """Return a ping."""
        return Ping(control_session_id=session_id).encode()

    def subscription_descriptor(
        self, session_id: int, correlation_id: int, subscription_id: int, stream_id: int, stripped_channel: str
    ) -> bytes:
        """Return the descriptor of a recording subscription."""
        return RecordingSubscriptionDescriptor(
            control_session_id=session_id,
            correlation_id=correlation_id,
            subscription_id=subscription_id,
            stream_id=stream_id,
            stripped_channel=stripped_channel,
        ).encode()

    def descriptor_head(self, session_id: int, correlation_id: int) -> bytes:
        """Return what stands in a message before the content of a stored descriptor, which begins with the recording's id."""
        return _DESCRIPTOR_HEAD.pack(*_DESCRIPTOR_HEADER, session_id, correlation_id)

    def send(self, publication: ResponsePublication, *parts: Buffer) -> SendResult:
        """Offer a message, up to three times."""
        for _ in range(SEND_ATTEMPTS):
            position = publication.offer_parts(*parts)
            if position > 0:
                if self._events.is_on:
                    self._note(parts[0])
                return SendResult.SENT
            result = result_of(position)
            if result is not SendResult.BLOCKED:
                return result
        return SendResult.BLOCKED

    def _note(self, message: Buffer) -> None:
        view = memoryview(message)
        _, template_id, _, _ = HEADER.unpack(view, 0)
        self._events.message(template_id, view)


def result_of(refusal: int) -> SendResult:
    """Return the outcome of a send that a publication has refused, by what its offer returned."""
    return _FAILURES.get(refusal, SendResult.BLOCKED)


def _ascii(text: str) -> str:
    """Return a text that the protocol can carry: what a client wrote is repeated as it came, the rest is escaped."""
    try:
        text.encode("ascii", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text
