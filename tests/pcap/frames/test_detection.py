"""What counts as Aeron when no port is given: nothing of other protocols, everything of Aeron, and every packet is accounted for."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from aerowire.codecs.flyweights.transport import DataHeaderEncoder, FrameType, SetupEncoder
from aerowire.pcap import Capture

QUERIES = 2400
SEED = 20


def dns_query(rng: random.Random) -> bytes:
    """A query with a name of random length; some are 32, 64 or 96 bytes long and pass a driver's first look."""
    labels = [bytes([rng.randint(97, 122)]) * rng.randint(1, 20) for _ in range(rng.randint(1, 4))]
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    additional = rng.random() < 0.5
    header = struct.pack(">HHHHHH", rng.randrange(65536), 0x0100, 1, 0, 0, additional)
    return header + name + b"\0\1\0\1" + (b"\0\0\x29\x04\xd0\0\0\0\0\0\0" if additional else b"")


def ntp_packet(rng: random.Random) -> bytes:
    fields = bytes(44) if rng.random() < 0.5 else rng.randbytes(44)
    return b"\x23\0\0\0" + fields + (bytes(16) if rng.random() < 0.5 else b"")


def length_prefixed(rng: random.Random) -> bytes:
    """A little-endian length, a small header full of zeros, a body: as close to a frame as other protocols come."""
    fills: list[Callable[[int], bytes]] = [bytes, rng.randbytes]
    body = rng.choice(fills)(rng.choice([24, 56, 88, rng.randrange(200)]))
    return struct.pack("<IHH", len(body) + 8, 0, rng.choice([0, 0, 1, 2, 3, 5])) + body


def other_traffic(build: SimpleNamespace) -> list[bytes]:
    rng = random.Random(SEED)
    out = []
    for number in range(QUERIES):
        client = ("192.168.1.9", 20000 + number)  # each query from a port of its own, unanswered: the hardest case for a rule over flows
        out.append(build.ip4(dns_query(rng), client, ("192.168.1.1", 53)))
    for number in range(500):
        out.append(build.ip4(ntp_packet(rng), ("192.168.1.9", 123 if number % 2 else 50000 + number), ("192.168.1.2", 123)))
        out.append(build.ip4(length_prefixed(rng), ("192.168.1.9", 7000 + number % 5), ("192.168.1.3", 9000)))
    return [build.ethernet(packet) for packet in out]


def first_layer_holds(payload: bytes) -> bool:
    """The rule that a driver's transport applies to data frames before anything looks at the fields."""
    if len(payload) < 32 or len(payload) % 32:
        return False
    length, version, _, kind = struct.unpack_from("<ibBh", payload)
    return length >= 0 and version == 0 and kind in (FrameType.PAD, FrameType.DATA)


