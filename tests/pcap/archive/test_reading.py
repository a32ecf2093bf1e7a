"""Directories written frame by frame are read back exactly; what is damaged is left out, counted and named."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.dtypes.archive import CATALOG_HEADER, RECORDING_DESCRIPTOR, RECORDING_DESCRIPTOR_HEADER
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.pcap.archive import ArchiveError, Report, messages, read_recording, recordings
from aerowire.pcap.archive.catalog import read_catalog
from aerowire.pcap.archive.segments import SegmentReader
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

WRAP = (1 << 31) - 3  # an initial term id from which ids soon wrap around


def recorded(directory: Path, seed: int, *, stopped: bool = True, **fields: int) -> RecordingWriter:
    writer = RecordingWriter(directory, **fields)  # type: ignore[arg-type]
    writer.some(random.Random(seed), 500)
    writer.stop = writer.position if stopped else -1
    write_catalog(directory, [writer])
    return writer


def frames(directory: Path, **options: int) -> list[tuple[int, int, bytes | None]]:
    read = read_recording(directory, 0, **options)  # type: ignore[arg-type]
    rows = read.to_table().to_pylist()
    assert read.report.damages == []
    return [(row["position"], row["flags"], row["payload"]) for row in rows]


def corrupt(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


@pytest.mark.parametrize("fields", [{}, {"start": 3 * TERM + 4096, "initial_term_id": WRAP}, {"segment_length": TERM, "start": 5 * TERM}])
@pytest.mark.parametrize("chunk_length", [128 << 10, 4 << 20])
def test_reads_back_every_frame_and_message(tmp_path: Path, seed: int, fields: dict[str, Any], chunk_length: int) -> None:
    writer = recorded(tmp_path, seed, **fields)
    assert frames(tmp_path, chunk_length=chunk_length) == writer.rows, f"seed {seed}"
    assert any(payload is None for *_, payload in writer.rows)
    read = read_recording(tmp_path, 0, messages=True, chunk_length=chunk_length)
    assert [(row["position"], row["payload"]) for row in read.to_table().to_pylist()] == writer.messages, f"seed {seed}"
    assert (read.report.messages, read.report.incomplete_messages) == (500, 0)


def test_gives_the_fields_of_a_frame_and_the_positions_around_it(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, start=TERM, initial_term_id=WRAP + 1)
    writer.frame(b"abc", DataFlags.BEGIN)
    writer.pad()
    writer.frame(b"", DataFlags.UNFRAGMENTED)
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    first, padding, last = read_recording(tmp_path, 0).to_table().to_pylist()
    assert first == {
        "recording_id": 0,
        "position": 65536,
        "end_position": 65600,
        "term_id": (1 << 31) - 1,
        "term_offset": 0,
        "frame_length": 35,
        "flags": DataFlags.BEGIN,
        "type": "DATA",
        "session_id": 7,
        "stream_id": 1001,
        "reserved_value": 0,
        "payload": b"abc",
    }
    assert (padding["type"], padding["payload"], padding["frame_length"], padding["end_position"]) == ("PAD", None, TERM - 64, 2 * TERM)
    assert (last["term_id"], last["position"], last["payload"]) == (-(1 << 31), 2 * TERM, b"")


def test_a_row_belongs_to_the_range_that_holds_its_first_byte(tmp_path: Path, seed: int) -> None:
    writer = recorded(tmp_path, seed)
    rng = random.Random(seed)
    for _ in range(40):
        one, other = sorted(rng.randint(0, writer.stop) for _ in range(2))
        expected = [row for row in writer.rows if one <= row[0] < other]
        assert frames(tmp_path, from_position=one, to_position=other) == expected, f"seed {seed}: {one} to {other}"
        read = read_recording(tmp_path, 0, from_position=one, to_position=other, messages=True)
        found = [(row["position"], row["payload"]) for row in read.to_table().to_pylist()]
        assert found == [row for row in writer.messages if one <= row[0] < other], f"seed {seed}: {one} to {other}"


def test_a_recording_that_grows_is_read_up_to_its_last_whole_frame(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    writer = RecordingWriter(tmp_path)
    for _ in range(60):
        writer.some(rng, rng.randrange(20))
        write_catalog(tmp_path, [writer])
        assert frames(tmp_path) == writer.rows, f"seed {seed}"


def test_a_frame_of_which_pages_are_not_written_yet_is_not_read(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, mtu=8192)
    writer.frame(bytes(range(1, 101)), DataFlags.UNFRAGMENTED)
    at = writer.position
    writer.frame(b"x" * 6000, DataFlags.UNFRAGMENTED)
    write_catalog(tmp_path, [writer])
    assert frames(tmp_path) == writer.rows
    corrupt(tmp_path / "0-0.rec", 4096, bytes(4096))
    assert [position for position, *_ in frames(tmp_path)] == [0], at


def damage_of(directory: Path, writer: RecordingWriter) -> tuple[Report, list[tuple[int, int, bytes | None]]]:
    read = read_recording(directory, 0)
    rows = [(row["position"], row["flags"], row["payload"]) for row in read.to_table().to_pylist()]
    assert read.report.frame_bytes + read.report.lost_bytes == writer.stop - writer.start
    with pytest.raises(ArchiveError) as failure:
        read_recording(directory, 0, fail_fast=True).to_table()
    assert read.report.damages[0].path in str(failure.value)
    assert f"offset {read.report.damages[0].offset}" in str(failure.value)
    return read.report, rows


@pytest.mark.parametrize(
    ("at", "data", "reason"),
    [
        (0, b"\0\0\0\0", "no frame, expected one"),
        (0, b"\xff\xff\xff\xff", "frame length -1"),
        (0, b"\x1f\0\0\0", "frame length 31"),
        (0, b"\0\0\1\0", "frame length 65536"),
        (6, b"\5\0", "type 5"),
        (8, b"\x07\0\0\0", "term_offset 7"),
        (16, b"\1\0\0\0", "stream_id 1"),
        (20, b"\x63\0\0\0", "term_id 99"),
    ],
)
def test_a_broken_frame_costs_the_rest_of_its_term_only(tmp_path: Path, seed: int, at: int, data: bytes, reason: str) -> None:
    writer = recorded(tmp_path, seed)
    broken = next(row[0] for row in writer.rows if row[0] > TERM + 1000 and row[2])
    corrupt(tmp_path / "0-0.rec", broken + at, data)
    report, rows = damage_of(tmp_path, writer)
    assert rows == [row for row in writer.rows if row[0] < broken or row[0] >= 2 * TERM], f"seed {seed}"
    assert [(one.offset, one.position, one.lost_length) for one in report.damages] == [(broken, broken, 2 * TERM - broken)]
    assert reason in report.damages[0].reason


def test_a_missing_segment_costs_its_own_frames(tmp_path: Path, seed: int) -> None:
    writer = recorded(tmp_path, seed)
    (tmp_path / f"0-{2 * TERM}.rec").unlink()
    report, rows = damage_of(tmp_path, writer)
    assert rows == [row for row in writer.rows if not 2 * TERM <= row[0] < 4 * TERM]
    assert [(one.offset, one.position, one.lost_length) for one in report.damages] == [(0, 2 * TERM, 2 * TERM)]
    assert recordings(tmp_path)["missing_segments"].to_pylist() == [[2 * TERM]]


@pytest.mark.parametrize("messages", [False, True])
def test_a_file_that_begins_where_no_segment_can_is_no_part_of_the_recording(tmp_path: Path, seed: int, messages: bool) -> None:
    # A damaged catalog says that terms are longer than the files are: all of them but the first begin within the first segment.
    recorded(tmp_path, seed, segment_length=TERM)
    assert RECORDING_DESCRIPTOR.fields is not None
    at = CATALOG_HEADER.itemsize + RECORDING_DESCRIPTOR_HEADER.itemsize + RECORDING_DESCRIPTOR.fields["termBufferLength"][1]
    corrupt(tmp_path / "archive.catalog", at, (4 * TERM).to_bytes(4, "little"))
    read = read_recording(tmp_path, 0, messages=messages)
    assert len(read.to_table()) > 0
    first = read.report.damages[0]
    assert (first.position, first.reason) == (TERM, f"the file ends after {TERM} bytes, in or before a frame")
    assert read.report.damage_count < 10


def test_a_segment_cut_short_costs_what_lies_behind(tmp_path: Path, seed: int) -> None:
    writer = recorded(tmp_path, seed)
    cut = TERM // 2 + 5
    with (tmp_path / "0-0.rec").open("r+b") as file:
        file.truncate(cut)
    report, rows = damage_of(tmp_path, writer)
    last = max(row[0] for row in writer.rows if row[0] < cut)
    assert [row for row in rows if row[0] < last] == [row for row in writer.rows if row[0] < last]
    assert [row for row in rows if row[0] > last] == [row for row in writer.rows if row[0] >= 2 * TERM]
    assert report.damages[0].reason.startswith(f"the file ends after {cut} bytes")


def test_the_few_bytes_of_a_file_cut_short_do_not_hold_a_chunk(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    writer.frame(b"abc", DataFlags.UNFRAGMENTED)
    writer.stop = TERM
    write_catalog(tmp_path, [writer])
    path, _ = writer.segment(0)
    path.write_bytes(path.read_bytes()[: 64 + 5])
    with SegmentReader(read_catalog(tmp_path, Report())[0]) as reader:
        block = reader.frames(0, TERM)
    assert block.buffer.size == 64 + 5
    assert block.buffer.base is None


def test_flipped_bits_are_never_an_exception_nor_lost_without_count(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    writer = recorded(tmp_path, seed)
    for turn in range(100):
        path = rng.choice(sorted(tmp_path.glob("*.rec")))
        before = path.read_bytes()
        for _ in range(rng.randint(1, 20)):
            corrupt(path, rng.randrange(len(before)), rng.randbytes(1))
        read = read_recording(tmp_path, 0)
        read.to_table()
        assert read.report.frame_bytes + read.report.lost_bytes == writer.stop, f"seed {seed}, turn {turn}"
        for _ in read_recording(tmp_path, 0, messages=True):
            pass
        path.write_bytes(before)


def test_a_damaged_catalog_is_an_error_or_counted(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    recorded(tmp_path, seed)
    outcomes: list[str | None] = []
    catalog = tmp_path / "archive.catalog"
    before = catalog.read_bytes()
    for turn in range(300):
        data = bytearray(before[: rng.choice((len(before), rng.randrange(len(before))))])
        for _ in range(rng.randint(0, 4)):
            if data:
                data[rng.randrange(min(len(data), 256))] = rng.randrange(256)
        catalog.write_bytes(data)
        outcomes.append(outcome(tmp_path))
        # An error names the file.
        assert outcomes[-1] is None or "archive.catalog" in outcomes[-1], f"seed {seed}, turn {turn}"
    assert None in outcomes
    assert any(outcomes)


def outcome(directory: Path) -> str | None:
    """Read all that a directory holds; return the error's text, or None."""
    try:
        for row in recordings(directory, report=Report()).to_pylist():
            if row["damage"] is None and row["state"] == "VALID":
                read_recording(directory, row["recording_id"]).to_table()
    except ArchiveError as error:
        return str(error)
    return None


