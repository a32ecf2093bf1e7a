"""A compaction that dies leaves every recording that is in use, with its segments."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.compaction import compact, plan_compaction
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.segments import list_segments
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.archive.files.entries import entry

DIRECTORY = Path("/archive")
CRC_32 = "org.agrona.checksum.Crc32"
COUNT, DELETED = 6, (1, 4)
KEPT = [recording_id for recording_id in range(COUNT) if recording_id not in DELETED]


def archive_on(disk: SimulatedDisk) -> None:
    """Leave a catalog of which two recordings were deleted by an Archive that was killed, and a segment of each recording."""
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=1)
    for recording_id in range(COUNT):
        catalog.add_recording(entry(stop_position=64, session_id=recording_id))
        with files.open(DIRECTORY / f"{recording_id}-0.rec", writable=True, create=True) as file:
            file.preallocate(4096)
            file.sync()
    files.sync_directory(DIRECTORY)
    for recording_id in DELETED:
        catalog.change_state(recording_id, RecordingState.DELETED)
    catalog.set_stop_position(COUNT - 1, 96)  # behind which the record of the update is left
    files.kill()


@pytest.mark.parametrize("loses_power", [False, True])
def test_a_crash_anywhere_loses_no_recording(seed: int, loses_power: bool) -> None:
    outcomes = set()
    for count in range(1, 40):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + count)
        archive_on(disk)
        files = SimulatedFiles(disk)
        files.kill_after(count)
        with contextlib.suppress(FileError), OfflineCatalog(files, DIRECTORY, writable=True) as catalog:
            compact(catalog, plan_compaction(catalog))
        if loses_power:
            disk.lose_power()
        files.kill()
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096, sync_level=1)
        where = f"seed {seed + count}, {count} operations: {[str(one) for one in again.findings]}"
        assert [(one.recording_id, one.session_id, one.stop_position) for one in again.entries()] == [
            (recording_id, recording_id, 96 if recording_id == COUNT - 1 else 64) for recording_id in KEPT
        ], where
        assert again.next_recording_id == COUNT, where
        assert set(list_segments(again.files, DIRECTORY)) >= set(KEPT), where
        with OfflineCatalog(again.files, DIRECTORY) as after:
            outcomes.add(len(after.entries))
    assert outcomes == {COUNT, len(KEPT)}


def test_half_an_update_is_completed_before_its_record_goes(seed: int) -> None:
    checksum = checksum_named(CRC_32)
    assert checksum is not None
    ends = set()
    for number in range(60):
        disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed + number)
        files = SimulatedFiles(disk)
        files.make_directory(DIRECTORY)
        files.sync_directory("/")
        catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=1, checksum=checksum)
        catalog.add_recording(entry(stop_position=1 << 40))
        files.kill_after(3)  # the record is written and synced, and a part of the entry written
        with contextlib.suppress(FileError):
            catalog.set_stop_position(0, 96)
        files.kill()
        with OfflineCatalog(SimulatedFiles(disk), DIRECTORY) as read:
            before = read.files.facts(DIRECTORY / "archive.catalog")
            (found,) = read.entries
            assert read.checksum_of(found, checksum) == found.checksum, f"seed {seed + number}"
            ends.add(found.stop_position)
            assert read.files.facts(DIRECTORY / "archive.catalog") == before
        with OfflineCatalog(SimulatedFiles(disk), DIRECTORY, writable=True) as changed:
            compact(changed, plan_compaction(changed))
        again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096, sync_level=1, checksum=checksum)
        with OfflineCatalog(again.files, DIRECTORY) as after:
            (kept,) = after.entries
            assert (kept.stop_position, after.checksum_of(kept, checksum)) == (found.stop_position, kept.checksum), f"seed {seed + number}"
    assert ends == {96, 1 << 40}
