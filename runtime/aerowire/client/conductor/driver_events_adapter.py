"""What the driver broadcasts: decodes each message and hands it to the conductor. Aeron: DriverEventsAdapter.

Knows layouts; knows nothing of resources. Responses to commands of other clients pass through here too: the conductor drops what it has
not asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from aerowire.base.errors import DamagedBufferError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType

# Messages handled in one go, so that a flood of other clients' responses does not keep a caller for long.
MESSAGE_LIMIT = 256


@dataclass(frozen=True, kw_only=True)
class PublicationErrorFrame:
    """A receiver rejected the image of one of this client's publications."""

    registration_id: int
    destination_registration_id: int
    session_id: int
    stream_id: int
    receiver_id: int
    group_tag: int | None
    source_address: str
    error_code: int
    error_message: str


class DriverEventsListener(Protocol):
    """What the conductor makes of the driver's messages."""

    def on_malformed(self, error: DamagedBufferError) -> None: ...
    def on_error(self, correlation_id: int, error_code: int, text: str) -> None: ...
    def on_publication_ready(
        self,
        correlation_id: int,
        registration_id: int,
        session_id: int,
        stream_id: int,
        position_limit_id: int,
        channel_status_id: int,
        log_file: str,
        *,
        exclusive: bool,
    ) -> None: ...
    def on_subscription_ready(self, correlation_id: int, channel_status_id: int) -> None: ...
    def on_available_image(
        self,
        correlation_id: int,
        session_id: int,
        stream_id: int,
        subscription_id: int,
        position_id: int,
        log_file: str,
        source_identity: str,
    ) -> None: ...
    def on_unavailable_image(self, correlation_id: int, subscription_id: int) -> None: ...
    def on_operation_success(self, correlation_id: int) -> None: ...
    def on_counter_ready(self, correlation_id: int, counter_id: int) -> None: ...
    def on_static_counter(self, correlation_id: int, counter_id: int) -> None: ...
    def on_unavailable_counter(self, registration_id: int, counter_id: int) -> None: ...
    def on_client_timeout(self, client_id: int) -> None: ...
    def on_publication_error(self, frame: PublicationErrorFrame) -> None: ...
    def on_next_available_session_id(self, correlation_id: int, session_id: int) -> None: ...


class Receiver(Protocol):
    """What a receiver of the to-clients buffer can do."""

    def receive(self) -> tuple[int, bytes] | None:
        """Return the next message, or None; raises BroadcastLappedError when it fell behind."""
        ...


