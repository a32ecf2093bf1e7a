"""Files and their locks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aerowire.system.file_locks import lock, unlock_and_close
from aerowire.system.files import LogFile, close, identity_of, open_output, read_start


class TestOutput:
    def write(self, path: Path, overwrites: bool) -> None:
        descriptor = open_output(str(path), overwrites)
        os.write(descriptor, b"new")
        close(descriptor)

    def test_a_new_file_is_written(self, tmp_path: Path) -> None:
        self.write(tmp_path / "out", overwrites=False)
        assert (tmp_path / "out").read_bytes() == b"new"

    def test_an_old_file_is_kept_unless_it_may_be_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"an older one")
        with pytest.raises(FileExistsError):
            self.write(path, overwrites=False)
        assert path.read_bytes() == b"an older one"
        self.write(path, overwrites=True)
        assert path.read_bytes() == b"new"

    def test_those_who_have_the_old_file_open_keep_it(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"an older one")
        with path.open("rb") as reader:
            self.write(path, overwrites=True)
            assert reader.read() == b"an older one"

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target", tmp_path / "link"
        target.write_bytes(b"another's")
        link.symlink_to(target)
        with pytest.raises(FileExistsError):
            self.write(link, overwrites=True)
        assert target.read_bytes() == b"another's"

    def test_a_pipe_is_written_to(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.write(path, overwrites=False)
        assert os.read(reader, 16) == b"new"
        os.close(reader)


class TestStartOfFile:
    def test_no_more_than_asked_for(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_bytes(b"0123456789")
        assert read_start(path, 4) == b"0123"
        assert read_start(path, 100) == b"0123456789"

    def test_no_file_has_no_bytes(self, tmp_path: Path) -> None:
        assert read_start(tmp_path / "file", 4) == b""

    def test_a_link_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"0123")
        (tmp_path / "link").symlink_to(tmp_path / "file")
        with pytest.raises(OSError, match="symbolic link"):
            read_start(tmp_path / "link", 4)

    def test_a_pipe_without_a_writer_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert read_start(tmp_path / "pipe", 4) == b""


def test_identity_follows_the_file_and_not_its_name(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"")
    second.write_bytes(b"")
    identity = identity_of(first)
    assert identity_of(second) != identity
    first.rename(tmp_path / "renamed")
    assert identity_of(tmp_path / "renamed") == identity


def test_the_last_reference_closes_a_log_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123")
    file = LogFile(path)
    descriptor = file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


class TestLocks:
    def test_two_holders_exclude_each_other(self, tmp_path: Path) -> None:
        first = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
        second = os.open(tmp_path / "lock", os.O_RDWR)
        lock(first)
        with pytest.raises(BlockingIOError):
            lock(second)
        unlock_and_close(first)
        lock(second)
        unlock_and_close(second)

    def test_a_copy_of_the_descriptor_does_not_keep_the_lock(self, tmp_path: Path) -> None:
        held = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
        copy = os.dup(held)
        lock(held)
        unlock_and_close(held)
        other = os.open(tmp_path / "lock", os.O_RDWR)
        lock(other)
        unlock_and_close(other)
        close(copy)
