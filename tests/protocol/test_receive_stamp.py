"""Where the time of arrival is written in a datagram."""

from __future__ import annotations

import struct

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameType
from aerowire.protocol.receive_stamp import stamp

TIME = 1_700_000_000_123_456_789
RESERVED = -8


def frame(payload: bytes, *, flags: int = 0xC0, kind: int = FrameType.DATA, declared: int | None = None) -> bytes:
    length = 32 + len(payload) if declared is None else declared
    return (DataHeaderEncoder.encode(frame_length=length, flags=flags, type=kind)[:32] + payload).ljust(
        -(-(32 + len(payload)) // 32) * 32, b"\0"
    )


def stamped(packet: bytes, offset: int) -> bytes:
    changed = bytearray(packet)
    stamp(changed, offset, TIME)
    return bytes(changed)


@pytest.mark.parametrize(("offset", "place"), [(0, 32), (4, 36), (RESERVED, 24)])
def test_stamps_at_the_offset_or_into_the_reserved_value(offset: int, place: int) -> None:
    packet = frame(bytes(20))
    assert stamped(packet, offset) == packet[:place] + struct.pack("<q", TIME) + packet[place + 8 :]


def test_stamps_every_frame_that_begins_a_message() -> None:
    first, middle, last, whole = frame(bytes(32), flags=0x80), frame(bytes(32), flags=0), frame(bytes(32), flags=0x40), frame(bytes(8))
    packet = stamped(first + middle + last + whole, 0)
    assert struct.unpack_from("<q", packet, 32) == struct.unpack_from("<q", packet, 3 * 64 + 32) == (TIME,)
    assert packet[64:192] == middle + last


@pytest.mark.parametrize(
    ("packet", "offset"),
    [
        (frame(bytes(7)), 0),  # no room
        (frame(bytes(20)), 13),
        (frame(bytes(20)), 2**31 - 1),
        (frame(b"", kind=FrameType.PAD, declared=4096), RESERVED),
    ],
)
def test_leaves_what_has_no_room_or_is_no_message(packet: bytes, offset: int) -> None:
    assert stamped(packet, offset) == packet
