"""A file that is updated in place: half an update is completed, a failed one counts as not done, and syncs follow the level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import FileError
from aerowire.cluster.files.updated_file import UpdatedFile
from aerowire.system.file_system import FileSystem

FILES = FileSystem()


def opened(directory: Path, *, writable: bool = True, sync_level: int = 0) -> UpdatedFile:
    return UpdatedFile(FILES, directory / "f", writable=writable, create=writable, sync_level=sync_level)


class Broken:
    """A file whose writes fail after some bytes."""

    def __init__(self, file: Any, length: int) -> None:
        self._file = file
        self._length = length

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write_all(self, offset: int, data: bytes) -> None:
        self._file.write_all(offset, data[: self._length])
        raise FileError("cannot write", where="f", number=5)


@pytest.mark.parametrize(("written", "found"), [(0, b"..aaaa.."), (1, b"..bbbb.."), (3, b"..bbbb.."), (4, b"..bbbb..")])
@pytest.mark.parametrize("writable", [False, True])
def test_half_an_update_is_completed(tmp_path: Path, written: int, found: bytes, writable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path)
    file.write_all(0, b"..aaaa..")
    with monkeypatch.context() as patch:
        patch.setattr(file, "_file", Broken(file._file, written))
        with pytest.raises(FileError):
            file.update(2, b"bbbb")
    again = opened(tmp_path, writable=writable)
    assert again.read(8) == found
    is_changed = writable and written > 0
    assert (tmp_path / "f").read_bytes() == (found if is_changed else b"..aaaa.."[:2] + b"bbbb"[:written] + b"aaaa"[written:] + b"..")
    again.close()
    assert (tmp_path / "f.update").exists() is not writable


def test_an_update_that_failed_is_taken_back_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path)
    file.write_all(0, b"aaaacccc")
    assert file.read(8) == b"aaaacccc"
    with monkeypatch.context() as patch:
        patch.setattr(file, "_file", Broken(file._file, 2))
        with pytest.raises(FileError):
            file.update(0, b"bbbb")
    file.update(4, b"dddd")
    assert opened(tmp_path, writable=False).read(8) == b"aaaadddd"
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(("level", "syncs"), [(0, []), (1, [True]), (2, [False])])
def test_a_file_is_synced_as_the_level_says(tmp_path: Path, level: int, syncs: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path, sync_level=level)
    seen: list[bool] = []

    class Watched(Broken):
        def write_all(self, offset: int, data: bytes) -> None:
            self._file.write_all(offset, data)

        def sync(self, *, data_only: bool = False) -> None:
            seen.append(data_only)

    monkeypatch.setattr(file, "_file", Watched(file._file, 0))
    file.write_all(0, b"aaaa")
    file.update(0, b"bbbb")
    assert seen == []
    file.force()
    assert seen == syncs
    file.update(0, b"cccc")
    assert seen == syncs
    file.update(0, b"dddd")  # whose record takes the place of that of an update that is not synced
    assert seen == syncs * 2


def test_a_file_that_was_not_read_keeps_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = opened(tmp_path)
    file.write_all(0, b"aaaa")
    monkeypatch.setattr(file, "_file", Broken(file._file, 2))
    with pytest.raises(FileError):
        file.update(0, b"bbbb")
    opened(tmp_path).close()
    assert opened(tmp_path).read(4) == b"bbbb"
