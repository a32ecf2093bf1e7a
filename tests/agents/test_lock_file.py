"""The lock file of a component is held exactly as long as the component lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from errno import EOPNOTSUPP
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from aerowire.agents.directory_lock import DirectoryOwner
from aerowire.agents.lock_file import LockFile
from aerowire.base.errors import AerowireError, StorageError, file_error
from aerowire.system.file_locks import is_held
from aerowire.system.file_system import FileSystem
from aerowire.system.ports import Ports
from tests.support.waiting import wait_until

ARCHIVE = DirectoryOwner(name="archive", option="aeron.archive.dir", active_error=AerowireError)
NAME = "archive.lock"


def test_is_held_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / NAME
    assert is_held(path) is None
    lock = LockFile(path, ARCHIVE, Ports.system())
    assert is_held(path) is True
    lock.release()
    lock.release()
    assert is_held(path) is False


def test_is_free_when_its_process_was_killed(tmp_path: Path) -> None:
    path = tmp_path / NAME
    code = f"""
import time
from pathlib import Path
from aerowire.agents.directory_lock import DirectoryOwner
from aerowire.agents.lock_file import LockFile
from aerowire.system.ports import Ports
lock = LockFile(Path({str(path)!r}), DirectoryOwner(name="archive", option="aeron.archive.dir", active_error=OSError), Ports.system())
print("held", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(path) is True
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert is_held(path) is False


def test_does_not_outlive_its_process_in_a_forked_child(tmp_path: Path) -> None:
    path = tmp_path / NAME
    lock = LockFile(path, ARCHIVE, Ports.system())
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write_end)
        os.read(read_end, 1)
        os._exit(0)
    try:
        assert is_held(path) is True
        lock._close()  # without a word to the lock, as the system does when the process is killed
        wait_until(lambda: not is_held(path), "the child has not run its handler")
    finally:
        os.close(write_end)
        os.close(read_end)
        assert os.waitpid(child, 0)[1] == 0


def without_locks() -> Any:
    """Return a file system whose files cannot be locked."""
    system = FileSystem()

    def open_file(path: Path, **options: bool) -> Any:
        file = Mock(wraps=system.open(path, **options))
        file.lock.side_effect = file_error("cannot lock a file", path, EOPNOTSUPP)
        return file

    return Mock(wraps=system, open=open_file)


def test_a_file_that_cannot_be_locked_is_told_and_not_left(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"the archive directory cannot be made.*not supported.*choose another aeron\.archive\.dir"):
        LockFile(tmp_path / NAME, ARCHIVE, replace(Ports.system(), files=without_locks()))
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_already_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("another's")
    with pytest.raises(StorageError, match="File exists"):
        LockFile(path, ARCHIVE, Ports.system())
    assert path.read_text() == "another's"


def test_a_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        LockFile(tmp_path / "none" / NAME, ARCHIVE, Ports.system())
