"""Stop positions of recordings that were active when their Archive died are found in their segment files."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from aerowire.archive.files import recovery
from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.recovery import recover_recordings
from aerowire.archive.files.segments import list_segments
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.recordings.catalog_entry import decode_entry
from aerowire.recordings.catalog_layout import CatalogHeader, entry_places
from aerowire.system.file_system import FileSystem
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

NOW_MS = 1_800_000_000_000
PAGE = 4096


def recovered(directory: Path, checksum: str = "") -> tuple[int, list[str]]:
    """Open the catalog of a directory, recover recording 0; return its stop position and what was removed."""
    catalog = Catalog.open(directory, FileSystem(), capacity=4096)
    findings = recover_recordings(catalog, NOW_MS, checksum_named(checksum))
    entry = catalog.entry(0)
    assert entry is not None
    assert entry.stop_timestamp_ms == NOW_MS
    catalog.close()
    assert Catalog.open(directory, FileSystem(), capacity=4096).active == []
    return entry.stop_position, [str(finding).removeprefix(f"{directory}/") for finding in findings]


@pytest.mark.parametrize("name", ["seg64k-orderly", "seg64k-kill", "seg128k-crc32c-orderly"])
def test_the_official_tool_finds_the_same_stop_position(tmp_path: Path, golden_archives: Path, name: str) -> None:
    directory = shutil.copytree(golden_archives / name / "archive-dir", tmp_path / "archive")
    catalog = Catalog.open(directory, FileSystem(), capacity=4096)
    assert recover_recordings(catalog, NOW_MS) == []
    data = (golden_archives / name / "archive.catalog.after-verify").read_bytes()
    official = [decode_entry(data, place.offset, place.end) for place in entry_places(data, CatalogHeader.decode(data))]
    assert [one.stop_position for one in catalog.entries()] == [one.stop_position for one in official if one.is_valid]


@pytest.mark.parametrize("start", [0, 3 * TERM + 4096])
def test_the_stop_position_is_behind_the_last_whole_frame(tmp_path: Path, seed: int, start: int) -> None:
    rng = random.Random(seed)
    for count in (0, 1, 5, 80, 300):
        directory = tmp_path / str(count)
        directory.mkdir()
        writer = RecordingWriter(directory, start=start)
        writer.some(rng, count)
        write_catalog(directory, [writer])
        assert recovered(directory) == (writer.position, []), f"seed {seed}, {count} messages"


@pytest.mark.parametrize("length", [2 * TERM, TERM, 0])
def test_an_empty_file_that_was_made_where_a_recording_ends_stays_with_its_full_length(tmp_path: Path, length: int) -> None:
    writer = RecordingWriter(tmp_path)
    writer.frame(b"x" * 100, DataFlags.UNFRAGMENTED)
    writer.pad()
    writer.pad()
    assert writer.position == 2 * TERM
    (tmp_path / f"0-{2 * TERM}.rec").write_bytes(bytes(length))
    write_catalog(tmp_path, [writer])
    assert recovered(tmp_path) == (2 * TERM, [])
    assert list_segments(FileSystem(), tmp_path) == {0: [0, 2 * TERM]}
    assert (tmp_path / f"0-{2 * TERM}.rec").read_bytes() == bytes(2 * TERM)


def torn(directory: Path, payload: bytes, *, seal: bool = False) -> int:
    """Write two frames of which the last one lies in two pages, the second one lost; return the last one's position."""
    writer = RecordingWriter(directory, mtu=8192)
    writer.frame(b"x" * 100, DataFlags.UNFRAGMENTED)
    last = writer.position
    writer.frame(payload, DataFlags.UNFRAGMENTED)
    write_catalog(directory, [writer])
    if seal:
        checksum = checksum_named("CRC-32C")
        assert checksum is not None
        value = checksum.compute(payload.ljust(len(payload) + -len(payload) % 32, b"\0"))
        writer.write(last + 12, value.to_bytes(4, "little", signed=True))
    return last


def test_a_torn_last_frame_is_removed_and_reported(tmp_path: Path) -> None:
    last = torn(tmp_path, b"y" * 3000 + bytes(4500))
    expected = [f"0-0.rec: offset {last} (recording 0): the last frame, of which pages are empty: removed up to the end of the segment"]
    assert recovered(tmp_path) == (last, expected)
    data = (tmp_path / "0-0.rec").read_bytes()
    assert len(data) == 2 * TERM
    assert not any(data[last:])


def test_a_last_frame_whose_checksum_is_right_is_not_torn(tmp_path: Path) -> None:
    last = torn(tmp_path, b"y" * 3000 + bytes(4500), seal=True)
    assert recovered(tmp_path, "CRC-32C") == (last + 7552, [])


