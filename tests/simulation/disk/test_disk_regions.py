"""Mapped files of a simulated disk: the same bytes as its files have, synced on their own, and lost like them."""

from __future__ import annotations

import pytest

from aerowire.base.errors import FileError, MappedFileExistsError, MappedFileMissingError, StorageSpaceError, TruncatedFileError
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.disk_regions import SimulatedRegions
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from tests.simulation.disk.ports import disk_of

PAGE = 4096
SEEDS = 100


def test_a_file_and_its_mappings_have_the_same_bytes() -> None:
    _, files, _ = disk_of()
    regions = SimulatedRegions(files)
    region = regions.create("/a", 3 * PAGE)
    other = regions.map("/a", minimum_length=3 * PAGE)
    memoryview(region)[5:8] = b"abc"
    with files.open("/a", writable=True) as file:
        assert file.read(5, 3) == bytes(memoryview(other)[5:8]) == b"abc"
        file.write(6, b"XY")
        assert bytes(memoryview(region)[5:8]) == bytes(memoryview(other)[5:8]) == b"aXY"
        assert len(region) == file.length() == 3 * PAGE
    assert (region.path, regions.exists("/a"), regions.page_size) == ("/a", True, PAGE)


def test_a_mapped_file_grows_and_is_mapped_again() -> None:
    _, files, _ = disk_of()
    regions = SimulatedRegions(files)
    region = regions.create("/a", PAGE)
    memoryview(region)[:3] = b"abc"
    with files.open("/a", writable=True) as file:
        file.truncate(10 * PAGE)
        grown = regions.map("/a")
        assert len(grown) == 10 * PAGE
        memoryview(region)[:3] = b"ABC"
        assert bytes(memoryview(grown)[:3]) == b"ABC"
        with pytest.raises(FileError, match="File too large"):
            file.truncate(1 << 27)


def test_what_is_written_to_a_mapping_is_kept_once_it_is_synced() -> None:
    found = set[bytes]()
    for seed in range(SEEDS):
        disk, files, _ = disk_of(seed, sector=PAGE)
        regions = SimulatedRegions(files)
        region = regions.create("/a", 2 * PAGE)
        files.sync_directory("/")
        memoryview(region)[:2] = b"12"
        regions.sync(region)
        with files.open("/a", writable=True) as file:
            file.sync()
        memoryview(region)[0:1], memoryview(region)[PAGE : PAGE + 1] = b"a", b"b"
        disk.lose_power()
        again = SimulatedRegions(SimulatedFiles(disk)).map("/a")
        assert bytes(memoryview(again)[1:2]) == b"2"
        found.add(bytes(memoryview(again)[0 : PAGE + 1 : PAGE]))
        assert bytes(memoryview(region)[:2]) == b"a2", "a dead process's mapping changed"
    assert found == {b"1\0", b"a\0", b"1b", b"ab"}


def test_a_sync_of_a_mapping_may_fail() -> None:
    disk, files, _ = disk_of()
    regions = SimulatedRegions(files)
    region = regions.create("/a", PAGE)
    disk.faults = DiskFaults(sync_error=1.0)
    with pytest.raises(FileError, match="cannot sync a mapped file"):
        regions.sync(region)


def test_errors_are_those_of_real_regions() -> None:
    _, files, _ = disk_of(capacity=4 * PAGE)
    regions = SimulatedRegions(files)
    regions.create("/a", PAGE)
    with pytest.raises(MappedFileExistsError):
        regions.create("/a", PAGE)
    with pytest.raises(MappedFileMissingError):
        regions.create("/none/a", PAGE)
    with pytest.raises(MappedFileMissingError):
        regions.map("/b")
    with pytest.raises(TruncatedFileError, match=f">= {2 * PAGE} bytes"):
        regions.map("/a", minimum_length=2 * PAGE)
    with pytest.raises(StorageSpaceError):
        regions.create("/b", 4 * PAGE)
    assert not regions.exists("/b")
    assert regions.free_space("/") == 3 * PAGE
    assert regions.delete("/a")
    assert not regions.delete("/a")


def test_a_file_has_an_identity_and_its_lock_is_seen_by_others() -> None:
    disk, files, _ = disk_of()
    regions = SimulatedRegions(files)
    regions.create("/a", PAGE)
    first = regions.identity("/a")
    assert (regions.is_locked("/a"), regions.is_locked("/b"), regions.is_locked("/")) == (False, None, None)
    file = files.open("/a")
    file.lock()
    other = SimulatedRegions(SimulatedFiles(disk))
    assert other.is_locked("/a")
    files.kill()
    assert not other.is_locked("/a")
    other.delete("/a")
    other.create("/a", PAGE)
    assert other.identity("/a") != first
    with pytest.raises(MappedFileMissingError):
        other.identity("/b")
