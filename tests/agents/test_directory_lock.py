"""One component at a time starts in a directory: which waits, for how long, and that nothing is left behind."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from aerowire.agents.directory_lock import DirectoryOwner, directory_lock
from aerowire.base.errors import AerowireError, StorageError
from aerowire.base.file_facts import HeldDirectory
from aerowire.system.ports import Ports

LONG_NS, SHORT_NS = 20_000_000_000, 20_000_000


class ActiveArchiveError(AerowireError):
    """Another archive is in the directory."""


ARCHIVE = DirectoryOwner(name="archive", option="aeron.archive.dir", active_error=ActiveArchiveError)


def lock(directory: Path, timeout_ns: int = LONG_NS) -> AbstractContextManager[HeldDirectory]:
    return directory_lock(directory, Ports.system(), owner=ARCHIVE, timeout_ns=timeout_ns)


def test_the_second_waits_for_its_time_and_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "archive"
    refused = r"another archive is being started .*within 0\.02 s.*choose another aeron\.archive\.dir"
    with lock(directory), pytest.raises(ActiveArchiveError, match=refused), lock(directory, SHORT_NS):
        pass
    with lock(directory, SHORT_NS):
        assert not list(directory.iterdir())


def test_who_waited_holds_the_directory_that_is_there_now(tmp_path: Path) -> None:
    directory = tmp_path / "archive"
    found: list[bool] = []

    def wait() -> None:
        with lock(directory):
            found.append(directory.is_dir())
            with pytest.raises(ActiveArchiveError), lock(directory, SHORT_NS):
                pass

    waiting = threading.Thread(target=wait)
    with lock(directory):
        waiting.start()
        shutil.rmtree(directory)
    waiting.join()
    assert found == [True]


def test_a_forked_child_does_not_keep_it(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with lock(tmp_path):
        child = os.fork()
        if child == 0:
            os.close(write_end)
            os.read(read_end, 1)
            os._exit(0)
    try:
        with lock(tmp_path, SHORT_NS):
            pass
    finally:
        os.close(write_end)
        os.close(read_end)
        assert os.waitpid(child, 0)[1] == 0


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"the archive directory cannot be made.*Not a directory"), lock(tmp_path / "file" / "archive"):
        pass
