"""The files that people bring: magics, byte orders, link types, tags, options, several interfaces, compression, damage."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import Capture, Statistics, read_frames
from aerowire.pcap.analysis.summary import summarise
from aerowire.pcap.arrays import gather, gather_fallback
from aerowire.pcap.files import chain, chain_fallback
from aerowire.pcap.files.captures import packet_blocks
from aerowire.pcap.files.source import ChunkReader, open_capture
from aerowire.pcap.table import build as build_table

FOUR, SIX = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")


@pytest.fixture
def frame(build: SimpleNamespace) -> bytes:
    return bytes(build.data_frame(0, b"payload"))


PORTS = [40001]  # a frame that stands alone is no proof that its flow is Aeron


def written(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "capture"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "tick"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_reads_the_four_classic_magics(build: SimpleNamespace, tmp_path: Path, frame: bytes, order: str, magic: int, tick: int) -> None:
    packets = [build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER))] * 3
    table = read_frames(written(tmp_path, build.classic(packets, magic=magic, order=order)), ports=PORTS)
    assert table["ts_ns"].to_pylist() == [(1_700_000_000 + number) * 1_000_000_000 + number * tick for number in range(3)]
    assert table["packet_index"].to_pylist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        (0, b"\x02\0\0\0"),
        (0, b"\0\0\0\x02"),
        (108, b"\0\0\0\x02"),
        (101, b""),
        (228, b""),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
        (1, bytes(12) + b"\x08\x00"),
        (1, bytes(12) + b"\x81\x00\x00\x05\x08\x00"),
        (1, bytes(12) + b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00"),
        (113, bytes(14) + b"\x81\x00\x00\x05\x08\x00"),
    ],
)
def test_reads_ip4_in_every_link_type(build: SimpleNamespace, tmp_path: Path, frame: bytes, link_type: int, header: bytes) -> None:
    packet = header + build.ip4(frame, build.SENDER, build.RECEIVER)
    table = read_frames(written(tmp_path, build.classic([packet], link_type=link_type)), ports=PORTS)
    assert [table[name][0].as_py() for name in ("src_address", "src_port", "dst_address", "dst_port")] == [
        "10.0.0.1",
        40001,
        "10.0.0.2",
        40002,
    ]


@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        (0, b"\x1e\0\0\0"),
        (0, b"\x0a\0\0\0"),
        (108, b"\0\0\0\x18"),
        (101, b""),
        (229, b""),
        (276, b"\x86\xdd" + bytes(18)),
        (1, bytes(12) + b"\x86\xdd"),
    ],
)
@pytest.mark.parametrize(
    "extensions",
    [[], [(0, bytes(8))], [(60, bytes([0, 1]) + bytes(14)), (43, bytes(8))], [(51, bytes([0, 1]) + bytes(10))], [(44, bytes(8))]],
)
def test_reads_ip6_behind_extension_headers(
    build: SimpleNamespace, tmp_path: Path, frame: bytes, link_type: int, header: bytes, extensions: list[tuple[int, bytes]]
) -> None:
    packet = header + build.ip6(frame, (SIX[0], 1), (SIX[1], 2), extensions=extensions)
    table = read_frames(written(tmp_path, build.classic([packet], link_type=link_type)), ports=[1])
    assert [table[name][0].as_py() for name in ("src_address", "src_port", "dst_address", "dst_port")] == ["fd00::1", 1, "fd00::2", 2]


def test_reads_ip4_options_and_ignores_link_padding(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    packet = build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER, options=bytes(12))) + b"trailer"
    assert read_frames(written(tmp_path, build.classic([packet])), ports=PORTS)["frame_length"].to_pylist() == [39]


def test_counts_what_it_skips_by_reason(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    good = build.ip4(frame, build.SENDER, build.RECEIVER)
    packets = [
        build.ethernet(good),
        build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER, fragment=0x2000)),
        build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER, fragment=5)),
        build.ethernet(build.ip6(frame, (SIX[0], 1), (SIX[1], 2), extensions=[(44, b"\0\0\0\x01" + bytes(4))])),
        build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER, protocol=6)),
        bytes(12) + b"\x08\x06" + bytes(28),
        build.ethernet(good)[:30],
        build.ethernet(b"\x43" + good[1:]),
        build.ethernet(good[:24] + b"\xff\xff" + good[26:]),
        bytes(5),
    ]
    capture = Capture(written(tmp_path, build.classic(packets)), ports=PORTS)
    assert capture.read().num_rows == 1
    assert capture.statistics.skipped == {
        "IP fragment": 3,
        "not UDP": 1,
        "not IP": 1,
        "truncated packet": 2,
        "bad IP header": 1,
        "bad UDP length": 1,
    }
    assert capture.statistics.packets == capture.statistics.datagrams + sum(capture.statistics.skipped.values())


def test_takes_the_frames_whose_headers_were_captured(build: SimpleNamespace, tmp_path: Path) -> None:
    batch = build.data_frame(0, b"a" * 32) + build.data_frame(64, b"b" * 32) + build.data_frame(128, b"c" * 32)
    packet = build.ethernet(build.ip4(batch, build.SENDER, build.RECEIVER))
    capture = Capture(written(tmp_path, build.classic([packet], snap=42 + 100)), ports=PORTS, payload=True)
    table = capture.read()
    assert table["term_offset"].to_pylist() == [0, 64]
    assert table["payload"].to_pylist() == [b"a" * 32, b"b" * 4]
    assert capture.statistics.truncated_datagrams == 1


def test_empty_and_unknown_link_types(build: SimpleNamespace, tmp_path: Path) -> None:
    assert read_frames(written(tmp_path, build.classic([]))).num_rows == 0
    capture = Capture(written(tmp_path, build.classic([bytes(60)], link_type=147)))
    assert capture.read().num_rows == 0
    assert capture.statistics.skipped == {"unknown link type": 1}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("resolution", "ticks", "ns"),
    [
        (None, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (6, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
        (12, 1_700_000_123_456_789_012, 1_700_000_123_456_789),
        (0x80 | 10, 1_700_000_000 * 1024 + 512, 1_700_000_000_500_000_000),
        (0x80 | 40, 1_700_000 * 2**40 + 2**39, 1_700_000_500_000_000),
        (0x80 | 63, 2**63 + 2**62, 1_500_000_000),
        (0x80 | 64, 2**63, 500_000_000),
        (0x80 | 70, 2**63, 7_812_500),
        (0x80 | 97, 2**64 - 1, 0),
        (0x80 | 127, 2**64 - 1, 0),
        (127, 2**64 - 1, 1),
    ],
)
def test_reads_pcapng_in_every_resolution(
    build: SimpleNamespace, tmp_path: Path, frame: bytes, order: str, resolution: int | None, ticks: int, ns: int
) -> None:
    packet = build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER))
    data = build.section(order) + build.interface(resolution=resolution, order=order) + build.enhanced(packet, ticks=ticks, order=order)
    assert read_frames(written(tmp_path, data), ports=PORTS)["ts_ns"].to_pylist() == [ns]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("offset_s", "ns"),
    [(3600, 3_600_000_001_000), (-1, -999_999_000), (9_223_372_036, 9_223_372_036_000_001_000), (9_223_372_037, 1000), (-(2**63), 1000)],
)
def test_time_offsets_that_nanoseconds_cannot_hold_are_ignored(
    build: SimpleNamespace, tmp_path: Path, frame: bytes, order: str, offset_s: int, ns: int
) -> None:
    packet = build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER))
    data = build.section(order) + build.interface(offset_s=offset_s, order=order) + build.enhanced(packet, ticks=1, order=order)
    assert read_frames(written(tmp_path, data), ports=PORTS)["ts_ns"].to_pylist() == [ns]


def test_reads_interfaces_comments_and_sections_of_pcapng(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    inner = build.ip4(frame, build.SENDER, build.RECEIVER)
    data = build.section() + build.interface(1, name="eth0") + build.interface(101, name="sent-dropped", resolution=9, offset_s=10)
    data += (
        build.enhanced(build.ethernet(inner), ticks=1_000_000)
        + build.block(0x0BAD, b"unknown")
        + build.enhanced(inner, number=1, ticks=7, comment="dropped")
    )
    data += build.block(2, struct.pack("<HHIIII", 0, 0, 0, 2_000_000, len(inner) + 14, len(inner) + 14) + build.ethernet(inner))
    data += (
        build.section(">") + build.interface(1, name="other", order=">") + build.enhanced(build.ethernet(inner), ticks=3_000_000, order=">")
    )
    data += build.block(3, struct.pack(">I", len(inner) + 14) + build.ethernet(inner), ">")
    rows = read_frames(written(tmp_path, data), ports=PORTS).to_pylist()
    assert [row["interface"] for row in rows] == ["eth0", "sent-dropped", "eth0", "other", "other"]
    assert [row["comment"] for row in rows] == [None, "dropped", None, None, None]
    assert [row["dropped"] for row in rows] == [False, True, False, False, False]
    assert [row["ts_ns"] for row in rows] == [1_000_000_000, 10_000_000_007, 2_000_000_000, 3_000_000_000, 0]
    assert [row["packet_index"] for row in rows] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("number", range(20))
def test_the_first_frames_are_those_of_all_and_few_more_are_built(
    build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, number: int
) -> None:
    built: list[int] = []

    def counting(selection: Any, *arguments: Any, **options: Any) -> Any:
        built.append(selection.chosen.size)
        return build_table(selection, *arguments, **options)

    rng = random.Random(seed + number)
    packets = [build.ip4(*datagram) for datagram in build.conversation(rng, 600)]
    stranger = ("10.7.7.7", 7)  # whose frames look like Aeron's one by one, and do not count
    for stream in range(200):
        packets.insert(rng.randrange(len(packets)), build.ip4(build.data_frame(0, b"", stream_id=5000 + stream), stranger, build.RECEIVER))
    path = written(tmp_path, build.classic([build.ethernet(packet) for packet in packets]))
    whole = Capture(path).read()
    assert whole["src_port"].to_pylist().count(7) == 0
    monkeypatch.setattr("aerowire.pcap.capture.build", counting)
    for limit in (1, rng.randint(2, 50), whole.num_rows, whole.num_rows + 1):
        built.clear()
        capture = Capture(path, chunk_length=rng.choice([10_000, 8 << 20]))
        assert capture.read(limit).equals(whole.slice(0, limit)), f"seed {seed + number}, limit {limit}"
        assert capture.statistics.frames == whole.num_rows
        assert sum(built) <= 3 * limit  # one link there, one back, one of the stranger


def test_a_reader_that_keeps_all_reads_as_many_bytes_as_it_copies() -> None:
    data = random.Random(3).randbytes(1 << 20)
    reader, copied = ChunkReader(io.BytesIO(data), chunk_length=1000), 0
    while reader.refill(0):
        copied += reader.buffer.size
    assert reader.buffer.tobytes() == data
    assert copied <= 3 * len(data)


def test_many_interfaces_and_many_links_cost_what_they_are_together(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    packets = [build.ethernet(build.ip4(frame, build.SENDER, ("10.0.0.9", 1 + number))) for number in range(2000)]
    data = build.section() + 20_000 * build.interface() + b"".join(build.enhanced(packet, number=19_999) for packet in packets)
    tracemalloc.start()
    report = summarise(written(tmp_path, data), ports=[build.SENDER[1]])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(report["streams"][0]["paths"]) == 2000
    assert peak < 100 << 20


def test_cuts_long_texts_of_pcapng_that_each_frame_repeats(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    inner = build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER))
    data = build.section() + build.interface(name="é" * 30_000) + build.interface(name="n" * 1024)
    data += build.enhanced(inner, comment="x€" * 10_000) + build.enhanced(inner, number=1, comment="c" * 1025)
    rows = read_frames(written(tmp_path, data), ports=PORTS).to_pylist()
    assert [row["interface"] for row in rows] == ["é" * 512 + "…", "n" * 1024]
    assert [row["comment"] for row in rows] == ["x€" * 256 + "…", "c" * 1024 + "…"]


def test_marks_dropped_packets_of_a_classic_capture_by_their_source(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    inner = build.ip4(frame, build.SENDER, build.RECEIVER)
    packets = [build.ethernet(inner, source=bytes.fromhex(address)) for address in ("020000000001", "02000000000d")]
    packets += [bytes.fromhex(f"02000000010{way}") + packets[mark][6:] for way in (0, 1) for mark in (0, 1)]
    table = read_frames(written(tmp_path, build.classic(packets)), ports=PORTS)
    assert table["dropped"].to_pylist() == [False, True] * 3
    assert table["interface"].to_pylist() == [None, None, "sent", "sent-dropped", "received", "received-dropped"]


def test_reads_compressed_captures(build: SimpleNamespace, tmp_path: Path, frame: bytes) -> None:
    data = build.classic([build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER))] * 5)
    expected = read_frames(written(tmp_path, data))
    for compressed in (gzip.compress(data), pa.Codec("zstd").compress(data, asbytes=True)):
        assert read_frames(written(tmp_path, compressed)).equals(expected)
    capture = Capture(written(tmp_path, gzip.compress(data)[:-20]))
    capture.read()
    assert capture.statistics.is_damaged


def conversation_file(build: SimpleNamespace, tmp_path: Path, count: int, **options: int) -> tuple[Path, bytes]:
    data = build.classic([build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(random.Random(4), count)], **options)
    return written(tmp_path, data), data


def test_records_that_straddle_chunks_are_read_once(build: SimpleNamespace, tmp_path: Path) -> None:
    path, data = conversation_file(build, tmp_path, 800)
    expected = Capture(path).read()
    assert Capture(path, chunk_length=70_000).read().equals(expected)
    ng = build.section() + build.interface(resolution=9)
    for number, datagram in enumerate(build.conversation(random.Random(4), 800)):
        ng += build.enhanced(
            build.ethernet(build.ip4(*datagram)), ticks=(1_700_000_000 + number) * 1_000_000_000 + number, comment="x" * (number % 9)
        )
    path.write_bytes(ng)
    table = Capture(path, chunk_length=70_000).read()
    columns = [name for name in expected.column_names if name not in ("interface", "comment", "record_position")]
    assert table.select(columns).equals(expected.select(columns))
    assert data


def test_blocks_that_are_kept_stay_as_they_are_while_others_are_read(tmp_path: Path, build: SimpleNamespace) -> None:
    rng = random.Random(11)
    packets = [rng.randbytes(rng.randrange(2000)) for _ in range(2000)]
    path = tmp_path / "kept.pcap"
    path.write_bytes(build.classic(packets))
    with open_capture(path) as file:
        kept = list(packet_blocks(file, Statistics(), chunk_length=100_000))
    assert len(kept) > 10
    found = [block.buffer[start:end].tobytes() for block in kept for start, end in zip(block.starts, block.ends, strict=True)]
    assert found == packets
    with open_capture(path) as file:
        every_other = [block for index, block in enumerate(packet_blocks(file, Statistics(), chunk_length=100_000)) if index % 2]
    assert [block.buffer.tobytes() for block in every_other] == [block.buffer.tobytes() for block in kept[1::2]]


@pytest.mark.parametrize("walker", ["read_records", "walk_blocks"])
def test_native_and_python_walks_agree(build: SimpleNamespace, walker: str) -> None:
    rng = random.Random(7)
    records = build.classic([rng.randbytes(rng.randrange(100)) for _ in range(50)])[24:]
    blocks = build.interface() + b"".join(build.enhanced(rng.randbytes(rng.randrange(100))) for _ in range(50)) + build.section()
    for data in (records if walker == "read_records" else blocks, rng.randbytes(500), b"", bytes(64)):
        buffer = np.frombuffer(data, dtype=np.uint8)
        for little in (True, False):
            for end in (len(data), max(0, len(data) - 7)):
                native = getattr(chain, walker)(buffer, 0, end, little, 1000)
                python = getattr(chain_fallback, walker)(buffer, 0, end, little, 1000)
                assert [part.tolist() for part in native[:-2]] == [part.tolist() for part in python[:-2]]
                assert native[-2:] == python[-2:]


@pytest.mark.parametrize("copy", [gather.gather, gather_fallback.gather])
def test_gathers_records_and_refuses_those_that_leave_the_buffer(copy: Callable[[Any, Any, int], Any]) -> None:
    rng = np.random.default_rng(11)
    buffer = rng.integers(0, 256, 5000, dtype=np.uint8)
    for width in (1, 6, 8, 20, 36):
        offsets = rng.integers(0, buffer.size - width + 1, 300)
        offsets[:2] = 0, buffer.size - width
        assert copy(buffer, offsets, width).tobytes() == b"".join(buffer[at : at + width].tobytes() for at in offsets)
        for outside in (-1, buffer.size - width + 1):
            with pytest.raises(IndexError, match=f"record of {width} bytes at {outside} leaves a buffer of 5000 bytes"):
                copy(buffer, np.array([0, outside]), width)
    assert copy(buffer[:0], np.empty(0, dtype=np.int64), 8).size == 0


def test_statistics_add_up() -> None:
    one, other = Statistics(packets=3, frames=2), Statistics(packets=4, frames=1)
    one.skip("not IP", 2)
    other.skip("not IP")
    total = Statistics().add([one, other]).to_dict()
    assert (total["packets"], total["frames"], total["skipped"]) == (7, 3, {"not IP": 3})
