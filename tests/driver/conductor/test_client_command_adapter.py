"""Commands as bytes in, handler calls out; what is unknown or too short is told with its own code."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import RegistrationError
from aerowire.codecs.flyweights import commands
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.conductor.client_command_adapter import correlation_id_of, dispatch

IPC = ChannelUri.parse("aeron:ipc")


class Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.calls.append((name, *args, *kwargs.items()))


def call(message_type: int, body: bytes) -> tuple[Any, ...]:
    handler = Recorder()
    dispatch(handler, message_type, body)
    (only,) = handler.calls
    return only


def test_add_publication_by_literal_bytes() -> None:
    body = struct.pack("<qqii", 7, 8, 1001, 9) + b"aeron:ipc"
    assert call(0x01, body) == ("on_add_publication", IPC, 1001, 8, 7, ("is_exclusive", False))
    assert call(0x03, body) == ("on_add_publication", IPC, 1001, 8, 7, ("is_exclusive", True))


def test_remove_publication_in_both_lengths() -> None:
    assert call(0x02, struct.pack("<qqq", 7, 8, 9)) == ("on_remove_publication", 8, 9, ("is_revoked", False))
    assert call(0x02, struct.pack("<qqqQ", 7, 8, 9, 1)) == ("on_remove_publication", 8, 9, ("is_revoked", True))


def test_add_counter_pads_its_key_to_four_bytes() -> None:
    body = struct.pack("<qqii", 7, 8, 1234, 3) + b"key\0" + struct.pack("<i", 5) + b"label"
    assert call(0x09, body) == ("on_add_counter", 8, 7, 1234, b"key", "label")


@pytest.mark.parametrize(
    ("message_type", "body", "expected"),
    [
        (
            commands.CommandType.ADD_SUBSCRIPTION,
            commands.AddSubscriptionEncoder.encode(client_id=1, correlation_id=2, stream_id=3, channel="aeron:ipc"),
            ("on_add_subscription", IPC, 3, 2, 1),
        ),
        (
            commands.CommandType.REMOVE_SUBSCRIPTION,
            commands.RemoveSubscriptionEncoder.encode(client_id=1, correlation_id=2, registration_id=3),
            ("on_remove_subscription", 2, 3),
        ),
        (commands.CommandType.CLIENT_KEEPALIVE, commands.ClientKeepaliveEncoder.encode(client_id=1), ("on_client_keepalive", 1)),
        (commands.CommandType.CLIENT_CLOSE, commands.ClientCloseEncoder.encode(client_id=1), ("on_client_close", 1)),
        (
            commands.CommandType.REMOVE_COUNTER,
            commands.RemoveCounterEncoder.encode(correlation_id=2, registration_id=3),
            ("on_remove_counter", 2, 3),
        ),
        (
            commands.CommandType.ADD_STATIC_COUNTER,
            commands.AddStaticCounterEncoder.encode(client_id=1, correlation_id=2, registration_id=3, type_id=4, key=b"k", label="l"),
            ("on_add_static_counter", 2, 1, 3, 4, b"k", "l"),
        ),
        (commands.CommandType.TERMINATE_DRIVER, commands.TerminateDriverEncoder.encode(token=b"now"), ("on_terminate_driver", b"now")),
        (
            commands.CommandType.REJECT_IMAGE,
            commands.RejectImageEncoder.encode(correlation_id=2, image_correlation_id=3, position=4, reason="r"),
            ("on_reject_image", 2, 3, 4, "r"),
        ),
        (
            commands.CommandType.GET_NEXT_AVAILABLE_SESSION_ID,
            commands.GetNextAvailableSessionIdEncoder.encode(correlation_id=2, stream_id=3),
            ("on_next_session_id", 2, 3),
        ),
        (
            commands.CommandType.ADD_DESTINATION,
            commands.AddDestinationEncoder.encode(correlation_id=2, registration_id=3, channel="aeron:ipc"),
            ("on_add_send_destination", 2, 3, IPC),
        ),
        (
            commands.CommandType.REMOVE_DESTINATION,
            commands.RemoveDestinationEncoder.encode(correlation_id=2, registration_id=3, channel="aeron:ipc"),
            ("on_remove_send_destination", 2, 3, IPC),
        ),
        (
            commands.CommandType.REMOVE_DESTINATION_BY_ID,
            commands.RemoveDestinationByIdEncoder.encode(correlation_id=2, resource_registration_id=3, destination_registration_id=4),
            ("on_remove_destination_by_id", 2, 3, 4),
        ),
        (
            commands.CommandType.REMOVE_RCV_DESTINATION,
            commands.RemoveRcvDestinationEncoder.encode(registration_id=3, channel="aeron:ipc"),
            ("on_remove_receive_destination", 0, 3, IPC),
        ),
    ],
)
def test_each_command_reaches_its_handler(message_type: int, body: bytes, expected: tuple[Any, ...]) -> None:
    assert call(message_type, body) == expected


@pytest.mark.parametrize("message_type", [kind.value for kind in commands.CommandType if kind < 0x0F00])
def test_a_short_command_is_malformed_and_keeps_its_correlation_id(message_type: int) -> None:
    body = struct.pack("<qq", 7, 8)[:15]
    with pytest.raises(RegistrationError) as caught:
        dispatch(Recorder(), message_type, body)
    assert caught.value.error_code == ErrorCode.MALFORMED_COMMAND
    assert correlation_id_of(body) == 0
    assert correlation_id_of(struct.pack("<qq", 7, 8)) == 8


def test_text_that_overruns_its_command_is_malformed() -> None:
    with pytest.raises(RegistrationError) as caught:
        dispatch(Recorder(), 0x01, struct.pack("<qqii", 7, 8, 1001, 900) + b"aeron:ipc")
    assert caught.value.error_code == ErrorCode.MALFORMED_COMMAND


def test_an_unknown_command_is_told_so() -> None:
    with pytest.raises(RegistrationError) as caught:
        dispatch(Recorder(), 0x7F, bytes(16))
    assert caught.value.error_code == ErrorCode.UNKNOWN_COMMAND_TYPE_ID


def test_an_error_of_a_handler_is_not_the_command_s_fault() -> None:
    class Failing(Recorder):
        def on_client_close(self, _client_id: int) -> None:
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        dispatch(Failing(), 0x0B, bytes(16))
