"""Segment files behind the end of a recording: one rule for those that hold something, and for those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.segments import list_segments
from aerowire.archive.files.surplus_segments import give_up, give_up_behind, segments_behind
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.system.file_system import FileSystem
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

SEGMENT = 2 * TERM
FILES = FileSystem()


@pytest.fixture
def entry(tmp_path: Path) -> RecordingEntry:
    """A recording of two whole segments and a part of the third one."""
    writer = RecordingWriter(tmp_path)
    while writer.position < 5 * TERM:
        writer.message(b"x" * 1000)
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    with OfflineCatalog(FILES, tmp_path) as catalog:
        return catalog.entry(0)


def test_a_file_with_bytes_is_set_aside_with_them_and_reported(tmp_path: Path, entry: RecordingEntry) -> None:
    content = bytes(SEGMENT - 1) + b"x"
    (tmp_path / f"0-{3 * SEGMENT}.rec").write_bytes(content)
    (told,) = give_up_behind(FILES, tmp_path, entry, entry.stop_position, [3 * SEGMENT])
    assert (told.path, told.recording_id) == (str(tmp_path / f"0-{3 * SEGMENT}.rec"), 0)
    assert told.text == f"the recording ends at position {entry.stop_position}: the file is given up, as 0-{3 * SEGMENT}.rec.del"
    assert (tmp_path / f"0-{3 * SEGMENT}.rec.del").read_bytes() == content


def test_no_file_that_begins_before_the_end_is_given_up(tmp_path: Path, entry: RecordingEntry) -> None:
    assert give_up_behind(FILES, tmp_path, entry, entry.stop_position, [0, SEGMENT, 2 * SEGMENT]) == []
    assert list_segments(FILES, tmp_path) == {0: [0, SEGMENT, 2 * SEGMENT]}


@pytest.mark.parametrize(
    ("position", "length", "stays"),
    [(SEGMENT, SEGMENT, True), (SEGMENT, TERM, False), (SEGMENT, 0, False), (3 * SEGMENT, SEGMENT, False)],
)
def test_an_empty_file_stays_only_where_the_official_archive_makes_one(
    tmp_path: Path, entry: RecordingEntry, position: int, length: int, *, stays: bool
) -> None:
    path = tmp_path / f"0-{position}.rec"
    path.write_bytes(bytes(length))
    assert give_up_behind(FILES, tmp_path, entry, SEGMENT, [position]) == []
    assert path.exists() == stays


def test_a_dry_run_tells_the_same_and_changes_nothing(tmp_path: Path, entry: RecordingEntry) -> None:
    for position in (3 * SEGMENT, 4 * SEGMENT):
        (tmp_path / f"0-{position}.rec").write_bytes(bytes(position - 3 * SEGMENT) + bytes(5) + b"x" * (position == 3 * SEGMENT))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    told = give_up_behind(FILES, tmp_path, entry, entry.stop_position, [3 * SEGMENT, 4 * SEGMENT], reason="why", is_dry=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert give_up_behind(FILES, tmp_path, entry, entry.stop_position, [3 * SEGMENT, 4 * SEGMENT], reason="why") == told
    assert [one.text for one in told] == [f"why: the file is given up, as 0-{3 * SEGMENT}.rec.del"]
    assert list_segments(FILES, tmp_path) == {0: [0, SEGMENT, 2 * SEGMENT]}


def test_a_file_that_was_set_aside_before_is_not_replaced_in_silence(tmp_path: Path, entry: RecordingEntry) -> None:
    (tmp_path / "0-131072.rec.del").write_bytes(b"older")
    told = give_up(FILES, tmp_path, entry.recording_id, SEGMENT, "why")
    assert told.text == "why: the file is given up, as 0-131072.rec.del, in the place of one that was given up before"


def test_segments_behind_an_end_are_those_that_follow_it_without_a_gap(tmp_path: Path, entry: RecordingEntry) -> None:
    assert list(segments_behind(FILES, tmp_path, entry, entry.stop_position)) == []
    assert list(segments_behind(FILES, tmp_path, entry, SEGMENT)) == [SEGMENT, 2 * SEGMENT]
    assert list(segments_behind(FILES, tmp_path, entry, 32)) == [SEGMENT, 2 * SEGMENT]
