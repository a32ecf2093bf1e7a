"""Frames of segment files are checked, and sealed with checksums."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import Checksum, checksum_named
from aerowire.archive.files.segments import check_segment, frames_end, list_segments, seal_segment, segment_bytes
from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.system.file_system import FileSystem
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog


def recorded(directory: Path, seed: int, count: int = 60) -> tuple[RecordingWriter, RecordingEntry]:
    writer = RecordingWriter(directory, start=3 * TERM + 4096)
    writer.some(random.Random(seed), count)
    write_catalog(directory, [writer])
    entry = Catalog.open(directory, FileSystem(), capacity=4096).entry(0)
    assert entry is not None
    return writer, entry


def crc_32() -> Checksum:
    checksum = checksum_named("CRC-32")
    assert checksum is not None
    return checksum


def problem(directory: Path, entry: RecordingEntry, checksum: Checksum | None = None) -> str | None:
    with FileSystem().open(directory / f"0-{3 * TERM}.rec") as file:
        return check_segment(file, entry, 3 * TERM, checksum)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_names_of_other_files_are_no_segments(tmp_path: Path) -> None:
    for name in ("3-65536.rec", "3-0.rec", "10-0.rec", "3-131072.rec.del", "archive.catalog", "3-.rec"):
        (tmp_path / name).touch()
    assert list_segments(FileSystem(), tmp_path) == {3: [0, 65536], 10: [0]}


def test_sound_frames_have_no_problem_and_end_where_they_were_written(tmp_path: Path, seed: int) -> None:
    writer, entry = recorded(tmp_path, seed)
    for segment in list_segments(FileSystem(), tmp_path)[0]:
        with FileSystem().open(tmp_path / f"0-{segment}.rec") as file:
            assert check_segment(file, entry, segment) is None
            assert segment + frames_end(file, entry, segment).offset == min(writer.position, segment + 2 * TERM)


@pytest.mark.parametrize(
    ("at", "data", "found"),
    [
        (8, b"\x20\x10\0\0", "fragment termOffset=4128 (expected=4096), termId=10 (expected=10), streamId=1001 (expected=1001)"),
        (16, b"\1\0\0\0", "fragment termOffset=4096 (expected=4096), termId=10 (expected=10), streamId=1 (expected=1001)"),
        (20, b"\x63\0\0\0", "fragment termOffset=4096 (expected=4096), termId=99 (expected=10), streamId=1001 (expected=1001)"),
        (0, b"\x1f\0\0\0", "frame length 31 at offset 4096, expected 32 to 61440"),
        (0, b"\xff\xff\xff\xff", "frame length -1 at offset 4096, expected 32 to 61440"),
        (0, b"\x01\xf0\0\0", "frame length 61441 at offset 4096, expected 32 to 61440"),
        (0, b"\0\0\0\0", None),
    ],
)
def test_a_frame_that_cannot_be_there_is_told(tmp_path: Path, seed: int, at: int, data: bytes, found: str | None) -> None:
    _, entry = recorded(tmp_path, seed)
    overwrite(tmp_path / f"0-{3 * TERM}.rec", 4096 + at, data)
    assert problem(tmp_path, entry) == found


def test_a_file_cut_short_is_told(tmp_path: Path, seed: int) -> None:
    _, entry = recorded(tmp_path, seed)
    path = tmp_path / f"0-{3 * TERM}.rec"
    whole = path.read_bytes()
    first = DataHeaderDecoder(whole[4096:]).frame_length
    path.write_bytes(whole[: 4096 + 16])
    assert problem(tmp_path, entry) == "failed to read fragment header"
    path.write_bytes(whole[: 4096 + 32])
    expected = f"failed to read {first + -first % 32 - 32} byte(s) of data at offset 4128"
    assert problem(tmp_path, entry) == (expected if first > 32 else None)


def test_sealed_frames_hold_the_checksum_of_their_payload_with_its_padding(tmp_path: Path, seed: int) -> None:
    writer, entry = recorded(tmp_path, seed)
    for segment in list_segments(FileSystem(), tmp_path)[0]:
        path = tmp_path / f"0-{segment}.rec"
        with FileSystem().open(path, writable=True) as file:
            assert (check_segment(file, entry, segment, crc_32()) or "").startswith("checksum failed recorded=7 (expected=")
            assert seal_segment(file, entry, segment, crc_32()) is None
            assert check_segment(file, entry, segment, crc_32()) is None
        data = path.read_bytes()
        for position, _, payload in writer.rows:
            if segment <= position < segment + 2 * TERM:
                header = DataHeaderDecoder(data[position - segment :])
                assert (header.type == FrameType.PAD) == (payload is None)
                padded = b"" if payload is None else payload.ljust(len(payload) + -len(payload) % 32, b"\0")
                assert header.session_id & 0xFFFFFFFF == (7 if payload is None else zlib.crc32(padded))


def test_progress_adds_up_to_the_length_of_the_files(tmp_path: Path, seed: int) -> None:
    _, entry = recorded(tmp_path, seed)
    files, done = FileSystem(), [0]
    for segment in list_segments(files, tmp_path)[0]:
        with files.open(tmp_path / f"0-{segment}.rec") as file:
            check_segment(file, entry, segment, progress=done.append)
    first = 4096  # of the first file, in which the frames begin there
    assert sum(done) + first == segment_bytes(files, tmp_path, None, all_segments=True)
    assert segment_bytes(files, tmp_path, 7, all_segments=True) == 0
    assert segment_bytes(files, tmp_path, 0, all_segments=False) == 2 * TERM
