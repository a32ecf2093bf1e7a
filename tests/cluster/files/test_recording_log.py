"""The recording log: what is appended, invalidated, restored and removed, in memory and in the file; golden files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aerowire.base.errors import MissingFileError, RecordingLogError
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
from aerowire.codecs.flyweights.recording_log import EntryType
from aerowire.system.file_system import FileSystem
from tests.cluster.files.official_text import NODES, output, printed_log, shown
from tests.cluster.files.recording_logs import CM, filled, opened

TERM, SNAPSHOT, STANDBY = EntryType.TERM, EntryType.SNAPSHOT, EntryType.STANDBY_SNAPSHOT


def entry(
    recording_id: int,
    term_id: int,
    base: int,
    position: int,
    timestamp: int,
    service_id: int,
    kind: EntryType,
    index: int,
    is_valid: bool = True,
    endpoint: str = "",
) -> RecordingLogEntry:
    return RecordingLogEntry(
        recording_id=recording_id,
        leadership_term_id=term_id,
        term_base_log_position=base,
        log_position=position,
        timestamp=timestamp,
        service_id=service_id,
        entry_type=kind,
        entry_index=index,
        is_valid=is_valid,
        archive_endpoint=endpoint,
    )


def recordings(log: RecordingLog) -> list[int]:
    return [one.recording_id for one in log.entries]


@pytest.mark.parametrize("node", NODES)
def test_official_logs_are_read_as_the_official_tool_prints_them(golden_clusters: Path, node: str) -> None:
    log = RecordingLog.open(golden_clusters / node, FileSystem(), writable=False)
    assert shown(log) == printed_log(output(golden_clusters / node / "tool.recording-log.txt"))
    log.close()


@pytest.mark.parametrize("node", NODES)
def test_the_same_entries_make_the_bytes_of_an_official_log(tmp_path: Path, golden_clusters: Path, node: str) -> None:
    official = RecordingLog.open(golden_clusters / node, FileSystem(), writable=False)
    log = opened(tmp_path)
    for one in sorted(official.entries, key=lambda one: one.entry_index):
        if one.entry_type == TERM:
            log.append_term(one.recording_id, one.leadership_term_id, one.term_base_log_position, one.timestamp)
        else:
            log.append_snapshot(
                one.recording_id,
                one.leadership_term_id,
                one.term_base_log_position,
                one.log_position,
                one.timestamp,
                one.service_id,
            )
    for term in official.entries:
        if term.entry_type == TERM:
            log.commit_log_position(term.leadership_term_id, term.log_position)
    assert log.path.read_bytes() == (golden_clusters / node / "recording.log").read_bytes()


def test_the_latest_snapshot_is_invalidated_as_by_the_official_tool(tmp_path: Path, golden_clusters: Path) -> None:
    golden = golden_clusters / "one-node-orderly" / "node0"
    shutil.copy(golden / "recording.log", tmp_path)
    log = opened(tmp_path)
    assert log.invalidate_latest_snapshot()
    assert log.path.read_bytes() == (golden / "recording.log.after-invalidate-latest-snapshot").read_bytes()


def test_an_entry_stands_in_64_bytes(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(7, 1, 4096, 1000)
    log.append_standby_snapshot(9, 1, 4096, 8192, 2000, 3, "h:1")
    assert log.path.read_bytes().hex(" ", 8).split() == [
        "0700000000000000", "0100000000000000", "0010000000000000", "ffffffffffffffff",
        "e803000000000000", "ffffffff00000000", "0000000000000000", "0000000000000000",
        "0900000000000000", "0100000000000000", "0010000000000000", "0020000000000000",
        "d007000000000000", "0300000002000000", "03000000683a3100", "0000000000000000",
    ]  # fmt: skip


def test_entries_count_by_term_and_place_and_not_by_the_file(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(0, 0, 0, 0)
    log.append_term(0, 1, 100, 10)
    for service_id in (1, CM, 0):
        log.append_snapshot(0, 1, 111, 222, 12, service_id)
    log.append_term(0, 3, 500, 30)
    log.append_term(0, 2, 1_000_000, 1_000_000)
    log.invalidate_entry(log.entries[1])
    log.invalidate_entry(log.entries[5])
    log.append_term(0, 2, 400, 20)
    log.append_term(0, 1, 90, 9)
    assert log.invalidate_latest_snapshot()
    log.append_snapshot(0, 2, 400, 1400, 200, CM)
    log.append_snapshot(0, 2, 400, 1400, 200, 1)
    log.append_snapshot(0, 1, 0, 777, 42, 2)
    log.append_snapshot(0, 2, 400, 1400, 200, 0)
    log.invalidate_entry(log.entries[8])
    for service_id in (CM, 1, 0):
        log.append_standby_snapshot(0, 2, 400, 1400, 200, service_id, "localhost:8080")
    expected = [
        entry(0, 0, 0, 90, 0, -1, TERM, 0),
        entry(0, 1, 0, 777, 42, 2, SNAPSHOT, 11),
        entry(0, 1, 90, 400, 9, -1, TERM, 8),
        entry(0, 1, 100, 1_000_000, 10, -1, TERM, 1, False),
        entry(0, 1, 111, 222, 12, 1, SNAPSHOT, 2, False),
        entry(0, 1, 111, 222, 12, 0, SNAPSHOT, 4, False),
        entry(0, 1, 111, 222, 12, CM, SNAPSHOT, 3, False),
        entry(0, 2, 400, 500, 20, -1, TERM, 7),
        entry(0, 2, 400, 1400, 200, 1, STANDBY, 14, endpoint="localhost:8080"),
        entry(0, 2, 400, 1400, 200, 0, STANDBY, 15, endpoint="localhost:8080"),
        entry(0, 2, 400, 1400, 200, CM, STANDBY, 13, endpoint="localhost:8080"),
        entry(0, 2, 400, 1400, 200, 1, SNAPSHOT, 10, False),
        entry(0, 2, 400, 1400, 200, 0, SNAPSHOT, 12),
        entry(0, 2, 400, 1400, 200, CM, SNAPSHOT, 9),
        entry(0, 2, 1_000_000, 500, 1_000_000, -1, TERM, 6, False),
        entry(0, 3, 500, -1, 30, -1, TERM, 5),
    ]
    assert list(log.entries) == expected
    assert (log.next_entry_index, log.term_indexes) == (16, {0: 0, 3: 15, 2: 7, 1: 2})
    log.reload()
    assert list(log.entries) == expected
    assert (log.next_entry_index, log.term_indexes) == (16, {0: 0, 1: 2, 2: 7, 3: 15})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.append_term(-1, 9, 0, 0), "an entry needs a recording; at .*; got -1"),
        (lambda log: log.append_snapshot(-1, 5, 0, 0, 0, CM), "an entry needs a recording"),
        (lambda log: log.append_term(4, 9, 0, 0), "all terms are of one recording; at .*; expected 3; got 4"),
        (lambda log: log.append_term(3, 5, 0, 0), "a term has one valid entry; at .*; got 5"),
        (lambda log: log.commit_log_position(9, 1), "there is no valid entry of a term; at .*; expected one of 1 terms; got 9"),
        (lambda log: log.get_term_entry(9), "got 9"),
        (lambda log: log.remove_entry(5, 1), "there is no such entry; at .*; got index 1 in term 5"),
        (lambda log: log.append_standby_snapshot(1, 5, 0, 0, 0, CM, ""), "the endpoint of its archive; expected 1 to 4044"),
        (lambda log: log.append_standby_snapshot(1, 5, 0, 0, 0, CM, "h" * 4045), "got 4045: 'hhh"),
        (lambda log: log.append_standby_snapshot(1, 5, 0, 0, 0, CM, "höst:1"), "printable ASCII"),
    ],
)
def test_an_entry_that_may_not_be_is_refused(tmp_path: Path, change: Callable[[RecordingLog], None], message: str) -> None:
    log = opened(tmp_path)
    log.append_term(3, 5, 0, 1)
    before = log.path.read_bytes()
    with pytest.raises(RecordingLogError, match=message):
        change(log)
    assert log.path.read_bytes() == before
    assert shown(log) == shown(opened(tmp_path))


def test_a_log_that_is_not_there_is_made_only_on_demand(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        RecordingLog.open(tmp_path, FileSystem())
    assert (opened(tmp_path).entries, opened(tmp_path).find_last_term(), opened(tmp_path).find_last_term_recording_id()) == ([], None, -1)


def test_latest_snapshots_are_invalidated_one_set_at_a_time(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for valid, latest in (([1, 2, 3, 1], [2, 3]), ([1, 1], [None, None])):
        assert log.invalidate_latest_snapshot()
        assert [one.recording_id for one in log.entries if one.is_valid] == valid
        found = [log.get_latest_snapshot(service_id) for service_id in (0, CM)]
        assert [one and one.recording_id for one in found] == latest
        assert shown(log) == shown(opened(tmp_path))
    assert not log.invalidate_latest_snapshot()


def test_the_latest_snapshots_of_the_node_and_of_a_standby_node_are_invalidated_together(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for position, recording_id in ((1280, 10), (640, 12)):
        log.append_standby_snapshot(recording_id, 7, 0, position, 1003, 0, "h:1")
        log.append_standby_snapshot(recording_id + 1, 7, 0, position, 1003, CM, "h:1")
    assert log.invalidate_latest_snapshot()
    assert [one.recording_id for one in log.entries if not one.is_valid] == [10, 11, 4, 5]
    assert shown(log) == shown(opened(tmp_path))


def test_a_snapshot_without_its_term_is_not_invalidated(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_snapshot(10, 1, 0, 777, 0, 0)
    log.append_snapshot(11, 1, 0, 777, 0, CM)
    with pytest.raises(RecordingLogError, match=r"there is no valid entry of a term; .* expected one of 0 terms; got 1"):
        log.invalidate_latest_snapshot()
    assert all(one.is_valid for one in log.entries)


def test_a_snapshot_taken_again_takes_the_place_of_its_invalid_entry(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.invalidate_latest_snapshot()
    log.invalidate_latest_snapshot()
    length = log.path.stat().st_size
    log = opened(tmp_path)
    for recording_id, position in ((20, 640), (22, 1280)):
        log.append_snapshot(recording_id, 7, 0, position, 2000, 0)
        log.append_snapshot(recording_id + 1, 7, 0, position, 2001, CM)
    assert log.path.stat().st_size == length
    assert recordings(log) == [1, 20, 21, 22, 23, 1]
    assert all(one.is_valid for one in log.entries)
    assert shown(log) == shown(opened(tmp_path))


@pytest.mark.parametrize("other", [(8, 0, 1280, CM), (7, 1, 1280, CM), (7, 0, 1281, CM), (7, 0, 1280, 42)])
def test_a_snapshot_that_differs_from_an_invalid_one_is_appended(tmp_path: Path, other: tuple[int, int, int, int]) -> None:
    log = filled(tmp_path)
    log.invalidate_latest_snapshot()
    log.append_snapshot(9, *other[:3], 0, other[3])
    assert sorted(recordings(log)) == [1, 1, 2, 3, 4, 5, 9]
    assert len([one for one in log.entries if not one.is_valid]) == 2
    log.append_snapshot(30, 7, 0, 1280, 5, CM)  # where the invalid ones stand was not forgotten
    assert sorted(recordings(log)) == [1, 1, 2, 3, 4, 9, 30]
    assert shown(log) == shown(opened(tmp_path))


def test_a_standby_snapshot_is_restored_for_its_own_endpoint(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append_standby_snapshot(10, 7, 0, 1280, 1, CM, "standby-of-the-first-member.example.com:8010")
    log.invalidate_entry(next(one for one in log.entries if one.entry_type == STANDBY))
    log.append_standby_snapshot(11, 7, 0, 1280, 2, CM, "h:1")
    log.append_standby_snapshot(12, 7, 0, 1280, 3, CM, "standby-of-the-first-member.example.com:8010")
    assert [(one.recording_id, one.entry_index) for one in log.entries if one.entry_type == STANDBY] == [(12, 6), (11, 7)]
    assert shown(log) == shown(opened(tmp_path))


def test_a_removed_entry_leaves_its_place_empty(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append_standby_snapshot(10, 7, 0, 1280, 1, CM, "standby-of-the-first-member.example.com:8010")
    log.append_snapshot(11, 8, 1280, 2000, 1, CM)
    log.remove_entry(8, 5)
    log.remove_entry(7, 6)
    assert (recordings(log), log.is_unknown(8)) == ([1, 2, 3, 4, 5, 11], True)
    # The long one was removed as two, for the official log passes over 64 bytes.
    assert (log.next_entry_index, log.entries[-1].entry_index) == (9, 8)
    log.append_term(1, 8, 1280, 9)
    assert (log.next_entry_index, log.get_term_entry(8).entry_index) == (10, 9)
    assert shown(log) == shown(opened(tmp_path))


def test_endpoints_of_any_length_are_kept(tmp_path: Path) -> None:
    log = opened(tmp_path)
    lengths = (1, 11, 12, 13, 75, 76, 77, 3000, 4044)
    for number, length in enumerate(lengths):
        log.append_standby_snapshot(number, 0, 0, number, 0, CM, "h" * length)
    assert log.path.stat().st_size == sum(-(-(52 + length) // 64) * 64 for length in lengths)
    assert shown(opened(tmp_path)) == shown(log)
    assert [len(one.archive_endpoint) for one in log.entries] == list(lengths)
