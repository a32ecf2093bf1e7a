"""A recording that is cut off has nothing behind its end, whatever fails or dies on the way."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.finding import Finding
from aerowire.archive.files.recovery import recover_recordings
from aerowire.archive.files.truncation import RECORD_FILE_NAME, cut_recording, finish_truncation
from aerowire.base.errors import FileError
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.archive.files.entries import TERM, entry

DIRECTORY = Path("/archive")
SEGMENT = 2 * TERM
STOP, POSITION = SEGMENT - 64, TERM + 96
FRAMES = bytes(range(1, 255)) * (SEGMENT // 254) + bytes(SEGMENT % 254)
TAIL = Finding(
    "/archive/0-0.rec", POSITION, f"frames are behind the stop position {POSITION}, of a truncation that was interrupted; removed", 0
)


def archive_on(disk: SimulatedDisk, sync_level: int = 1) -> Catalog:
    """Return a catalog of a recording that ends within its only segment."""
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=sync_level)
    catalog.add_recording(entry(stop_position=STOP, segment_file_length=SEGMENT))
    with files.open(DIRECTORY / "0-0.rec", writable=True, create=True) as file:
        file.write_all(0, FRAMES)
        file.sync()
    files.sync_directory(DIRECTORY)
    return catalog


def cut(catalog: Catalog, position: int = POSITION) -> None:
    found = catalog.entry(0)
    assert found is not None
    cut_recording(catalog, found, position, is_synced=catalog.sync_level > 0)


def segment(catalog: Catalog) -> bytes:
    with catalog.files.open(DIRECTORY / "0-0.rec") as file:
        return file.read(0, SEGMENT + 1)


def until(position: int) -> bytes:
    return FRAMES[:position].ljust(SEGMENT, b"\0")


@pytest.mark.parametrize(("sync_level", "loses_power"), [(0, False), (1, False), (1, True), (2, True)])
def test_a_crash_anywhere_leaves_all_of_a_recording_or_what_was_not_cut_off(seed: int, sync_level: int, loses_power: bool) -> None:
    ends = set()
    for count in range(1, 30):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + count)
        catalog = archive_on(disk, sync_level)
        catalog.files.kill_after(count)  # type: ignore[attr-defined]
        with contextlib.suppress(FileError):
            cut(catalog)
        if loses_power:
            disk.lose_power()
        catalog.files.kill()  # type: ignore[attr-defined]
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096, sync_level=sync_level)
        recover_recordings(again, 1)
        where = f"seed {seed + count}, {count} operations"
        end = again.stop_position(0)
        ends.add(end)
        assert segment(again) == (FRAMES if end == STOP else until(POSITION)), where
        assert not again.files.exists(DIRECTORY / RECORD_FILE_NAME), where
    assert ends == {STOP, POSITION}


def test_what_a_failing_disk_has_left_is_removed_by_the_next_start_although_the_catalog_has_changed_since() -> None:
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=1)
    catalog = archive_on(disk)
    fail_at_the_segment(catalog, disk)
    disk.faults = DiskFaults()
    catalog.add_recording(entry(stop_position=64))
    catalog.set_start_position(1, 32)
    disk.lose_power()
    again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096, sync_level=1)
    assert segment(again) != until(POSITION)
    assert recover_recordings(again, 1, dry_directory=DIRECTORY) == [TAIL]
    assert segment(again) != until(POSITION)
    assert recover_recordings(again, 1) == [TAIL]
    assert segment(again) == until(POSITION)
    assert recover_recordings(again, 1) == []


def test_a_failed_one_is_finished_before_the_next_begins() -> None:
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=1)
    catalog = archive_on(disk)
    fail_at_the_segment(catalog, disk)
    with pytest.raises(FileError):
        cut(catalog, 64)
    assert catalog.stop_position(0) == POSITION
    disk.faults = DiskFaults()
    cut(catalog, 64)
    disk.lose_power()
    again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096, sync_level=1)
    assert (again.stop_position(0), segment(again)) == (64, until(64))


def test_a_record_of_a_recording_that_went_on_or_is_gone_changes_nothing() -> None:
    for stop_position in (-1, POSITION + 32, POSITION - 32):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=1)
        catalog = archive_on(disk)
        fail_at_the_segment(catalog, disk)
        disk.faults = DiskFaults()
        left = segment(catalog)
        catalog.set_stop_position(0, stop_position)
        assert finish_truncation(catalog.files, DIRECTORY, catalog.entry) == []
        assert segment(catalog) == left
        assert not catalog.files.exists(DIRECTORY / RECORD_FILE_NAME)


def test_a_record_that_is_not_whole_is_of_a_truncation_that_has_not_begun() -> None:
    catalog = archive_on(SimulatedDisk(ManualClock(now_ns=1), seed=1))
    for data in (b"", bytes(19), bytes(4) + b"\1" * 16):
        with catalog.files.open(DIRECTORY / RECORD_FILE_NAME, writable=True, create=True) as file:
            file.write_all(0, data)
        assert finish_truncation(catalog.files, DIRECTORY, catalog.entry) == []
        assert not catalog.files.exists(DIRECTORY / RECORD_FILE_NAME)
    assert segment(catalog) == FRAMES


def fail_at_the_segment(catalog: Catalog, disk: SimulatedDisk) -> None:
    """Cut the recording off on a disk whose syncs fail once the catalog has the new end."""
    set_stop_position = catalog.set_stop_position

    def then_fail(recording_id: int, position: int) -> None:
        set_stop_position(recording_id, position)
        disk.faults = DiskFaults(sync_error=1.0)

    catalog.set_stop_position = then_fail  # type: ignore[method-assign, assignment]
    try:
        with pytest.raises(FileError):
            cut(catalog)
    finally:
        catalog.set_stop_position = set_stop_position  # type: ignore[method-assign]
