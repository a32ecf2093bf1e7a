"""Segments that are moved from one recording to another are of one of them, whatever fails, and stay there."""

from __future__ import annotations

import contextlib
from errno import EIO
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.segment_move import RECORD_FILE_NAME, SegmentMove, move_segments, recover_move
from aerowire.archive.files.segments import list_segments
from aerowire.base.errors import FileError
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.archive.files.entries import TERM, entry

DIRECTORY = Path("/archive")
SEGMENT, END = 2 * TERM, 6 * TERM
MOVE = SegmentMove(0, 1, 0, SEGMENT, 0, 2 * SEGMENT)
BEFORE, AFTER = {0: [0, SEGMENT], 1: [2 * SEGMENT]}, {1: [0, SEGMENT, 2 * SEGMENT]}


def archive_on(disk: SimulatedDisk, sync_level: int = 1) -> Catalog:
    """Return a catalog of two recordings, of which the second continues the first, with their segment files."""
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=sync_level)
    for recording_id, (start, stop) in enumerate(((0, 2 * SEGMENT), (2 * SEGMENT, END))):
        catalog.add_recording(entry(start_position=start, stop_position=stop, segment_file_length=SEGMENT))
        for position in range(start, stop, SEGMENT):
            with files.open(DIRECTORY / f"{recording_id}-{position}.rec", writable=True, create=True) as file:
                file.preallocate(SEGMENT)
                file.sync()
    files.sync_directory(DIRECTORY)
    return catalog


def positions(catalog: Catalog) -> list[tuple[int, int]]:
    return [(one.start_position, one.stop_position) for one in catalog.entries()]


def fail(*_: object, **__: object) -> None:
    raise FileError("cannot write", where=DIRECTORY, number=EIO)


@pytest.mark.parametrize("sync_level", [0, 1, 2])
def test_no_power_failure_undoes_a_move_of_segments_that_were_purged_since(seed: int, sync_level: int) -> None:
    for number in range(20):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + number)
        catalog = archive_on(disk, sync_level)
        move_segments(catalog, MOVE)
        catalog.set_start_position(1, SEGMENT)
        catalog.files.delete(DIRECTORY / "1-0.rec")
        disk.lose_power()
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
        where = f"seed {seed + number}"
        assert recover_move(again) == [], where
        start = again.start_position(1)
        assert start == SEGMENT or (start == 0 and sync_level == 0), where
        assert positions(again) == [(0, 0), (start, END)], where
        assert list_segments(again.files, DIRECTORY) in (AFTER, {1: [SEGMENT, 2 * SEGMENT]}), where


def test_a_move_that_the_destination_cannot_have_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = archive_on(SimulatedDisk(ManualClock(now_ns=1), seed=1))
    monkeypatch.setattr(catalog, "set_start_position", fail)
    with pytest.raises(FileError):
        move_segments(catalog, MOVE)
    assert positions(catalog) == [(0, 2 * SEGMENT), (2 * SEGMENT, END)]
    assert list_segments(catalog.files, DIRECTORY) == BEFORE
    assert not catalog.files.exists(DIRECTORY / RECORD_FILE_NAME)


def test_a_move_of_which_the_source_does_not_know_yet_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = archive_on(SimulatedDisk(ManualClock(now_ns=1), seed=1))
    with monkeypatch.context() as failing:
        failing.setattr(catalog, "set_stop_position", fail)
        with pytest.raises(FileError):
            move_segments(catalog, MOVE)
    assert list_segments(catalog.files, DIRECTORY) == AFTER
    (finding,) = recover_move(catalog)
    assert str(finding).endswith("completed")
    assert positions(catalog) == [(0, 0), (0, END)]
    assert not catalog.files.exists(DIRECTORY / RECORD_FILE_NAME)


def test_a_source_goes_on_from_where_it_is_empty_although_its_entry_could_not_be_written() -> None:
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=1)
    catalog = archive_on(disk)
    set_start, former = catalog.set_start_position, disk.faults

    def set_start_and_fail(recording_id: int, position: int) -> None:
        set_start(recording_id, position)
        disk.faults = DiskFaults(write_error=1.0)

    with pytest.MonkeyPatch.context() as failing:
        failing.setattr(catalog, "set_start_position", set_start_and_fail)
        with pytest.raises(FileError):
            move_segments(catalog, MOVE)
    disk.faults = former
    assert positions(catalog) == [(0, 0), (0, END)]
    catalog.extend_recording(0, 1, 2, 3)
    with catalog.files.open(DIRECTORY / "0-0.rec", writable=True, create=True) as file:
        file.preallocate(SEGMENT)
        file.sync()
    catalog.files.sync_directory(DIRECTORY)
    disk.lose_power()
    again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
    assert len(recover_move(again)) == 1
    assert positions(again) == [(0, -1), (0, END)]
    assert list_segments(again.files, DIRECTORY) == {0: [0], **AFTER}


@pytest.mark.parametrize("sync_level", [0, 1])
@pytest.mark.parametrize("move", [MOVE, SegmentMove(1, 0, 2 * SEGMENT, SEGMENT, 2 * SEGMENT, END)])
@pytest.mark.parametrize("loses_power", [False, True])
def test_a_crash_anywhere_leaves_all_segments_where_their_entry_is(
    seed: int, sync_level: int, move: SegmentMove, loses_power: bool
) -> None:
    outcomes = set()
    for count in range(1, 60):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + count)
        archive_on(disk, sync_level).close()
        files = SimulatedFiles(disk)
        files.kill_after(count)
        with contextlib.suppress(FileError):
            move_segments(Catalog.open(DIRECTORY, files, capacity=4096, sync_level=sync_level), move)
        if loses_power:
            disk.lose_power()
        files.kill()
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096, sync_level=sync_level)
        where = f"seed {seed + count}, {count} operations: {[str(one) for one in recover_move(again)]}"
        found = list_segments(again.files, DIRECTORY)
        assert {one.recording_id: [*range(one.start_position, one.stop_position, SEGMENT)] for one in again.entries()} == {
            0: found.get(0, []),
            1: found.get(1, []),
        }, where
        assert sum(map(len, found.values())) == 3, where
        outcomes.add(again.stop_position(move.source_id) - again.start_position(move.source_id))
    assert outcomes == {0, move.end - move.start}