def test_names_what_is_wrong_with_an_entry(tmp_path: Path) -> None:
    one, other = RecordingWriter(tmp_path), RecordingWriter(tmp_path, recording_id=1, mtu=7)
    write_catalog(tmp_path, [one, other])
    assert recordings(tmp_path)["damage"].to_pylist() == [None, "mtuLength 7, expected 33 to 65504"]
    with pytest.raises(ArchiveError, match="recording 1 cannot be read: mtuLength 7"):
        read_recording(tmp_path, 1)
    with pytest.raises(ArchiveError, match="has no recording 2; recordings"):
        read_recording(tmp_path, 2)
    with pytest.raises(ArchiveError, match="expected the directory of an Archive"):
        recordings(tmp_path / "nowhere")
    with pytest.raises(ArchiveError, match="no column is called nothing"):
        read_recording(tmp_path, 0, columns=["nothing"])


def test_positions_that_were_purged_are_told(tmp_path: Path, seed: int) -> None:
    writer = recorded(tmp_path, seed, start=2 * TERM)
    read = read_recording(tmp_path, 0, from_position=TERM)
    assert read.to_table().num_rows == len(writer.rows)
    assert (read.report.lost_bytes, read.report.damage_count) == (TERM, 1)
    with pytest.raises(ArchiveError, match="its segments were purged"):
        read_recording(tmp_path, 0, from_position=TERM, fail_fast=True)


