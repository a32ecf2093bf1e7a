"""Captures that are cut or damaged, or none at all, and records that are found again."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import Capture, CaptureError, read_frames
from aerowire.pcap.files.boundaries import find_boundary
from aerowire.pcap.files.formats import ClassicHeader
from tests.pcap.files.test_formats import conversation_file, written
from tests.support.captures.parts import batches_of, by_index, by_themselves


def test_a_file_cut_anywhere_gives_its_whole_records_and_a_count(build: SimpleNamespace, tmp_path: Path) -> None:
    path, data = conversation_file(build, tmp_path, 40)
    whole = read_frames(path)
    for length in random.Random(5).sample(range(24, len(data)), 60):
        capture = Capture(written(tmp_path, data[:length]), ports=[40001])
        table = capture.read()
        assert table.equals(whole.slice(0, table.num_rows))
        assert capture.statistics.truncated_bytes == length - end_of_records(data[:length])
        if capture.statistics.truncated_bytes:
            with pytest.raises(CaptureError, match="cut short"):
                read_frames(path, fail_fast=True)


def end_of_records(data: bytes) -> int:
    at = 24
    while at + 16 <= len(data) and at + 16 + struct.unpack_from("<I", data, at + 8)[0] <= len(data):
        at += 16 + int(struct.unpack_from("<I", data, at + 8)[0])
    return at


def test_finds_the_chain_again_behind_a_corrupt_record(build: SimpleNamespace, tmp_path: Path) -> None:
    path, data = conversation_file(build, tmp_path, 200)
    whole = Capture(path).read()
    at = 24
    for _ in range(100):
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    path.write_bytes(data[: at + 8] + b"\xff\xff\xff\x7f" + data[at + 12 :])
    capture = Capture(path, ports=[40001])
    left = [row for row in whole.to_pylist() if row["packet_index"] != 100]
    found = capture.read().to_pylist()
    assert [(row["type"], row["term_offset"]) for row in found] == [(row["type"], row["term_offset"]) for row in left]
    assert capture.statistics.corrupt_records == 1
    with pytest.raises(CaptureError, match="impossible length"):
        read_frames(path, fail_fast=True)


@pytest.mark.parametrize(
    "data", [b"", b"\xd4\xc3", b"hello, this is no capture at all", b"\x0a\x0d\x0d\x0a", b"\x0a\x0d\x0d\x0a" + bytes(60)]
)
def test_refuses_what_is_no_capture(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(CaptureError, match=r"capture: |section header"):
        read_frames(written(tmp_path, data))


def test_random_bytes_behind_a_good_header_never_crash_a_reader(build: SimpleNamespace, tmp_path: Path) -> None:
    rng = random.Random(6)
    for start in (build.classic([]), build.section() + build.interface()):
        for _ in range(60):
            capture = Capture(written(tmp_path, start + rng.randbytes(rng.randrange(3000))), ports=[1])
            try:
                capture.read()
            except CaptureError:
                continue
            assert capture.statistics.packets >= 0


def nested_capture(build: SimpleNamespace, count: int) -> bytes:
    """A capture whose payloads are made of records of a capture: the hardest case for finding records in the middle of a file."""
    rng = random.Random(8)
    inner = build.classic([rng.randbytes(rng.randrange(20, 200)) for _ in range(400)])[24:]
    packets = []
    for _ in range(count):
        start = rng.randrange(len(inner) // 2)
        packets.append(build.ethernet(build.ip4(inner[start : start + rng.randrange(100, 20_000)], build.SENDER, build.RECEIVER)))
    return bytes(build.classic(packets))


def test_resynchronising_agrees_with_walking_the_whole_file(build: SimpleNamespace, tmp_path: Path) -> None:
    path = written(tmp_path, nested_capture(build, 400))
    header = ClassicHeader.parse(path.read_bytes()[:24], "nested")
    size = path.stat().st_size
    starts = []
    at = 24
    data = path.read_bytes()
    while at < size:
        starts.append(at)
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
    starts.append(size)
    places = np.array(starts)
    with path.open("rb") as file:
        for cut in random.Random(9).sample(range(24, size), 60):
            assert find_boundary(file, cut, header, size) == places[np.searchsorted(places, cut)]


def test_resynchronising_is_not_misled_by_a_second_chain_beside_the_true_one(build: SimpleNamespace, tmp_path: Path) -> None:
    """Each packet holds a record header that leads to the one in the next packet: nothing near a cut tells which chain is true."""
    inner = bytes(100) + struct.pack("<IIII", 1_700_000_000, 3, 984, 984) + bytes(842)
    packets = [build.ethernet(build.ip4(inner, build.SENDER, build.RECEIVER))] * 3000
    path = written(tmp_path, build.classic(packets))
    assert len(packets[0]) + 16 == 984 + 32
    header = ClassicHeader.parse(path.read_bytes()[:24], "parallel")
    with path.open("rb") as file:
        for cut in random.Random(12).sample(range(24, 24 + 3000 * 1016), 40):
            assert find_boundary(file, cut, header, path.stat().st_size) == 24 + -(-(cut - 24) // 1016) * 1016
    assert [(extent.start.position - 24) % 1016 for extent in by_themselves(path, 1 << 20)] == [0] * 3


@pytest.mark.parametrize("split", [by_index, by_themselves])
def test_parts_together_hold_each_record_once(
    build: SimpleNamespace, tmp_path: Path, split: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aerowire.pcap.reading.index.CUT_SPACING_MIN", 50_000)
    path, _ = conversation_file(build, tmp_path, 3000)
    extents = split(path, 100_000)  # type: ignore[operator]
    assert len(extents) > 3
    whole = Capture(path).read()
    facts = Capture(path).survey()
    capture = Capture(path)
    batches = list(batches_of(capture, extents, facts))
    table = pa.Table.from_batches(batches, whole.schema.remove_metadata())
    unknown = ["packet_index"] if split is by_themselves else []
    assert table.drop_columns(unknown).equals(whole.replace_schema_metadata(None).drop_columns(unknown))
