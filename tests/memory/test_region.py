"""Mapped regions: life of the mapping, sizes, and what goes wrong."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from aerowire.base.errors import (
    ClosedError,
    MappedFileExistsError,
    MappedFileMissingError,
    StorageError,
    StorageSpaceError,
    TruncatedFileError,
)
from aerowire.memory.lost_pages import lost_pages as total_of_lost_pages
from aerowire.memory.region import Region, address_of, free_space


@pytest.mark.parametrize("sparse", [True, False])
def test_created_file_is_zeroed_and_shared(tmp_path: Path, sparse: bool) -> None:
    path = tmp_path / "file"
    with Region.create_file(path, 10_000, sparse) as region, Region.map_file(path) as other:
        assert bytes(region) == bytes(10_000)
        memoryview(region)[9_999] = 7
        assert memoryview(other)[9_999] == 7
        assert path.stat().st_size == len(region) == len(other) == 10_000


def test_allocated_file_owns_its_blocks(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with Region.create_file(path, 1 << 20, False):
        assert path.stat().st_blocks * 512 >= 1 << 20


@pytest.mark.parametrize("sparse", [True, False])
def test_full_file_system_is_found_before_anything_is_written(tmp_path: Path, sparse: bool) -> None:
    path = tmp_path / "file"
    with pytest.raises(StorageSpaceError, match="bytes free"):
        Region.create_file(path, free_space(tmp_path) + (1 << 30), sparse)
    assert not path.exists()


def test_a_sparse_file_may_be_longer_than_what_is_free_if_its_maker_does_not_ask(tmp_path: Path) -> None:
    path, length = tmp_path / "file", free_space(tmp_path) + (1 << 30)
    with Region.create_file(path, length, checks_space=False) as region:
        assert (len(region), path.stat().st_size) == (length, length)
    with pytest.raises(StorageSpaceError):
        Region.create_file(tmp_path / "other", length, False, checks_space=False)


def test_a_name_that_no_file_can_have_is_an_error_that_shows_it() -> None:
    with pytest.raises(StorageError, match=r"no file can have this name; at 'a\\x00b'"):
        Region.map_file("a\x00b")


def test_existing_and_missing_files_have_their_own_errors(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(MappedFileMissingError):
        Region.map_file(path)
    with pytest.raises(MappedFileMissingError):
        Region.create_file(tmp_path / "no" / "file", 4096)
    path.write_bytes(b"x")
    with pytest.raises(MappedFileExistsError):
        Region.create_file(path, 4096)
    assert path.read_bytes() == b"x"


def test_short_file_is_not_mapped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    with pytest.raises(TruncatedFileError, match="100 bytes"):
        Region.map_file(path, minimum_length=101)
    path.write_bytes(b"")
    with pytest.raises(TruncatedFileError):
        Region.map_file(path)


@pytest.mark.parametrize(("length", "lost_pages"), [(8191, 1), (4097, 1), (4096, 1), (4095, 2), (1, 2), (0, 2)])
def test_a_file_that_is_cut_while_mapped_has_lost_pages(tmp_path: Path, length: int, lost_pages: int) -> None:
    path = tmp_path / "file"
    with Region.create_file(path, 8192) as region:
        assert not region.find_cut()
        total = total_of_lost_pages()
        os.truncate(path, length)
        assert region.find_cut()
        assert region.find_cut()
        assert region.lost_pages == lost_pages
        assert total_of_lost_pages() == total + lost_pages
        assert f"a mapped file was cut short; at {path}; expected 8192 bytes; got {length} bytes" in str(region.lost_pages_error())


def test_a_file_that_was_deleted_replaced_or_grew_has_lost_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with Region.create_file(path, 8192) as region:
        os.truncate(path, 16384)
        assert not region.find_cut()
        path.unlink()
        assert not region.find_cut()
        path.write_bytes(b"another")
        assert not region.find_cut()
        assert region.lost_pages == 0
    assert not region.find_cut()
    with Region.anonymous(4096) as anonymous:
        assert not anonymous.find_cut()


def test_views_keep_the_pages_after_close(tmp_path: Path) -> None:
    region = Region.create_file(tmp_path / "file", 4096)
    view = memoryview(region)[100:200]
    region.close()
    region.close()
    del region
    gc.collect()
    view[0] = 42
    assert bytes(view) == b"\x2a" + bytes(99)


def test_closed_region_gives_no_more_views() -> None:
    region = Region.anonymous(4096)
    region.close()
    assert region.closed
    assert len(region) == 0
    with pytest.raises(ClosedError):
        memoryview(region)


def test_read_only_mapping_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(64))
    with Region.map_file(path, writable=False) as region:
        assert not region.writable
        with pytest.raises(TypeError):
            memoryview(region)[0] = 1


def test_mappings_are_aligned_to_pages_and_buffers_tell_their_address() -> None:
    with Region.anonymous(100) as region:
        assert address_of(region) % 4096 == 0
        assert address_of(memoryview(region)[8:]) == address_of(region) + 8
        region.pre_touch()


def test_a_cut_that_an_access_shows_has_the_error_of_one_that_the_length_shows(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with Region.create_file(path, 8192) as region:
        os.truncate(path, 4096)
        assert f"a mapped file was cut short; at {path}; expected 8192 bytes; got 4096 bytes" in str(region.lost_pages_error())
        assert region.lost_pages == 0
        assert region.find_cut()


def test_a_shared_region_is_open_until_each_handle_is_closed(tmp_path: Path) -> None:
    first = Region.create_file(tmp_path / "file", 4096)
    second = first.share()
    memoryview(first)[0] = 9
    first.close()
    assert (second.path, len(second), memoryview(second)[0]) == (str(tmp_path / "file"), 4096, 9)
    os.truncate(tmp_path / "file", 0)
    assert second.find_cut()
    second.close()
    with pytest.raises(ClosedError):
        second.share()


def test_a_part_that_the_collector_takes_apart_leaves_the_whole_mapped() -> None:
    whole = Region.anonymous(1 << 20)
    memoryview(whole)[:4] = b"kept"
    part = whole.first(4096)
    cycle: list[object] = [part]
    cycle.append(cycle)
    del part, cycle
    gc.collect()
    assert bytes(memoryview(whole)[:4]) == b"kept"
