"""A catalog on a disk that fails in every way has every operation that returned, as far as its sync level says."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import encode_entry
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from aerowire.system.file_system import FileSystem
from tests.archive.files.catalog_lives import DIRECTORY, live
from tests.archive.files.entries import entry

SEEDS = 8


@pytest.mark.parametrize(("sync_level", "loses_power"), [(0, False), (1, True), (2, True)])
def test_what_returned_is_there_after_a_crash(seed: int, sync_level: int, loses_power: bool) -> None:
    for number in range(SEEDS):
        live(seed + number, sync_level, loses_power=loses_power)


@pytest.mark.parametrize("sync_level", [1, 2])
def test_an_update_that_has_failed_is_completed_although_another_has_begun(sync_level: int) -> None:
    live(2742300310, sync_level, loses_power=True)  # killed between the two, after a torn write


def test_a_power_failure_without_syncs_leaves_a_catalog_that_can_be_used(seed: int) -> None:
    # Two lives of three lose all.
    assert sum(live(seed + number, 0, loses_power=True) for number in range(4 * SEEDS)) > 0


def test_an_operation_that_fails_changes_nothing_and_the_next_one_puts_the_file_right() -> None:
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=1)
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=1)
    catalog.add_recording(entry(stop_position=64))
    for faults in (DiskFaults(write_error=1.0), DiskFaults(sync_error=1.0)):
        disk.faults = faults
        for fail in (
            lambda: catalog.add_recording(entry(session_id=9)),
            lambda: catalog.set_stop_position(0, 96),
            lambda: catalog.change_state(0, RecordingState.DELETED),
            lambda: catalog.change_channel(0, "aeron:ipc", "aeron:ipc"),
        ):
            with pytest.raises(FileError):
                fail()
            assert (len(catalog), catalog.next_recording_id, catalog.stop_position(0)) == (1, 1, 64)
    disk.faults = DiskFaults()
    assert catalog.add_recording(entry(session_id=8)) == 1
    disk.lose_power()
    again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
    assert [(one.recording_id, one.session_id, one.stop_position) for one in again.entries()] == [(0, 5, 64), (1, 8, -1)]
    assert again.findings == []


def planted(tmp_path: Path, at: int, data: bytes) -> tuple[Catalog, list[str]]:
    """Write bytes into the file of a catalog of five recordings; return it, opened again, with what it found."""
    catalog = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    for number in range(5):
        catalog.add_recording(entry(session_id=number))
    catalog.close()
    with (tmp_path / "archive.catalog").open("r+b") as file:
        file.seek(at)
        file.write(data)
    again = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    texts = [str(finding).removeprefix(f"{tmp_path}/archive.catalog: ") for finding in again.findings]
    again.close()
    last = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    assert last.findings == [], "repaired once is repaired"
    return last, texts


LENGTH = len(encode_entry(entry(), 64))


@pytest.mark.parametrize(
    ("at", "data", "ids", "next_id", "finding"),
    [
        (32 + 4 * LENGTH + 112, bytes(80), [0, 1, 2, 3], 5, "offset 800: the last entry is incomplete, 192 bytes; removed"),
        (32 + 4 * LENGTH, bytes(64), [0, 1, 2, 3], 5, "offset 800: 3296 bytes behind the last entry are not all zeros"),
        (32 + 2 * LENGTH + 112, bytes(80), [0, 1, 3, 4], 5, "offset 416: the entry is incomplete or out of order; marked as deleted"),
        (32 + 2 * LENGTH + 48, b"\1", [0, 1, 3, 4], 5, "offset 416: the entry is incomplete or out of order; marked as deleted"),
        (32 + 4 * LENGTH + 32 + 71, b"\1", [0, 1, 2, 3], 5, "offset 800 (recording 4): the entry cannot be: mtuLength 16778624"),
        (32 + 2 * LENGTH + 32 + 40, b"\1", [0, 1, 3, 4], 5, "offset 416 (recording 2): the entry cannot be: recordingId 2"),
        (32 + 2 * LENGTH, bytes(LENGTH), [0, 1, 3, 4], 5, "offset 416: 192 bytes are no entry, but others follow"),
        (32 + LENGTH, bytes(2 * LENGTH), [0, 3, 4], 5, "offset 224: 384 bytes are no entry, but others follow"),
        (32 + LENGTH, b"\xff\xff\xff\x7f", [0, 2, 3, 4], 5, "offset 224: 192 bytes are no entry, but others follow"),
        (8, b"\2", [0, 1, 2, 3, 4], 5, "offset 8: the next recording id is 2, but the last one is 4; set to follow it"),
    ],
)  # fmt: skip
def test_what_is_torn_is_repaired_and_reported(tmp_path: Path, at: int, data: bytes, ids: list[int], next_id: int, finding: str) -> None:
    catalog, texts = planted(tmp_path, at, data)
    assert len(texts) == 1
    assert texts[0].startswith(finding)
    assert catalog.ids_from(0, 10) == ids
    assert [one.session_id for one in catalog.entries()] == ids
    assert catalog.add_recording(entry()) == next_id
