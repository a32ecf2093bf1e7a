"""What is left of damaged captures: everything but the damaged records, and every byte is accounted for."""

from __future__ import annotations

import gzip
import random
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import Capture, CaptureError, Statistics, read_frames
from aerowire.pcap.arrays.blocks import PacketBlock
from aerowire.pcap.files import classic, pcapng
from aerowire.pcap.files.captures import packet_blocks
from aerowire.pcap.files.compressed import Inflated
from aerowire.pcap.files.recovery import SEARCH_LENGTH_MIN
from aerowire.pcap.files.source import open_capture
from aerowire.pcap.files.walk import read_records

COUNT = 300
CHUNK = 70_000


def packets(build: SimpleNamespace, count: int = COUNT) -> list[bytes]:
    """Data frames of one stream, whose offsets tell them apart."""
    rng = random.Random(21)
    frames = [build.data_frame(64 * number, rng.randbytes(rng.randint(0, 200))) for number in range(count)]
    return [build.ethernet(build.ip4(frame, build.SENDER, build.RECEIVER)) for frame in frames]


def read(tmp_path: Path, data: bytes, chunk_length: int = CHUNK) -> tuple[list[int], Statistics]:
    """Return the numbers of the packets that are read, in the order of the file."""
    path = tmp_path / "capture"
    path.write_bytes(data)
    capture = Capture(path, ports=[40001], columns=["term_offset"], chunk_length=chunk_length)
    numbers = [offset // 64 for offset in capture.read()["term_offset"].to_pylist()]
    return numbers, capture.statistics


def starts(data: bytes) -> list[int]:
    at, out = 24, []
    while at < len(data):
        out.append(at)
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    return out


def accounted(statistics: Statistics) -> int:
    return 24 + 16 * statistics.packets + statistics.captured_bytes + statistics.corrupt_bytes + statistics.truncated_bytes


@pytest.mark.parametrize("wrong", [0, 1, 40, 5_000, 20_000, 200_000, 262_144, 262_145, 2**32 - 1])
@pytest.mark.parametrize("chunk_length", [CHUNK, 8 << 20])
def test_a_wrong_length_costs_its_own_record_only(build: SimpleNamespace, tmp_path: Path, wrong: int, chunk_length: int) -> None:
    data = bytearray(build.classic(packets(build)))
    struct.pack_into("<I", data, starts(bytes(data))[100] + 8, wrong)
    numbers, statistics = read(tmp_path, bytes(data), chunk_length)
    assert [number for number in numbers if number != 100] == [*range(100), *range(101, COUNT)]
    assert accounted(statistics) == len(data)
    assert statistics.is_damaged
    with pytest.raises(CaptureError, match=r"capture: .*byte \d+"):
        read_frames(tmp_path / "capture", ports=[40001], fail_fast=True)


@pytest.mark.parametrize("junk", [b"\x40", bytes(4), bytes(16), b"\xff" * 64, bytes(5000), random.Random(5).randbytes(3000)])
def test_junk_between_records_costs_none(build: SimpleNamespace, tmp_path: Path, junk: bytes) -> None:
    data = build.classic(packets(build))
    place = starts(data)[200]
    numbers, statistics = read(tmp_path, data[:place] + junk + data[place:])
    assert numbers == list(range(COUNT))
    assert accounted(statistics) == len(data) + len(junk)


def test_bytes_that_are_missing_cost_the_records_that_they_belong_to(build: SimpleNamespace, tmp_path: Path) -> None:
    data = build.classic(packets(build))
    first, last = starts(data)[50], starts(data)[55]
    numbers, _ = read(tmp_path, data[: first + 40] + data[last + 40 :])
    assert set(range(COUNT)) - set(numbers) <= {50, 51, 52, 53, 54, 55}


def test_a_record_that_holds_a_capture_is_not_read_as_one(build: SimpleNamespace, tmp_path: Path) -> None:
    inner = build.classic(packets(build, 40))[24:]
    outer = packets(build)
    outer[100] = build.ethernet(build.ip4(inner[: len(inner) // 2], ("10.9.9.9", 1), ("10.9.9.8", 2)))
    data = bytearray(build.classic(outer))
    struct.pack_into("<I", data, starts(bytes(data))[101] + 8, 2**31)  # behind it the chain breaks
    numbers, _ = read(tmp_path, bytes(data))
    assert numbers == [*range(100), *range(102, COUNT)]


def test_clocks_that_jump_are_no_damage(build: SimpleNamespace, tmp_path: Path) -> None:
    data = bytearray(build.classic(packets(build)))
    for number, at in enumerate(starts(bytes(data))):
        struct.pack_into("<I", data, at, [1_700_000_000, 5, 1_900_000_000][number // 7 % 3])
    for chunk_length in (CHUNK, 8 << 20):
        numbers, statistics = read(tmp_path, bytes(data), chunk_length)
        assert numbers == list(range(COUNT))
        assert not statistics.is_damaged


def test_records_cut_below_the_snap_length_survive_a_break_behind_them(build: SimpleNamespace, tmp_path: Path) -> None:
    data = bytearray(build.classic(packets(build)))
    places = starts(bytes(data))
    for at in places:  # as tools write them that cut packets and leave the file header as it was
        struct.pack_into("<I", data, at + 12, 1400)
    struct.pack_into("<I", data, places[150] + 8, 2**31)
    numbers, _ = read(tmp_path, bytes(data))
    assert numbers == [*range(150), *range(151, COUNT)]


def swallowing(count: int) -> bytes:
    """Return a capture in which, `count` times, a record with an odd length holds the two records behind it."""
    record = struct.pack("<IIII", 1000, 0, 4, 4) + b"\xff" * 4
    unit = 2 * record + struct.pack("<IIII", 1000, 0, 40, 3) + 2 * record
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + count * unit


def test_many_damages_cost_what_they_and_their_surroundings_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(classic, "STRETCH_MIN", 1 << 11, raising=False)
    walked: list[int] = []

    def counting(*arguments: Any) -> Any:
        found = read_records(*arguments)
        walked.append(int(found[0].size))
        return found

    monkeypatch.setattr(classic, "read_records", counting)
    steps = []
    for count in (500, 2000):
        walked.clear()
        _, statistics = read(tmp_path, swallowing(count), 8 << 20)
        assert (statistics.packets, statistics.corrupt_records) == (4 * count, count)
        steps.append(sum(walked))
    assert steps[1] < 6 * steps[0]


def blocks_of(tmp_path: Path, data: bytes) -> list[PacketBlock]:
    (tmp_path / "capture").write_bytes(data)
    with open_capture(tmp_path / "capture") as file:
        return list(packet_blocks(file, Statistics()))


def test_a_buffer_with_many_damages_is_one_block(tmp_path: Path) -> None:
    blocks = blocks_of(tmp_path, swallowing(300))
    assert [block.count for block in blocks] == [1200]
    assert (np.diff(blocks[0].positions) > 0).all()


def test_a_buffer_with_many_sections_and_damages_is_one_block(build: SimpleNamespace, tmp_path: Path) -> None:
    section, packet = build.section() + build.interface(resolution=9) + build.interface(101), build.enhanced(b"abc", number=1, comment="c")
    unit = section + packet + b"\xff" * 4 + build.enhanced(b"d", ticks=7) + packet
    (block,) = blocks_of(tmp_path, 3 * unit)
    assert block.count == 9
    assert block.link_types.tolist() == 3 * [101, 1, 101]
    assert block.ts_ns.tolist() == 3 * [0, 7, 0]
    assert block.interfaces is not None
    assert block.interfaces.tolist() == [1, 0, 1, 3, 2, 3, 5, 4, 5]
    assert block.interface_names == 6 * [""]
    assert sorted(block.comments) == [0, 2, 3, 5, 6, 8]
    places = [len(build.section()), len(build.section() + build.interface(resolution=9))]
    for number in range(3):
        at = number * len(unit)
        assert block.described_at(at + len(section)) == (at, *(at + place for place in places))
        assert block.described_at(at + places[1]) == (at, at + places[0])


def test_a_search_for_a_block_looks_at_what_lies_near(build: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looked: list[int] = []

    def counting(kinds: Any, known: Any) -> Any:
        looked.append(kinds.size)
        return np.isin(kinds, known)

    counted = SimpleNamespace(**{**vars(np), "isin": counting})
    monkeypatch.setattr(pcapng, "np", counted)
    blocks_of(tmp_path, build.section() + 2000 * (build.block(0xBAD, b"") + b"\xff" * 4))
    assert sum(looked) < 2000 * SEARCH_LENGTH_MIN // 2


@pytest.mark.parametrize("wrong", [0, 13, 16, 2_000, 65_536, 1 << 24, 2**32 - 4])
@pytest.mark.parametrize("place", [4, -4])
def test_a_wrong_block_length_costs_its_own_block_only(build: SimpleNamespace, tmp_path: Path, wrong: int, place: int) -> None:
    blocks = [build.enhanced(packet, ticks=number) for number, packet in enumerate(packets(build))]
    at = place if place > 0 else len(blocks[100]) + place
    blocks[100] = blocks[100][:at] + struct.pack("<I", wrong) + blocks[100][at + 4 :]
    numbers, statistics = read(tmp_path, build.section() + build.interface() + b"".join(blocks))
    assert numbers == [*range(100), *range(101, COUNT)]
    assert (statistics.corrupt_records, statistics.truncated_bytes) == (1, 0)
    with pytest.raises(CaptureError, match=r"capture: .*byte \d+"):
        read_frames(tmp_path / "capture", ports=[40001], fail_fast=True)


def test_a_section_header_without_byte_order_is_passed_over(build: SimpleNamespace, tmp_path: Path) -> None:
    blocks = [build.enhanced(packet, ticks=number) for number, packet in enumerate(packets(build, 20))]
    bad = bytearray(build.section())
    bad[8] ^= 1
    data = build.section() + build.interface() + b"".join(blocks[:10]) + bytes(bad) + b"".join(blocks[10:])
    numbers, statistics = read(tmp_path, data)
    assert numbers == list(range(20))
    assert (statistics.corrupt_records, statistics.corrupt_bytes) == (1, len(bad))


def test_fail_fast_refuses_a_packet_block_that_is_too_short(build: SimpleNamespace, tmp_path: Path) -> None:
    blocks = bytearray(build.enhanced(packets(build, 1)[0]))
    struct.pack_into("<I", blocks, 20, 60_000)
    numbers, statistics = read(tmp_path, build.section() + build.interface() + bytes(blocks))
    assert (numbers, statistics.corrupt_records) == ([], 1)
    with pytest.raises(CaptureError, match=r"capture: one of the 2 blocks from byte 28 is too short"):
        read_frames(tmp_path / "capture", ports=[40001], fail_fast=True)


def test_a_damaged_gzip_file_gives_every_record_before_the_damage(build: SimpleNamespace, tmp_path: Path) -> None:
    data = build.classic(packets(build))
    packed = bytearray(gzip.compress(data, mtime=0))
    packed[len(packed) // 2] ^= 0x10
    numbers, statistics = read(tmp_path, bytes(packed))
    assert len(numbers) > COUNT // 3
    assert numbers == list(range(len(numbers)))
    assert statistics.is_damaged
    with pytest.raises(CaptureError, match=r"capture: .*byte \d+"):
        read_frames(tmp_path / "capture", ports=[40001], fail_fast=True)


def test_reads_gzip_members_with_padding_between(build: SimpleNamespace, tmp_path: Path) -> None:
    data = build.classic(packets(build))
    packed = gzip.compress(data[:5000]) + bytes(70_000) + gzip.compress(data[5000:]) + bytes(10)
    assert read(tmp_path, packed)[0] == list(range(COUNT))
    with (tmp_path / "capture").open("rb") as file:
        assert Inflated(file).read(1 << 30) == data


def test_a_zstd_file_that_was_cut_gives_what_can_be_unpacked(build: SimpleNamespace, tmp_path: Path) -> None:
    data = build.classic(packets(build, 3000))
    packed = pa.Codec("zstd").compress(data, asbytes=True)
    numbers, statistics = read(tmp_path, packed[: len(packed) * 2 // 3])
    assert numbers == list(range(len(numbers)))
    assert numbers
    assert statistics.is_damaged