def test_padding_of_which_only_the_header_is_written_is_not_torn(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    writer.frame(b"x" * 100, DataFlags.UNFRAGMENTED)
    writer.pad()
    write_catalog(tmp_path, [writer])
    assert recovered(tmp_path) == (TERM, [])


def test_frames_behind_a_gap_are_removed_and_reported(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    while writer.position < 5 * TERM:
        writer.frame(b"x" * 1000, DataFlags.UNFRAGMENTED) if writer.position % TERM < TERM - 2 * PAGE else writer.pad()
    write_catalog(tmp_path, [writer])
    gap = 1056 * 40
    with (tmp_path / f"0-{2 * TERM}.rec").open("r+b") as file:
        file.seek(gap)
        file.write(bytes(1056))
    assert recovered(tmp_path) == (
        2 * TERM + gap,
        [
            f"0-{2 * TERM}.rec: offset {gap} (recording 0): bytes behind a gap that are no frames: removed up to the end of the segment",
            f"0-{4 * TERM}.rec: offset 0 (recording 0): the frames end at position {2 * TERM + gap}: the file is given up,"
            f" as 0-{4 * TERM}.rec.del",
        ],
    )
    assert list_segments(FileSystem(), tmp_path) == {0: [0, 2 * TERM]}
    assert (tmp_path / f"0-{4 * TERM}.rec.del").exists()
    assert not any((tmp_path / f"0-{2 * TERM}.rec").read_bytes()[gap:])


def test_a_missing_segment_ends_the_recording(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    while writer.position < 5 * TERM:
        writer.frame(b"x" * 1000, DataFlags.UNFRAGMENTED) if writer.position % TERM < TERM - 2 * PAGE else writer.pad()
    write_catalog(tmp_path, [writer])
    (tmp_path / f"0-{2 * TERM}.rec").unlink()
    position, findings = recovered(tmp_path)
    assert position == 2 * TERM
    assert len(findings) == 1
    assert f"no file begins at position {2 * TERM}" in findings[0]


def test_files_before_those_that_are_checked_count_as_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_CHECKED_LENGTH", 0)  # so that the last two files are followed
    writer = RecordingWriter(tmp_path)
    while writer.position < 7 * TERM:
        writer.message(b"x" * 1000)
    write_catalog(tmp_path, [writer])
    (tmp_path / f"0-{4 * TERM}.rec").write_bytes(bytes(2 * TERM))
    position, findings = recovered(tmp_path)
    assert position == 4 * TERM
    assert len(findings) == 1
    assert f"0-{6 * TERM}.rec: offset 0 (recording 0): the frames end at position {4 * TERM}" in findings[0]
    assert list_segments(FileSystem(), tmp_path) == {0: [0, 2 * TERM, 4 * TERM]}


def test_a_segment_that_was_just_made_gets_its_full_length(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    write_catalog(tmp_path, [writer])
    (tmp_path / "0-0.rec").write_bytes(b"")
    assert recovered(tmp_path) == (0, [])
    assert (tmp_path / "0-0.rec").read_bytes() == bytes(2 * TERM)


def test_files_behind_the_stop_position_of_a_truncated_recording_are_given_up(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path, stop=2 * TERM)
    while writer.position < 5 * TERM:
        writer.frame(b"x" * 1000, DataFlags.UNFRAGMENTED) if writer.position % TERM < TERM - 2 * PAGE else writer.pad()
    empty = [RecordingWriter(tmp_path, recording_id=number, stop=0) for number in (1, 2)]
    (tmp_path / "1-0.rec").write_bytes(bytes(2 * TERM))  # as the official archive leaves it
    (tmp_path / "2-0.rec").write_bytes(b"")  # it failed before the file had its length
    write_catalog(tmp_path, [writer, *empty])
    catalog = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    told = [str(finding) for finding in recover_recordings(catalog, NOW_MS)]
    assert [f"as 0-{at * TERM}.rec.del" in text for at, text in zip((2, 4), told, strict=True)] == [True, True]
    assert list_segments(FileSystem(), tmp_path) == {0: [0], 1: [0]}
    assert recover_recordings(catalog, NOW_MS) == []


def test_files_of_a_recording_that_the_catalog_has_forgotten_are_given_up(tmp_path: Path) -> None:
    write_catalog(tmp_path, [RecordingWriter(tmp_path, stop=0)])
    (tmp_path / f"1-{2 * TERM}.rec").write_bytes(bytes(2 * TERM))
    catalog = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    (told,) = recover_recordings(catalog, NOW_MS)
    assert f"the catalog has no such recording yet: the file is given up, as 1-{2 * TERM}.rec.del" in str(told)
    assert list_segments(FileSystem(), tmp_path) == {}
