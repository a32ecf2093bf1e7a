"""The capture reader on hand-made files, and the streams that it finds in golden ones."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from aerowire.conformance.harness.capture import CaptureError, parse_packet, read_datagrams
from aerowire.conformance.replay import places_of
from aerowire.conformance.streams import find_streams, join_messages

CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def udp(payload: bytes, source_port: int = 1111, destination_port: int = 2222) -> bytes:
    return struct.pack(">HHHH", source_port, destination_port, 8 + len(payload), 0) + payload


def ipv4(payload: bytes, *, fragment: int = 0, protocol: int = 17) -> bytes:
    segment = udp(payload)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, fragment, 64, protocol, 0, b"\x7f\0\0\x01", b"\x0a\0\0\x02")
    return header + segment


def ipv6(payload: bytes) -> bytes:
    segment = udp(payload)
    return struct.pack(">IHBB", 6 << 28, len(segment), 17, 64) + bytes(15) + b"\x01" + bytes(15) + b"\x02" + segment


def ethernet(packet: bytes, kind: int = 0x0800, *, source: bytes = bytes(6)) -> bytes:
    return bytes(6) + source + struct.pack(">H", kind) + packet


def pcap(order: str, magic: int, link_type: int, *packets: tuple[int, int, bytes]) -> bytes:
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)
    for seconds, fraction, packet in packets:
        out += struct.pack(order + "IIII", seconds, fraction, len(packet), len(packet)) + packet
    return out


@pytest.mark.parametrize(
    ("order", "magic", "tick"), [("<", 0xA1B2C3D4, 1000), (">", 0xA1B2C3D4, 1000), ("<", 0xA1B23C4D, 1), (">", 0xA1B23C4D, 1)]
)
def test_reads_classic_captures_of_either_order_and_resolution(tmp_path: Path, order: str, magic: int, tick: int) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(order, magic, 1, (5, 7, ethernet(ipv4(b"hello")))))
    (datagram,) = read_datagrams(path)
    assert datagram.payload == b"hello"
    assert datagram.time_ns == 5_000_000_000 + 7 * tick
    assert (datagram.source, datagram.destination) == (("127.0.0.1", 1111), ("10.0.0.2", 2222))
    assert not datagram.is_dropped


def test_made_up_address_marks_a_dropped_datagram(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap("<", 0xA1B23C4D, 1, (0, 0, ethernet(ipv4(b"x"), source=bytes.fromhex("02000000000d")))))
    assert [datagram.is_dropped for datagram in read_datagrams(path)] == [True]


def block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def option(code: int, data: bytes) -> bytes:
    return struct.pack("<HH", code, len(data)) + data + bytes(-len(data) % 4)


def test_reads_pcapng_with_resolution_names_and_comments(tmp_path: Path) -> None:
    packet = ipv4(b"payload")
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    sent = block(1, struct.pack("<HHI", 101, 0, 0) + option(2, b"sent") + option(9, b"\x09") + option(0, b""))
    dropped = block(1, struct.pack("<HHI", 101, 0, 0) + option(2, b"sent-dropped") + option(9, b"\x06") + option(0, b""))
    first = block(6, struct.pack("<IIIII", 0, 1, 2, len(packet), len(packet)) + packet + bytes(-len(packet) % 4))
    second = block(6, struct.pack("<IIIII", 1, 0, 5, len(packet), len(packet)) + packet + bytes(-len(packet) % 4) + option(1, b"dropped"))
    path = tmp_path / "a.pcapng"
    path.write_bytes(section + sent + dropped + first + block(0xBAD, b"\0" * 8) + second)
    one, two = read_datagrams(path)
    assert (one.time_ns, one.note, one.is_dropped) == (2**32 + 2, "sent", False)
    assert (two.time_ns, two.note, two.is_dropped) == (5_000, "sent-dropped dropped", True)


@pytest.mark.parametrize(
    ("link_type", "packet", "payload"),
    [
        (1, ethernet(ipv4(b"x")), b"x"),
        (1, ethernet(struct.pack(">HH", 5, 0x0800) + ipv4(b"x"), 0x8100), b"x"),
        (1, ethernet(ipv6(b"six"), 0x86DD), b"six"),
        (101, ipv4(b"raw"), b"raw"),
        (0, b"\2\0\0\0" + ipv4(b"null"), b"null"),
        (113, bytes(14) + b"\x08\0" + ipv4(b"cooked"), b"cooked"),
        (276, b"\x08\0" + bytes(18) + ipv4(b"cooked two"), b"cooked two"),
        (1, ethernet(ipv4(b"x", protocol=6)), None),
        (1, ethernet(ipv4(b"x", fragment=0x2000)), None),
        (1, ethernet(ipv4(b"x")[:-1]), None),
        (1, b"", None),
        (999, ipv4(b"x"), None),
    ],
)
def test_finds_whole_udp_datagrams_only(link_type: int, packet: bytes, payload: bytes | None) -> None:
    found = parse_packet(link_type, packet)
    assert (None if found is None else found[2]) == payload


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with nothing"),
        (b"no capture at all", "neither pcap nor pcapng"),
        (b"\xd4\xc3\xb2\xa1", "ends inside the file header"),
        (pcap("<", 0xA1B2C3D4, 1, (0, 0, bytes(20)))[:-1], "a record at byte 40 needs 20 bytes, the file has 19"),
        (pcap("<", 0xA1B2C3D4, 1, (0, 0, b""))[:-3], "ends inside a record header"),
        (block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + b"\1\0\0\0\xff\0\0\0\0\0\0\0", "declares 255 bytes"),
        (block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(6, bytes(20)), "names interface 0 of 0"),
    ],
)
def test_damaged_file_is_named_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=message):
        list(read_datagrams(path))


# Frames of the one sender in captures of the official C driver: data frames, and bytes of messages.
GOLDEN = {"unicast_simple": (20, 640), "fragmented_10k": (64, 80_000), "loss_data_sender_side": (150, 45_000), "reorder_dup": (150, 45_000)}


@pytest.mark.parametrize("name", GOLDEN)
def test_content_of_a_golden_capture_is_whole(name: str) -> None:
    streams, skipped = find_streams(read_datagrams(CAPTURES / f"{name}.pcap"))
    (stream,) = streams
    frames, length = GOLDEN[name]
    assert stream.contiguous_end() == stream.content_end()
    assert len(stream.content) == frames
    assert sum(int.from_bytes(frame[:4], "little") - 32 for frame in stream.content.values()) == length
    assert skipped > 0


def test_stream_that_lost_data_for_good_has_a_hole() -> None:
    (stream,), _ = find_streams(read_datagrams(CAPTURES / "unreliable_gap_fill.pcap"))
    assert stream.contiguous_end() < stream.content_end()
    assert len(stream.content) == 132


@pytest.mark.parametrize(
    ("name", "messages", "length"),
    [("unicast_simple", 20, 640), ("fragmented_10k", 8, 80_000), ("unicast_batched", 300, 19_200), ("reorder_dup", 150, 45_000)],
)
def test_messages_of_a_golden_capture_are_put_together(name: str, messages: int, length: int) -> None:
    (stream,), _ = find_streams(read_datagrams(CAPTURES / f"{name}.pcap"))
    found = list(join_messages(stream.content, stream.start))
    assert [len(message) for _, message in found] == [length // messages] * messages
    assert [position for position, _ in found] == sorted(position for position, _ in found)


def test_message_with_a_hole_is_left_out() -> None:
    (stream,), _ = find_streams(read_datagrams(CAPTURES / "fragmented_10k.pcap"))
    whole = dict(join_messages(stream.content, stream.start))
    second, third = sorted(whole)[1:3]
    cut = {at: frame for at, frame in stream.content.items() if at != max(at for at in stream.content if at < third)}
    assert sorted(whole.keys() - dict(join_messages(cut, stream.start)).keys()) == [second]


def test_destinations_of_a_stream_are_all_found() -> None:
    found = {name: find_streams(read_datagrams(CAPTURES / f"{name}.pcap"))[0] for name in ("mdc_manual", "mds_manual", "late_join")}
    assert [[port for _, port in stream.destinations] for stream in found["mdc_manual"]] == [[40162, 40161]]
    assert [[port for _, port in stream.destinations] for stream in found["mds_manual"]] == [[40165], [40166]]
    assert [stream.is_multicast for streams in found.values() for stream in streams] == [False, False, False, True]


@pytest.mark.parametrize(
    ("name", "places"), [("mds_manual", [2, 2]), ("mdc_manual", [0]), ("unicast_simple", [1]), ("response_channel", [1, 1])]
)
def test_sessions_of_a_stream_at_several_places_have_a_subscriber_of_many_sources(name: str, places: list[int]) -> None:
    streams, _ = find_streams(read_datagrams(CAPTURES / f"{name}.pcap"))
    assert [len(places_of(streams, stream.stream_id)) for stream in streams] == places


def whole_block(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))


SECTION = whole_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


@pytest.mark.parametrize(("kind", "body", "wanted"), [(1, b"", 8), (6, bytes(4), 20), (3, b"", 4)])
def test_block_without_its_fields_is_named(tmp_path: Path, kind: int, body: bytes, wanted: int) -> None:
    path = tmp_path / "short.pcapng"
    interface = b"" if kind == 1 else whole_block(1, bytes(8))
    path.write_bytes(SECTION + interface + whole_block(kind, body))
    with pytest.raises(CaptureError, match=f"has {len(body)} bytes of content, its type {wanted}"):
        list(read_datagrams(path))


def test_empty_resolution_is_the_usual_one(tmp_path: Path) -> None:
    path = tmp_path / "odd.pcapng"
    packet = ipv4(b"x")
    padded = packet + bytes(-len(packet) % 4)
    interface = struct.pack("<HHI", 101, 0, 0) + struct.pack("<HH", 9, 0)
    path.write_bytes(
        SECTION + whole_block(1, interface) + whole_block(6, struct.pack("<IIIII", 0, 0, 5, len(packet), len(packet)) + padded)
    )
    assert [datagram.time_ns for datagram in read_datagrams(path)] == [5_000]


def test_header_shorter_than_a_header_is_no_datagram() -> None:
    assert parse_packet(101, b"\x40" + bytes(8)) is None
