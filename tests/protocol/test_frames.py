"""Which datagrams are frames: literal octets of each type, and each rule broken once."""

from __future__ import annotations

import struct

import pytest

from aerowire.protocol.frames import is_valid_error, is_valid_frame, is_valid_nak, is_valid_setup, is_valid_status_message, packet_length

TERM = 64 * 1024


def header(length: int, kind: int, *, version: int = 0, flags: int = 0) -> bytes:
    return struct.pack("<iBBh", length, version, flags, kind)


def data(length: int, offset: int, *, kind: int = 1, payload: int | None = None) -> bytes:
    size = -(-length // 32) * 32 if payload is None else 32 + payload
    return (header(length, kind, flags=0xC0) + struct.pack("<iiiiq", offset, 7, 8, 9, 0)).ljust(size, b"\0")


@pytest.mark.parametrize(("kind", "length"), [(2, 28), (3, 36), (4, 40), (5, 40), (6, 40), (7, 22), (11, 20), (0, 32), (1, 32)])
def test_shortest_frame_of_each_type_is_valid_and_one_less_is_not(kind: int, length: int) -> None:
    assert is_valid_frame(header(length, kind).ljust(length, b"\0"))
    assert not is_valid_frame(header(length - 1, kind).ljust(length - 1, b"\0"))


@pytest.mark.parametrize("kind", [8, 9, 10, 12, 100, -1])
def test_types_that_never_stand_on_the_wire_are_invalid(kind: int) -> None:
    assert not is_valid_frame(header(64, kind).ljust(64, b"\0"))


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\1\2\3\4",
        header(8, 5),
        header(40, 5, version=1).ljust(40, b"\0"),
        header(-1, 5).ljust(40, b"\0"),
        header(41, 5).ljust(40, b"\0"),
    ],
)
def test_short_versioned_negative_and_overlong_frames_are_invalid(packet: bytes) -> None:
    assert not is_valid_frame(packet)


def test_data_must_be_a_multiple_of_the_alignment() -> None:
    assert not is_valid_frame(data(40, 0)[:40])


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        ({}, True),
        ({"term_length": 65537}, False),
        ({"term_length": 32 * 1024}, False),
        ({"term_length": 1 << 30}, True),
        ({"term_length": -(1 << 31)}, False),
        ({"term_offset": TERM}, False),
        ({"term_offset": 16}, False),
        ({"term_offset": -32}, False),
        ({"mtu": 0}, False),
        ({"mtu": 31}, False),
        ({"mtu": 32}, True),
        ({"mtu": 33}, False),
        ({"mtu": 65504}, True),
        ({"mtu": 65536}, False),
        ({"initial_term_id": 3, "active_term_id": 2}, True),
    ],
)
def test_setup_fields(change: dict[str, int], valid: bool) -> None:
    fields = {"term_offset": 0, "initial_term_id": 3, "active_term_id": 3, "term_length": TERM, "mtu": 1408} | change
    frame = header(40, 5) + struct.pack(
        "<iiiiiiii",
        fields["term_offset"],
        1,
        2,
        fields["initial_term_id"],
        fields["active_term_id"],
        fields["term_length"],
        fields["mtu"],
        0,
    )
    assert is_valid_setup(frame) is valid


@pytest.mark.parametrize(
    ("offset", "window", "valid"),
    [
        (0, 0, True),
        (TERM - 32, TERM // 2, True),
        (TERM, 0, False),
        (-32, 0, False),
        (8, 0, False),
        (0, -1, False),
        (0, TERM // 2 + 1, False),
    ],
)
def test_status_message_fields(offset: int, window: int, valid: bool) -> None:
    assert is_valid_status_message(header(36, 3) + struct.pack("<iiiiiq", 1, 2, 3, offset, window, 4), TERM) is valid


@pytest.mark.parametrize(
    ("offset", "length", "valid"),
    [
        (0, TERM, True),
        (32, TERM, False),
        (TERM - 32, 32, True),
        (TERM, 0, False),
        (-32, 32, False),
        (4, 32, False),
        (0, -1, False),
        (32, 2**31 - 1, False),
    ],
)
def test_nak_fields(offset: int, length: int, valid: bool) -> None:
    assert is_valid_nak(header(28, 2) + struct.pack("<iiiii", 1, 2, 3, offset, length), TERM) is valid


@pytest.mark.parametrize(
    ("frame_length", "text", "valid"), [(40, 0, True), (50, 10, True), (50, 11, False), (2000, 1024, False), (40, -1, False)]
)
def test_error_fields(frame_length: int, text: int, valid: bool) -> None:
    assert is_valid_error(header(frame_length, 4) + struct.pack("<iiqqii", 1, 2, 3, 4, 13, text)) is valid


def test_packet_walk_covers_whole_frames() -> None:
    assert packet_length(data(40, 64), TERM) == 64
    assert packet_length(data(40, 64) + data(100, 128), TERM) == 64 + 128


def test_heartbeat_is_a_bare_header_of_length_zero() -> None:
    assert packet_length(data(0, 96, payload=0), TERM) == 0
    assert packet_length(data(0, 96, payload=32), TERM) == -1


def test_trailing_padding_may_declare_more_than_the_packet_holds() -> None:
    assert packet_length(data(1024, 0, kind=0, payload=0), TERM) == 1024
    assert packet_length(data(1024, 0, kind=1, payload=0), TERM) == -1
    assert packet_length(data(40, 0) + data(1024, 64, kind=0, payload=0), TERM) == 64 + 1024


@pytest.mark.parametrize(
    "packet",
    [
        data(64, 32, payload=64),  # trailing bytes
        data(64, 32) + data(64, 64),  # second frame not where the first ends
        data(64, TERM - 32),  # past the end of the term
        data(64, 32) + data(64, 96, kind=5),  # second frame of another type
        data(32, -32),
        data(32, TERM),
        data(32, 40),
        data(2**31 - 1, 32, payload=0),
        data(64, 32) + data(2**31 - 1, 96, payload=0),
    ],
)
def test_broken_packets_are_invalid(packet: bytes) -> None:
    assert packet_length(packet, TERM) == -1
