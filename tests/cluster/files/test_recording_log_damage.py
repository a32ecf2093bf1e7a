"""The recording log after writes that failed or were interrupted, and with damage that is told with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ClusterFileError, FileError
from tests.cluster.files.official_text import shown
from tests.cluster.files.recording_logs import CM, filled, opened


def test_a_change_that_fails_leaves_the_log_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(tmp_path)
    before, file = shown(log), log._file

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(file, name)

        def write_all(self, offset: int, data: bytes) -> None:
            file.write_all(offset, data[: len(data) // 2])
            raise FileError("cannot write", where="x", number=28)

    with monkeypatch.context() as patch:
        patch.setattr(log, "_file", Full())
        for append, endpoint in ((log.append_snapshot, []), (log.append_standby_snapshot, ["h" * 200])):
            with pytest.raises(FileError):
                append(9, 8, 1280, 1500, 0, 0, *endpoint)
            assert shown(log) == before
            assert shown(opened(tmp_path)) == before
    log.append_snapshot(9, 8, 1280, 1500, 0, 0)
    assert log.path.stat().st_size == 7 * 64
    assert shown(opened(tmp_path)) == shown(log)


@pytest.mark.parametrize("left", [1, 47, 48, 63])
def test_a_part_of_an_entry_at_the_end_is_replaced_by_the_next_one(tmp_path: Path, left: int) -> None:
    whole = filled(tmp_path)
    whole.append_snapshot(9, 8, 1280, 1500, 0, 0)
    data = whole.path.read_bytes()
    whole.path.write_bytes(data[: 6 * 64 + left])
    log = opened(tmp_path)
    assert [one.recording_id for one in log.entries] == [1, 2, 3, 4, 5, 1]
    log.append_snapshot(9, 8, 1280, 1500, 0, 0)
    assert log.path.read_bytes() == data


@pytest.mark.parametrize("endpoint", ["", "h:1", "h" * 200])
def test_a_part_of_an_entry_before_zeros_is_replaced_by_the_next_one(tmp_path: Path, endpoint: str) -> None:
    log = filled(tmp_path)
    before = len(log.path.read_bytes())
    if endpoint:
        log.append_standby_snapshot(9, 8, 1280, 1500, 3, 2, endpoint)
    else:
        log.append_snapshot(9, 8, 1280, 1500, 3, 2)
    whole = log.path.read_bytes()
    for written in range(1, 52 + len(endpoint) if endpoint else 44):
        log.path.write_bytes(whole[: before + written].ljust(len(whole), b"\0"))
        assert len(opened(tmp_path).entries) == 6, written


@pytest.mark.parametrize("tail", [bytes(64), bytes(128)])
def test_zeros_at_the_end_are_no_entry(tmp_path: Path, tail: bytes) -> None:
    path = filled(tmp_path).path
    data = path.read_bytes()
    path.write_bytes(data + tail)
    log = opened(tmp_path)
    assert [one.recording_id for one in log.entries] == [1, 2, 3, 4, 5, 1]
    log.append_term(1, 9, 2000, 0)
    log.commit_log_position(8, -1)
    assert path.read_bytes()[: len(data)] == data
    assert path.stat().st_size == len(data) + 64


@pytest.mark.parametrize(("unwritten", "kept"), [(0, 6), (1, 7), (2, 7)])
def test_a_log_ends_before_a_sector_that_an_interrupted_append_left_unwritten(tmp_path: Path, unwritten: int, kept: int) -> None:
    log = filled(tmp_path)
    log.append_snapshot(9, 8, 1280, 1500, 0, 0)
    log.append_standby_snapshot(10, 8, 1280, 1500, 0, CM, "h" * 1000)
    data = bytearray(log.path.read_bytes())
    start = (6 * 64, 512, 1024)[unwritten]
    end = (start // 512 + 1) * 512
    data[start:end] = bytes(end - start)
    log.path.write_bytes(data)
    again = opened(tmp_path)
    assert [one.entry_index for one in again.entries] == list(range(kept))
    again.append_term(1, 9, 2000, 0)
    assert again.path.stat().st_size == (kept + 1) * 64
    assert shown(opened(tmp_path)) == shown(again)


@pytest.mark.parametrize(
    ("at", "data", "message"),
    [
        (64 + 44, b"\7\0\0\0", "offset 108; expected the type of an entry; got 7"),
        (44, b"\1\1\0\0", "offset 44; expected the type of an entry; got 257"),
        (40, b"\5\0\0\0", "offset 40; expected -1, a term's service id; got 5"),
        (64, bytes(48), "offset 104; expected -1, a term's service id; got 0"),
        (64 * 5, b"\2", "offset 320; expected 1, the recording of all terms; got 2"),
        (64 + 8, b"\xff" * 8, "offset 72; expected a leadership term id of at least 0; got -1"),
        (64 + 24, b"\xfe" + b"\xff" * 7, "offset 88; expected a log position of at least -1; got -2"),
        (64 + 44, b"\2\0\0\0", "offset 112; expected the length of an endpoint within the file; got 0"),
        (64 + 44, b"\2\0\0\0\xff\xff\xff\xff", "offset 112; expected the length of an endpoint within the file; got -1"),
        (64 + 44, b"\2\0\0\0\0\2\0\0", "offset 112; expected the length of an endpoint within the file; got 512"),
        (64 + 44, b"\2\0\0\0\5\0\0\0", "offset 116; expected an endpoint in printable ASCII; got b'.x00"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path: Path, at: int, data: bytes, message: str) -> None:
    path = filled(tmp_path).path
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)
    with pytest.raises(ClusterFileError, match=f"the recording log is damaged; at {path}, {message}"):
        opened(tmp_path)


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "recording.log").open("wb") as file:
        file.truncate((1 << 26) + 1)
    with pytest.raises(ClusterFileError, match="expected 67108864 bytes at most; got 67108865 bytes"):
        opened(tmp_path)