class DriverEventsAdapter:
    """Reads the to-clients buffer for one listener. One thread at a time."""

    def __init__(self, receiver: Receiver, listener: DriverEventsListener) -> None:
        self._receiver = receiver
        self._listener = listener
        self._decoders: dict[int, Callable[[bytes], Callable[[], None]]] = {
            CommandType.ON_ERROR: self._on_error,
            CommandType.ON_AVAILABLE_IMAGE: self._on_available_image,
            CommandType.ON_PUBLICATION_READY: lambda body: self._on_publication_ready(body, exclusive=False),
            CommandType.ON_EXCLUSIVE_PUBLICATION_READY: lambda body: self._on_publication_ready(body, exclusive=True),
            CommandType.ON_OPERATION_SUCCESS: self._on_operation_success,
            CommandType.ON_UNAVAILABLE_IMAGE: self._on_unavailable_image,
            CommandType.ON_SUBSCRIPTION_READY: self._on_subscription_ready,
            CommandType.ON_COUNTER_READY: self._on_counter_ready,
            CommandType.ON_UNAVAILABLE_COUNTER: self._on_unavailable_counter,
            CommandType.ON_CLIENT_TIMEOUT: self._on_client_timeout,
            CommandType.ON_STATIC_COUNTER: self._on_static_counter,
            CommandType.ON_PUBLICATION_ERROR: self._on_publication_error,
            CommandType.ON_NEXT_AVAILABLE_SESSION_ID: self._on_next_available_session_id,
        }

    def receive(self, limit: int = MESSAGE_LIMIT) -> int:
        """Handle the messages that are there, at most `limit`; return how many.

        Unknown types are skipped. A message that does not have the layout of its type is skipped and reported to the listener.
        """
        count = 0
        while count < limit:
            message = self._receiver.receive()
            if message is None:
                break
            count += 1
            decode = self._decoders.get(message[0])
            if decode is not None:
                try:
                    act = decode(message[1])
                except ValueError as error:
                    self._listener.on_malformed(_malformed(error, *message))
                else:
                    act()
        return count

    def _on_error(self, body: bytes) -> Callable[[], None]:
        decoder = commands.ErrorResponseDecoder(body)
        return partial(self._listener.on_error, decoder.offending_correlation_id, decoder.error_code, decoder.error_message)

    def _on_publication_ready(self, body: bytes, *, exclusive: bool) -> Callable[[], None]:
        decoder = commands.PublicationReadyDecoder(body)
        return partial(
            self._listener.on_publication_ready,
            decoder.correlation_id,
            decoder.registration_id,
            decoder.session_id,
            decoder.stream_id,
            decoder.position_limit_counter_id,
            decoder.channel_status_counter_id,
            decoder.log_file,
            exclusive=exclusive,
        )

    def _on_subscription_ready(self, body: bytes) -> Callable[[], None]:
        decoder = commands.SubscriptionReadyDecoder(body)
        return partial(self._listener.on_subscription_ready, decoder.correlation_id, decoder.channel_status_counter_id)

    def _on_available_image(self, body: bytes) -> Callable[[], None]:
        decoder = commands.AvailableImageDecoder(body)
        return partial(
            self._listener.on_available_image,
            decoder.correlation_id,
            decoder.session_id,
            decoder.stream_id,
            decoder.subscription_registration_id,
            decoder.subscriber_position_counter_id,
            decoder.log_file,
            decoder.source_identity,
        )

    def _on_unavailable_image(self, body: bytes) -> Callable[[], None]:
        decoder = commands.UnavailableImageDecoder(body)
        return partial(self._listener.on_unavailable_image, decoder.correlation_id, decoder.subscription_registration_id)

    def _on_operation_success(self, body: bytes) -> Callable[[], None]:
        return partial(self._listener.on_operation_success, commands.OperationSuccessDecoder(body).correlation_id)

    def _on_counter_ready(self, body: bytes) -> Callable[[], None]:
        decoder = commands.CounterUpdateDecoder(body)
        return partial(self._listener.on_counter_ready, decoder.correlation_id, decoder.counter_id)

    def _on_unavailable_counter(self, body: bytes) -> Callable[[], None]:
        decoder = commands.CounterUpdateDecoder(body)
        return partial(self._listener.on_unavailable_counter, decoder.correlation_id, decoder.counter_id)

    def _on_static_counter(self, body: bytes) -> Callable[[], None]:
        decoder = commands.StaticCounterDecoder(body)
        return partial(self._listener.on_static_counter, decoder.correlation_id, decoder.counter_id)

    def _on_client_timeout(self, body: bytes) -> Callable[[], None]:
        return partial(self._listener.on_client_timeout, commands.ClientTimeoutDecoder(body).client_id)

    def _on_next_available_session_id(self, body: bytes) -> Callable[[], None]:
        decoder = commands.NextAvailableSessionIdDecoder(body)
        return partial(self._listener.on_next_available_session_id, decoder.correlation_id, decoder.session_id)

    def _on_publication_error(self, body: bytes) -> Callable[[], None]:
        decoder = commands.PublicationErrorFrameDecoder(body)
        return partial(
            self._listener.on_publication_error,
            PublicationErrorFrame(
                registration_id=decoder.registration_id,
                destination_registration_id=decoder.destination_registration_id,
                session_id=decoder.session_id,
                stream_id=decoder.stream_id,
                receiver_id=decoder.receiver_id,
                group_tag=None if decoder.group_tag == commands.NULL_CORRELATION_ID else decoder.group_tag,
                source_address=_address(decoder.address_type, bytes(decoder.source_address), decoder.source_port),
                error_code=decoder.error_code,
                error_message=decoder.error_message,
            ),
        )


def _malformed(error: ValueError, message_type: int, body: bytes) -> DamagedBufferError:
    return DamagedBufferError(
        "a message of the driver is malformed",
        where=f"to-clients buffer, {CommandType(message_type).name}",
        expected="a message of its declared layout",
        actual=f"{len(body)} bytes: {error}",
        hint="a process that may write to the driver's directory wrote it",
    )


def _address(address_type: int, address: bytes, port: int) -> str:
    import ipaddress

    if address_type == commands.AddressType.IPV4:
        return f"{ipaddress.IPv4Address(address[:4])}:{port}"
    return f"[{ipaddress.IPv6Address(address[:16])}]:{port}"
