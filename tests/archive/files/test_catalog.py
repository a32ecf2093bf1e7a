"""Operations of the catalog reach its file, and are there when it is opened again."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.base.errors import ArchiveFileError
from aerowire.base.file_port import FilePort
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.recordings.catalog_layout import ENTRY_HEADER_LENGTH, CatalogHeader
from aerowire.system.file_system import FileSystem
from tests.archive.files.entries import entry

BOOKKEEPING = ("catalog_offset", "entry_length", "checksum")


@pytest.fixture
def files() -> FilePort:
    return FileSystem()


def opened(directory: Path, files: FilePort, **options: Any) -> Catalog:
    return Catalog.open(directory, files, **({"capacity": 4096} | options))


def values(one: RecordingEntry | None) -> dict[str, object]:
    assert one is not None
    return {field.name: getattr(one, field.name) for field in fields(one) if field.name not in BOOKKEEPING}


def test_a_new_catalog_is_the_official_header_and_zeros(tmp_path: Path, files: FilePort) -> None:
    opened(tmp_path, files).close()
    assert (tmp_path / "archive.catalog").read_bytes() == bytes.fromhex("00010300 20000000 0000000000000000 40000000").ljust(4096, b"\0")
    assert [path.name for path in tmp_path.iterdir()] == ["archive.catalog"]


def test_recordings_have_ids_from_zero_and_are_there_again(tmp_path: Path, files: FilePort) -> None:
    catalog = opened(tmp_path, files)
    assert [catalog.add_recording(entry(session_id=number)) for number in range(3)] == [0, 1, 2]
    catalog.recording_stopped(1, 640, 9)
    catalog.close()
    again = opened(tmp_path, files)
    assert (len(again), again.next_recording_id, again.findings, again.active) == (3, 3, [], [0, 2])
    assert values(again.entry(1)) == values(entry(recording_id=1, session_id=1, stop_position=640, stop_timestamp_ms=9))
    assert (again.start_position(1), again.stop_position(1), again.stop_position(0)) == (0, 640, -1)
    assert [one.recording_id for one in again.entries(1)] == [1, 2]
    assert again.entry(3) is None
    assert not again.has_recording(-1)


def test_each_change_shows_in_an_entry_that_was_read_before(tmp_path: Path, files: FilePort) -> None:
    catalog = opened(tmp_path, files)
    catalog.add_recording(entry())

    def shown() -> RecordingEntry:
        found = catalog.entry(0)
        assert found is not None
        assert catalog.entry(0) == found == next(catalog.entries())
        return found

    assert shown().is_active
    catalog.recording_stopped(0, 640, 9)
    assert (shown().stop_position, shown().stop_timestamp_ms) == (640, 9)
    catalog.set_start_position(0, 64)
    assert shown().start_position == 64
    catalog.extend_recording(0, 3, 4, 77)
    assert (shown().session_id, shown().is_active) == (77, True)
    catalog.change_channel(0, "aeron:ipc", "aeron:ipc?alias=new")
    assert shown().original_channel == "aeron:ipc?alias=new"
    catalog.change_state(0, RecordingState.DELETED)
    assert catalog.entry(0) is None


def test_more_entries_are_read_than_are_kept_decoded(tmp_path: Path, files: FilePort) -> None:
    catalog = opened(tmp_path, files, capacity=1 << 18)
    ids = [catalog.add_recording(entry(session_id=number)) for number in range(400)]
    for _ in range(2):
        assert [one.session_id for one in map(catalog.entry, ids) if one is not None] == ids


def test_the_official_catalog_is_opened_unchanged(tmp_path: Path, files: FilePort, golden_archives: Path) -> None:
    directory = shutil.copytree(golden_archives / "seg64k-kill" / "archive-dir", tmp_path / "archive")
    before = (directory / "archive.catalog").read_bytes()
    with_capacity = opened(directory, files)
    assert (len(with_capacity), with_capacity.capacity, with_capacity.active, with_capacity.findings) == (15, 65536, [15], [])
    assert [one.recording_id for one in with_capacity.entries()] == [number for number in range(16) if number != 7]
    with_capacity.close()
    assert (directory / "archive.catalog").read_bytes() == before


def test_an_extended_recording_is_active_with_its_new_session(tmp_path: Path, files: FilePort) -> None:
    catalog = opened(tmp_path, files)
    catalog.add_recording(entry(stop_position=64, stop_timestamp_ms=5))
    catalog.extend_recording(0, 11, 12, -13)
    expected = entry(recording_id=0, control_session_id=11, correlation_id=12, session_id=-13)
    assert values(catalog.entry(0)) == values(expected)
    catalog.close()
    assert values(opened(tmp_path, files).entry(0)) == values(expected)


def test_positions_are_set_one_by_one(tmp_path: Path, files: FilePort) -> None:
    catalog = opened(tmp_path, files)
    catalog.add_recording(entry(stop_position=640))
    catalog.set_stop_position(0, 320)
    catalog.set_start_position(0, 96)
    assert (catalog.start_position(0), catalog.stop_position(0)) == (96, 320)
    with pytest.raises(KeyError):
        catalog.set_start_position(1, 0)


@pytest.mark.parametrize("state", [RecordingState.INVALID, RecordingState.DELETED])
def test_a_recording_that_is_not_valid_is_not_seen_and_its_id_is_not_given_again(
    tmp_path: Path, files: FilePort, state: RecordingState
) -> None:
    catalog = opened(tmp_path, files)
    for _ in range(3):
        catalog.add_recording(entry())
    assert catalog.change_state(2, state)
    assert not catalog.change_state(2, state)
    assert catalog.ids_from(0, 10) == [0, 1]
    catalog.close()
    again = opened(tmp_path, files)
    assert again.ids_from(0, 10) == [0, 1]
    assert again.add_recording(entry()) == 3


@pytest.mark.parametrize("channel", ["aeron:ipc?alias=" + "x" * 200, "a"])
@pytest.mark.parametrize("name", [None, "CRC-32C"])
def test_another_channel_leaves_all_other_recordings_as_they_are(tmp_path: Path, files: FilePort, channel: str, name: str | None) -> None:
    checksum = checksum_named(name or "")
    catalog = opened(tmp_path, files, checksum=checksum)
    for number in range(5):
        catalog.add_recording(entry(session_id=number, control_session_id=4))
    catalog.change_channel(2, "stripped", channel)
    expected = [entry(recording_id=number, session_id=number, control_session_id=4) for number in range(5)]
    expected[2] = replace(expected[2], stripped_channel="stripped", original_channel=channel)
    assert [values(one) for one in catalog.entries()] == [values(one) for one in expected]
    catalog.add_recording(entry())
    catalog.close()
    again = opened(tmp_path, files, checksum=checksum)
    assert [values(one) for one in again.entries()][:5] == [values(one) for one in expected]
    assert again.findings == []
    assert len(again) == 6
    for one in again.entries():
        begin = one.catalog_offset + ENTRY_HEADER_LENGTH
        descriptor = again.data[begin : begin + one.entry_length]
        assert one.checksum == (0 if checksum is None else checksum.compute(descriptor))


def test_a_replicated_recording_replaces_all_but_its_control_session(tmp_path: Path, files: FilePort) -> None:
    catalog = opened(tmp_path, files)
    catalog.add_recording(entry(control_session_id=1, correlation_id=2))
    source = entry(recording_id=0, start_position=640, stop_position=1280, initial_term_id=-9, mtu_length=8192, session_id=77, stream_id=78)
    catalog.replace_recording(source)
    assert values(catalog.entry(0)) == values(replace(source, control_session_id=1, correlation_id=2))


def test_a_full_catalog_grows_by_halves(tmp_path: Path, files: FilePort) -> None:
    resized: list[tuple[int, int]] = []
    catalog = opened(tmp_path, files, capacity=1024, on_resize=lambda old, new: resized.append((old, new)))
    catalog.add_recording(entry())
    [first] = catalog.entries()
    length = ENTRY_HEADER_LENGTH + first.entry_length
    while catalog.capacity < 3000:
        catalog.add_recording(entry())
    assert resized == [(1024, 1536), (1536, 2304), (2304, 3456)]
    assert (tmp_path / "archive.catalog").stat().st_size == 3456
    assert len(catalog) == (2304 - 32) // length + 1
    catalog.close()
    assert len(opened(tmp_path, files)) == len(catalog)


@pytest.mark.parametrize("capacity", [0, 31, 1 << 31])
def test_a_capacity_that_cannot_be_is_refused(tmp_path: Path, files: FilePort, capacity: int) -> None:
    with pytest.raises(ArchiveFileError, match="cannot have this capacity"):
        opened(tmp_path, files, capacity=capacity)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (CatalogHeader(version=2 << 16).encode(), r"offset 0; expected 3.1.0 or another 3.x; got 2.0.0 .*aerowire archive migrate"),
        (CatalogHeader(alignment=48).encode(), "offset 16; expected a power of two from 8; got 48"),
        (b"x" * 31, "offset 0; expected a header; got 31 bytes before zeros"),
    ],
)
def test_a_file_that_is_no_catalog_of_this_version_is_refused(tmp_path: Path, files: FilePort, content: bytes, message: str) -> None:
    (tmp_path / "archive.catalog").write_bytes(content)
    with pytest.raises(ArchiveFileError, match=message):
        opened(tmp_path, files, capacity=32)
    assert (tmp_path / "archive.catalog").read_bytes()[: len(content)] == content