def test_a_message_without_an_end_is_given_up_where_its_term_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_together: list[int] = []
    complete = messages._complete

    def counting(batch: Any, *arguments: Any) -> Any:
        put_together.append(batch.num_rows)
        return complete(batch, *arguments)

    monkeypatch.setattr(messages, "_complete", counting)
    writer = RecordingWriter(tmp_path, segment_length=16 * TERM)
    writer.frame(b"", DataFlags.BEGIN)
    for _ in range(8 * TERM // 32 - 1):
        writer.frame(b"", 0)
    writer.message(b"whole")
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    read = read_recording(tmp_path, 0, messages=True)
    assert [row["payload"] for row in read.to_table().to_pylist()] == [b"whole"]
    assert read.report.incomplete_messages == 8  # what is left of it in each term
    assert sum(put_together) < 2 * len(writer.rows)


def test_the_last_term_of_an_active_recording_is_looked_for_within_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RecordingWriter(tmp_path, segment_length=1 << 30)
    write_catalog(tmp_path, [writer])
    (tmp_path / "0-0.rec").write_bytes(bytes(2 * TERM))
    reads: list[int] = []
    read = SegmentReader._read

    def counting(reader: SegmentReader, position: int, length: int) -> Any:
        reads.append(position)
        return read(reader, position, length)

    monkeypatch.setattr(SegmentReader, "_read", counting)
    assert frames(tmp_path) == []
    assert len(reads) <= 4


def test_an_entry_lists_few_of_very_many_missing_segments(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    writer.stop = 1 << 60
    write_catalog(tmp_path, [writer])
    assert recordings(tmp_path)["missing_segments"].to_pylist() == [[2 * TERM * number for number in range(100)]]
