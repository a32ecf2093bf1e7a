"""Which segment files may go."""

from __future__ import annotations

from aerowire.archive.files.retention import KeepBytes, KeepFrom, KeepSince, RecordingFiles, Rule, SegmentFile, plan_retention

SEGMENT = 100


def recording(recording_id: int, *times_ms: int, start: int = 0) -> RecordingFiles:
    """Return a recording with a file for each time, and its end in the last one."""
    files = tuple(SegmentFile(start + number * SEGMENT, time_ms, 10) for number, time_ms in enumerate(times_ms))
    return RecordingFiles(recording_id, files[-1].position, files)


def plan(rule: Rule, *recordings: RecordingFiles) -> dict[int, tuple[int, list[int]]]:
    found = plan_retention(recordings, rule)
    return {one.recording_id: (one.new_start, [file.position for file in one.files]) for one in found}


def test_files_written_before_a_time_go_and_the_tail_stays() -> None:
    assert plan(KeepSince(30), recording(1, 10, 20, 30, 40), recording(2, 10, 20), recording(3, 30, 40)) == {
        1: (200, [0, 100]),
        2: (100, [0]),
    }


def test_a_file_that_is_kept_keeps_those_behind_it_whatever_their_times() -> None:
    assert plan(KeepSince(30), recording(1, 10, 50, 20, 60)) == {1: (100, [0])}


def test_the_oldest_files_of_all_go_until_the_rest_is_small_enough() -> None:
    old, new = recording(1, 10, 30, 50), recording(2, 20, 40, 60)
    assert plan(KeepBytes(60), old, new) == {}
    assert plan(KeepBytes(59), old, new) == {1: (100, [0])}
    assert plan(KeepBytes(35), old, new) == {1: (200, [0, 100]), 2: (100, [0])}
    assert plan(KeepBytes(0), old, new) == {1: (200, [0, 100]), 2: (200, [0, 100])}


def test_files_that_end_at_a_position_or_before_go() -> None:
    assert plan(KeepFrom(99), recording(1, 1, 1, 1)) == {}
    assert plan(KeepFrom(100), recording(1, 1, 1, 1)) == {1: (100, [0])}
    assert plan(KeepFrom(10_000), recording(1, 1, 1, 1)) == {1: (200, [0, 100])}


def test_behind_a_missing_file_the_recording_begins_with_the_next_one() -> None:
    files = (SegmentFile(0, 1, 10), SegmentFile(200, 5, 10), SegmentFile(300, 5, 10))
    assert plan(KeepSince(3), RecordingFiles(1, 300, files)) == {1: (200, [0])}
