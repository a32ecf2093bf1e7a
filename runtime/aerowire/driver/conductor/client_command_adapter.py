"""Commands of clients: decoded, their channel parsed, and handed on by a table of handlers. Aeron: ClientCommandAdapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode


class CommandHandler(Protocol):
    """What the conductor does for clients; each method answers, or raises an error with the wire code for the client."""

    def on_add_publication(
        self, channel: ChannelUri, stream_id: int, correlation_id: int, client_id: int, *, is_exclusive: bool
    ) -> None: ...
    def on_remove_publication(self, correlation_id: int, registration_id: int, *, is_revoked: bool) -> None: ...
    def on_add_subscription(self, channel: ChannelUri, stream_id: int, correlation_id: int, client_id: int) -> None: ...
    def on_remove_subscription(self, correlation_id: int, registration_id: int) -> None: ...
    def on_add_send_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None: ...
    def on_remove_send_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None: ...
    def on_remove_destination_by_id(self, correlation_id: int, registration_id: int, destination_registration_id: int) -> None: ...
    def on_add_receive_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None: ...
    def on_remove_receive_destination(self, correlation_id: int, registration_id: int, channel: ChannelUri) -> None: ...
    def on_client_keepalive(self, client_id: int) -> None: ...
    def on_client_close(self, client_id: int) -> None: ...
    def on_add_counter(self, correlation_id: int, client_id: int, type_id: int, key: bytes, label: str) -> None: ...
    def on_add_static_counter(
        self, correlation_id: int, client_id: int, registration_id: int, type_id: int, key: bytes, label: str
    ) -> None: ...
    def on_remove_counter(self, correlation_id: int, registration_id: int) -> None: ...
    def on_terminate_driver(self, token: bytes) -> None: ...
    def on_reject_image(self, correlation_id: int, image_correlation_id: int, position: int, reason: str) -> None: ...
    def on_next_session_id(self, correlation_id: int, stream_id: int) -> None: ...


_Dispatch = Callable[[CommandHandler, memoryview], None]


def correlation_id_of(body: bytes | memoryview) -> int:
    """Return the correlation id that an error is told under; 0 when the command is too short to have one."""
    if len(body) < commands.CorrelatedCommandDecoder.ENCODED_LENGTH:
        return 0
    return commands.CorrelatedCommandDecoder(body).correlation_id


def dispatch(handler: CommandHandler, message_type: int, body: bytes) -> None:
    """Decode a command and call its handler; raises RegistrationError for an unknown or malformed one."""
    run = _HANDLERS.get(message_type)
    if run is None:
        raise RegistrationError(
            "unknown command",
            where="to-driver buffer",
            expected="a command type that exists",
            actual=message_type,
            error_code=ErrorCode.UNKNOWN_COMMAND_TYPE_ID,
        )
    try:
        run(handler, memoryview(body))
    except _MalformedCommandError as error:
        raise RegistrationError(
            "malformed command",
            where=CommandType(message_type).name,
            expected="a command of its declared layout",
            actual=f"{len(body)} bytes: {error}",
            error_code=ErrorCode.MALFORMED_COMMAND,
        ) from None


class _MalformedCommandError(Exception):
    pass


def _decoding(run: Callable[[CommandHandler, memoryview], Callable[[], None]]) -> _Dispatch:
    # Decode all, then act: only what goes wrong while decoding is the command's fault.
    def decode_and_act(handler: CommandHandler, body: memoryview) -> None:
        try:
            action = run(handler, body)
        except ValueError as error:
            raise _MalformedCommandError(str(error)) from None
        action()

    return decode_and_act


def _add_publication(is_exclusive: bool) -> Callable[[CommandHandler, memoryview], Callable[[], None]]:
    def decode(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
        command = commands.AddPublicationDecoder(body)
        channel = command.channel
        return lambda: handler.on_add_publication(
            ChannelUri.parse(channel), command.stream_id, command.correlation_id, command.client_id, is_exclusive=is_exclusive
        )

    return decode


def _remove_publication(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RemovePublicationDecoder(body)
    is_revoked = bool((command.flags or 0) & commands.RemovePublicationFlags.REVOKE)
    return lambda: handler.on_remove_publication(command.correlation_id, command.registration_id, is_revoked=is_revoked)


def _add_subscription(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.AddSubscriptionDecoder(body)
    channel = command.channel
    return lambda: handler.on_add_subscription(ChannelUri.parse(channel), command.stream_id, command.correlation_id, command.client_id)


def _remove_subscription(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RemoveSubscriptionDecoder(body)
    return lambda: handler.on_remove_subscription(command.correlation_id, command.registration_id)


def _add_send_destination(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.AddDestinationDecoder(body)
    channel = command.channel
    return lambda: handler.on_add_send_destination(command.correlation_id, command.registration_id, ChannelUri.parse(channel))


def _remove_send_destination(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RemoveDestinationDecoder(body)
    channel = command.channel
    return lambda: handler.on_remove_send_destination(command.correlation_id, command.registration_id, ChannelUri.parse(channel))


def _remove_destination_by_id(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RemoveDestinationByIdDecoder(body)
    return lambda: handler.on_remove_destination_by_id(
        command.correlation_id, command.resource_registration_id, command.destination_registration_id
    )


def _add_receive_destination(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.AddRcvDestinationDecoder(body)
    channel = command.channel
    return lambda: handler.on_add_receive_destination(command.correlation_id, command.registration_id, ChannelUri.parse(channel))


def _remove_receive_destination(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RemoveRcvDestinationDecoder(body)
    channel = command.channel
    return lambda: handler.on_remove_receive_destination(command.correlation_id, command.registration_id, ChannelUri.parse(channel))


def _client_keepalive(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.ClientKeepaliveDecoder(body)
    return lambda: handler.on_client_keepalive(command.client_id)


def _client_close(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.ClientCloseDecoder(body)
    return lambda: handler.on_client_close(command.client_id)


def _add_counter(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.AddCounterDecoder(body)
    key, label = bytes(command.key), command.label
    return lambda: handler.on_add_counter(command.correlation_id, command.client_id, command.type_id, key, label)


def _add_static_counter(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.AddStaticCounterDecoder(body)
    key, label = bytes(command.key), command.label
    return lambda: handler.on_add_static_counter(
        command.correlation_id, command.client_id, command.registration_id, command.type_id, key, label
    )


def _remove_counter(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RemoveCounterDecoder(body)
    return lambda: handler.on_remove_counter(command.correlation_id, command.registration_id)


def _terminate_driver(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.TerminateDriverDecoder(body)
    token = bytes(command.token)
    return lambda: handler.on_terminate_driver(token)


def _reject_image(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.RejectImageDecoder(body)
    reason = command.reason
    return lambda: handler.on_reject_image(command.correlation_id, command.image_correlation_id, command.position, reason)


def _next_session_id(handler: CommandHandler, body: memoryview) -> Callable[[], None]:
    command = commands.GetNextAvailableSessionIdDecoder(body)
    return lambda: handler.on_next_session_id(command.correlation_id, command.stream_id)


_HANDLERS: Mapping[int, _Dispatch] = {
    CommandType.ADD_PUBLICATION: _decoding(_add_publication(False)),
    CommandType.ADD_EXCLUSIVE_PUBLICATION: _decoding(_add_publication(True)),
    CommandType.REMOVE_PUBLICATION: _decoding(_remove_publication),
    CommandType.ADD_SUBSCRIPTION: _decoding(_add_subscription),
    CommandType.REMOVE_SUBSCRIPTION: _decoding(_remove_subscription),
    CommandType.ADD_DESTINATION: _decoding(_add_send_destination),
    CommandType.REMOVE_DESTINATION: _decoding(_remove_send_destination),
    CommandType.REMOVE_DESTINATION_BY_ID: _decoding(_remove_destination_by_id),
    CommandType.ADD_RCV_DESTINATION: _decoding(_add_receive_destination),
    CommandType.REMOVE_RCV_DESTINATION: _decoding(_remove_receive_destination),
    CommandType.CLIENT_KEEPALIVE: _decoding(_client_keepalive),
    CommandType.CLIENT_CLOSE: _decoding(_client_close),
    CommandType.ADD_COUNTER: _decoding(_add_counter),
    CommandType.ADD_STATIC_COUNTER: _decoding(_add_static_counter),
    CommandType.REMOVE_COUNTER: _decoding(_remove_counter),
    CommandType.TERMINATE_DRIVER: _decoding(_terminate_driver),
    CommandType.REJECT_IMAGE: _decoding(_reject_image),
    CommandType.GET_NEXT_AVAILABLE_SESSION_ID: _decoding(_next_session_id),
}
