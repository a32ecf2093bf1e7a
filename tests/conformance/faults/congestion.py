"""What the faults of group K act on: round-trip measurements, and channels that ask for congestion control."""

from __future__ import annotations

from collections.abc import Callable

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import FrameType, StatusMessageEncoder
from tests.conformance.injector import edited, read, type_of

PACKET = 1408


def is_rttm(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.RTTM


def is_floor(datagram: bytes) -> bool:
    """A status message with a window of one packet."""
    return type_of(datagram) == FrameType.SM and read(datagram).receiver_window == PACKET


def is_shrunk(datagram: bytes) -> bool:
    """A status message with a window of eight packets."""
    return type_of(datagram) == FrameType.SM and read(datagram).receiver_window == 8 * PACKET


def reply_of(request: bytes) -> bytes:
    """The reply to an RTT request."""
    return edited(request, flags=0)


def status_of(setup: bytes) -> bytes:
    """A status message for a SETUP."""
    asked = read(setup)
    ids = {"session_id": asked.session_id, "stream_id": asked.stream_id, "consumption_term_id": asked.active_term_id}
    return StatusMessageEncoder.encode(**ids, receiver_window=PACKET)


def with_param(old: str, new: str) -> Callable[[int, bytes], bytes]:
    """Ask for subscriptions with a parameter of the channel changed."""

    def ask(type_id: int, body: bytes) -> bytes:
        if type_id != CommandType.ADD_SUBSCRIPTION:
            return body
        command = commands.AddSubscriptionDecoder(body)
        return commands.AddSubscriptionEncoder.encode(
            client_id=command.client_id,
            correlation_id=command.correlation_id,
            registration_correlation_id=command.registration_correlation_id,
            stream_id=command.stream_id,
            channel=command.channel.replace(old, new),
        )

    return ask
