"""The disk of a simulated machine as a RegionPort: handles, names and identities."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.base.errors import ClosedError, MappedFileMissingError, StorageError
from aerowire.simulation.regions import AnonymousRegions

PATH = Path("/disk/file")


@pytest.fixture
def regions() -> AnonymousRegions:
    return AnonymousRegions()


def test_each_mapping_is_a_handle_of_its_own_on_the_same_pages(regions: AnonymousRegions) -> None:
    made, mapped = regions.create(PATH, 4096), regions.map(PATH)
    memoryview(made)[7] = 1
    made.close()
    assert memoryview(mapped)[7] == 1
    mapped.close()
    with pytest.raises(ClosedError):
        memoryview(mapped)
    assert memoryview(regions.map(PATH))[7] == 1


def test_a_deleted_region_stays_with_those_who_hold_it(regions: AnonymousRegions) -> None:
    held = regions.create(PATH, 4096)
    assert regions.delete(PATH)
    assert not regions.delete(PATH)
    memoryview(held)[0] = 5
    assert memoryview(held)[0] == 5
    with pytest.raises(MappedFileMissingError):
        regions.map(PATH)


def test_another_region_of_a_name_has_another_identity(regions: AnonymousRegions) -> None:
    regions.create(PATH, 4096)
    first = regions.identity(PATH)
    assert regions.identity(PATH) == first
    regions.delete(PATH)
    with pytest.raises(FileNotFoundError):
        regions.identity(PATH)
    regions.create(PATH, 4096)
    assert regions.identity(PATH) != first


def test_what_only_files_have_is_absent(regions: AnonymousRegions) -> None:
    regions.create(PATH, 4096)
    regions.check_owner(PATH)
    assert regions.is_locked(PATH) is None
    with pytest.raises(StorageError, match="there is no file behind this memory"):
        regions.open_file(PATH)