def test_no_false_frame_among_dns_ntp_and_length_prefixed_traffic(build: SimpleNamespace, tmp_path: Path) -> None:
    aeron = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(random.Random(1), 300)]
    others = other_traffic(build)
    mixed = [(build.ethernet(build.ip4(*datagram)), True) for datagram in build.conversation(random.Random(1), 300)]
    mixed += [(packet, False) for packet in others]
    order = list(range(len(mixed)))
    random.Random(2).shuffle(order)
    order = sorted(order, key=lambda index: index if index < 300 else order.index(index) * 300 // len(order))
    path = tmp_path / "mixed.pcap"
    path.write_bytes(build.classic([mixed[index][0] for index in order]))
    capture = Capture(path)
    table = capture.read()
    places = {place for place, index in enumerate(order) if index < 300}
    assert set(table["packet_index"].to_pylist()) == places
    assert set(table["src_port"].to_pylist()) == {40001, 40002}
    assert capture.statistics.datagrams == len(aeron)
    assert capture.statistics.skipped == {"flow is not Aeron": len(others)}


def test_the_first_layer_alone_would_take_dns_queries_for_frames() -> None:
    rng = random.Random(SEED)
    fooled = sum(first_layer_holds(dns_query(rng)) for _ in range(QUERIES))
    assert fooled > QUERIES // 100


def test_a_damaged_datagram_is_left_out_alone(build: SimpleNamespace, tmp_path: Path) -> None:
    good = [build.ip4(*datagram) for datagram in build.conversation(random.Random(3), 50)]
    bad = [build.ip4(b"hello", build.RECEIVER, build.SENDER), build.ip4(bytes(64), build.SENDER, build.RECEIVER)]
    path = tmp_path / "spoiled.pcap"
    path.write_bytes(build.classic([build.ethernet(packet) for packet in [*good[:20], bad[0], *good[20:], bad[1]]]))
    capture, chosen = Capture(path), Capture(path, ports=[40002])
    assert capture.read().num_rows > 50
    assert capture.read().equals(chosen.read())
    reasons = {"not a frame: too short": 1, "not a frame: data frames do not follow each other": 1}
    assert capture.statistics.skipped == chosen.statistics.skipped == reasons
    assert capture.statistics.datagrams == 50


def test_a_flow_of_which_much_is_damaged_is_dropped_whole(build: SimpleNamespace, tmp_path: Path) -> None:
    good = [build.ip4(*datagram) for datagram in build.conversation(random.Random(3), 50)]
    path = tmp_path / "spoiled.pcap"
    path.write_bytes(build.classic([build.ethernet(packet) for packet in good + [build.ip4(b"hello", build.RECEIVER, build.SENDER)] * 7]))
    capture = Capture(path)
    assert capture.read().num_rows == 0
    assert capture.statistics.skipped == {"flow is not Aeron": 57}
    assert Capture(path, ports=[40002]).read().num_rows > 50


def test_padding_alone_proves_nothing(build: SimpleNamespace, tmp_path: Path) -> None:
    pad = DataHeaderEncoder.encode(type=FrameType.PAD, frame_length=64, session_id=1, stream_id=2, term_id=3)[:32]
    path = tmp_path / "pad.pcap"
    path.write_bytes(build.classic([build.ethernet(build.ip4(pad, build.SENDER, build.RECEIVER))] * 3))
    assert Capture(path).read().num_rows == 0
    assert Capture(path, ports=[40002]).read()["type"].to_pylist() == ["PAD"] * 3


SETUP = {"session_id": 1, "stream_id": 2, "term_length": 65536, "mtu": 1408}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not a frame: too short"),
        (bytes(7), "not a frame: too short"),
        (SetupEncoder.encode(**SETUP, version=1), "not a frame: version"),
        (SetupEncoder.encode(**SETUP)[:39], "not a frame: length"),
        (SetupEncoder.encode(**{**SETUP, "term_length": 65537}), "not a frame: field out of range"),
        (SetupEncoder.encode(**{**SETUP, "term_length": 32768}), "not a frame: field out of range"),
        (SetupEncoder.encode(**{**SETUP, "mtu": 1400}), "not a frame: field out of range"),
        (SetupEncoder.encode(**SETUP, term_offset=65536), "not a frame: field out of range"),
        (struct.pack("<ibBh", 40, 0, 0, 12) + bytes(32), "not a frame: type"),
        (struct.pack("<ibBh", 40, 0, 0, -1) + bytes(32), "not a frame: type"),
        (struct.pack("<ibBh", 40, 0, 0, 8) + bytes(56), "not a frame: type"),
        (struct.pack("<ibBh", -1, 0, 0, 1) + bytes(24), "not a frame: length"),
        (struct.pack("<ibBhi", 40, 0, 0, 1, 0) + bytes(28), "not a frame: length"),
        (struct.pack("<ibBhi", 64, 0, 0, 1, 16) + bytes(52), "not a frame: data frames do not follow each other"),
        (struct.pack("<ibBhi", 2**31 - 1, 0, 0, 1, 0) + bytes(52), "not a frame: data frames do not follow each other"),
        (
            struct.pack("<ibBhi", 32, 0, 0, 1, 0) + bytes(20) + struct.pack("<ibBhi", 32, 0, 0, 1, 64) + bytes(20),
            "not a frame: data frames do not follow each other",
        ),
        (bytes(64), "not a frame: data frames do not follow each other"),
    ],
)
def test_a_datagram_that_breaks_a_rule_is_counted_under_it(build: SimpleNamespace, tmp_path: Path, payload: bytes, reason: str) -> None:
    path = tmp_path / "bad.pcap"
    path.write_bytes(build.classic([build.ethernet(build.ip4(payload, build.SENDER, build.RECEIVER))]))
    capture = Capture(path, ports=[40001])
    assert capture.read().num_rows == 0
    assert capture.statistics.skipped == {reason: 1}


def test_walks_batches_with_trailing_padding(build: SimpleNamespace, tmp_path: Path) -> None:
    pad = DataHeaderEncoder.encode(type=FrameType.PAD, frame_length=65536 - 192, session_id=7, stream_id=1001, term_id=3, term_offset=192)[
        :32
    ]
    batch = build.data_frame(0, b"a" * 50) + build.data_frame(96, b"b" * 33) + pad
    path = tmp_path / "batch.pcap"
    path.write_bytes(build.classic([build.ethernet(build.ip4(batch, build.SENDER, build.RECEIVER))]))
    table = Capture(path, payload=True).read()  # frames that go on in one datagram are a proof
    assert table["type"].to_pylist() == ["DATA", "DATA", "PAD"]
    assert table["frame_index"].to_pylist() == [0, 1, 2]
    assert table["term_offset"].to_pylist() == [0, 96, 192]
    assert table["payload"].to_pylist() == [b"a" * 50, b"b" * 33, None]
