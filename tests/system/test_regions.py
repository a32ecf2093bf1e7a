"""Looks at mapped files beside mapping them: which file it is, whose, whether its lock is held."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from aerowire.base.errors import ForeignDirectoryError
from aerowire.system.regions import FileRegionPort


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with FileRegionPort().create(tmp_path / "file", 4096, sparse=True):
        return tmp_path / "file"


def test_another_file_of_a_name_has_another_identity(path: Path, tmp_path: Path) -> None:
    regions = FileRegionPort()
    first = regions.identity(path)
    path.rename(tmp_path / "renamed")
    with pytest.raises(FileNotFoundError):
        regions.identity(path)
    with regions.create(path, 4096, sparse=True):
        assert regions.identity(path) != first == regions.identity(tmp_path / "renamed")


def test_a_link_belongs_to_nobody_that_is_trusted(path: Path, tmp_path: Path) -> None:
    regions = FileRegionPort()
    regions.check_owner(path)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ForeignDirectoryError):
        regions.check_owner(tmp_path / "link")


def test_whether_a_lock_is_held_is_told_without_taking_it(path: Path, tmp_path: Path) -> None:
    regions = FileRegionPort()
    assert regions.is_locked(tmp_path / "missing") is None
    assert regions.is_locked(path) is False
    with path.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert regions.is_locked(path) is True
    assert regions.is_locked(path) is False


def test_a_file_is_opened_for_reading(path: Path) -> None:
    path.write_bytes(b"content")
    with FileRegionPort().open_file(path) as file:
        assert file.read() == b"content"
        assert not file.writable()
