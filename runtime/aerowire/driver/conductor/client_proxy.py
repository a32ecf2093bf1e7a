"""The driver's voice: responses to clients, encoded and broadcast. Aeron: ClientProxy."""

from __future__ import annotations

from typing import Protocol

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType

# An error's text must fit a broadcast record beside its header, whatever the buffer; longer ones are cut.
_ERROR_TEXT_LENGTH_MAX = 4096


class Transmitter(Protocol):
    """Where responses go: a broadcast buffer, or a list in a test."""

    def transmit(self, message_type: int, body: bytes, /) -> object: ...


class ClientProxy:
    """Encodes each response and hands it to the transmitter. One thread: the conductor's."""

    __slots__ = ("_transmitter",)

    def __init__(self, transmitter: Transmitter) -> None:
        self._transmitter = transmitter

    def error(self, correlation_id: int, error_code: int, text: str) -> None:
        """Answer a command with an error."""
        body = commands.ErrorResponseEncoder.encode(
            offending_correlation_id=correlation_id, error_code=int(error_code), error_message=text[:_ERROR_TEXT_LENGTH_MAX]
        )
        self._transmitter.transmit(CommandType.ON_ERROR, body)

    def publication_ready(
        self,
        correlation_id: int,
        *,
        registration_id: int,
        session_id: int,
        stream_id: int,
        position_limit_counter_id: int,
        channel_status_counter_id: int,
        log_file: str,
        is_exclusive: bool,
    ) -> None:
        """Tell a client where its publication's log is."""
        body = commands.PublicationReadyEncoder.encode(
            correlation_id=correlation_id,
            registration_id=registration_id,
            session_id=session_id,
            stream_id=stream_id,
            position_limit_counter_id=position_limit_counter_id,
            channel_status_counter_id=channel_status_counter_id,
            log_file=log_file,
        )
        ready = CommandType.ON_EXCLUSIVE_PUBLICATION_READY if is_exclusive else CommandType.ON_PUBLICATION_READY
        self._transmitter.transmit(ready, body)

    def subscription_ready(self, correlation_id: int, channel_status_counter_id: int) -> None:
        """Tell a client that its subscription stands."""
        body = commands.SubscriptionReadyEncoder.encode(correlation_id=correlation_id, channel_status_counter_id=channel_status_counter_id)
        self._transmitter.transmit(CommandType.ON_SUBSCRIPTION_READY, body)

    def available_image(
        self,
        correlation_id: int,
        *,
        session_id: int,
        stream_id: int,
        subscription_registration_id: int,
        subscriber_position_counter_id: int,
        log_file: str,
        source_identity: str,
    ) -> None:
        """Tell a client that a subscription has a new image."""
        body = commands.AvailableImageEncoder.encode(
            correlation_id=correlation_id,
            session_id=session_id,
            stream_id=stream_id,
            subscription_registration_id=subscription_registration_id,
            subscriber_position_counter_id=subscriber_position_counter_id,
            log_file=log_file,
            source_identity=source_identity,
        )
        self._transmitter.transmit(CommandType.ON_AVAILABLE_IMAGE, body)

    def unavailable_image(self, correlation_id: int, subscription_registration_id: int, stream_id: int, channel: str) -> None:
        """Tell a client that an image of a subscription has ended; what is not ASCII in the channel becomes a question mark."""
        body = commands.UnavailableImageEncoder.encode(
            correlation_id=correlation_id,
            subscription_registration_id=subscription_registration_id,
            stream_id=stream_id,
            channel=channel.encode("ascii", "replace"),
        )
        self._transmitter.transmit(CommandType.ON_UNAVAILABLE_IMAGE, body)

    def operation_success(self, correlation_id: int) -> None:
        """Tell a client that its command was done."""
        self._transmitter.transmit(CommandType.ON_OPERATION_SUCCESS, commands.OperationSuccessEncoder.encode(correlation_id=correlation_id))

    def counter_ready(self, correlation_id: int, counter_id: int) -> None:
        """Tell every client that a counter appeared."""
        self._counter(CommandType.ON_COUNTER_READY, correlation_id, counter_id)

    def unavailable_counter(self, registration_id: int, counter_id: int) -> None:
        """Tell every client that a counter went."""
        self._counter(CommandType.ON_UNAVAILABLE_COUNTER, registration_id, counter_id)

    def static_counter(self, correlation_id: int, counter_id: int) -> None:
        """Tell a client where its static counter is."""
        body = commands.StaticCounterEncoder.encode(correlation_id=correlation_id, counter_id=counter_id)
        self._transmitter.transmit(CommandType.ON_STATIC_COUNTER, body)

    def client_timeout(self, client_id: int) -> None:
        """Tell a client that the driver gave it up."""
        self._transmitter.transmit(CommandType.ON_CLIENT_TIMEOUT, commands.ClientTimeoutEncoder.encode(client_id=client_id))

    def next_available_session_id(self, correlation_id: int, session_id: int) -> None:
        """Answer with a session id that nobody uses."""
        body = commands.NextAvailableSessionIdEncoder.encode(correlation_id=correlation_id, session_id=session_id)
        self._transmitter.transmit(CommandType.ON_NEXT_AVAILABLE_SESSION_ID, body)

    def publication_error(
        self,
        registration_id: int,
        *,
        destination_registration_id: int,
        session_id: int,
        stream_id: int,
        receiver_id: int,
        group_tag: int,
        address: bytes,
        port: int,
        error_code: int,
        text: str,
    ) -> None:
        """Tell clients that a receiver rejected a publication's stream; `address` is 4 or 16 bytes."""
        address_type = commands.AddressType.IPV4 if len(address) == 4 else commands.AddressType.IPV6
        body = commands.PublicationErrorFrameEncoder.encode(
            registration_id=registration_id,
            destination_registration_id=destination_registration_id,
            session_id=session_id,
            stream_id=stream_id,
            receiver_id=receiver_id,
            group_tag=group_tag,
            address_type=address_type,
            source_port=port,
            source_address=address.ljust(16, b"\0"),
            error_code=error_code,
            error_message=text,
        )
        self._transmitter.transmit(CommandType.ON_PUBLICATION_ERROR, body)

    def _counter(self, message_type: int, correlation_id: int, counter_id: int) -> None:
        body = commands.CounterUpdateEncoder.encode(correlation_id=correlation_id, counter_id=counter_id)
        self._transmitter.transmit(message_type, body)
