"""What the faults of group K act on: round-trip measurements and the windows of cubic congestion control."""

from __future__ import annotations

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
