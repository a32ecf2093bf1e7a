"""Who takes over a driver's directory: the lock file tells of our drivers, process and heartbeat of others."""

from __future__ import annotations

import mmap
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from aerowire.agents.directory_lock import DirectoryOwner
from aerowire.agents.lock_file import LockFile
from aerowire.base.directory import LOCK_FILE_NAME
from aerowire.base.errors import ActiveDriverError, StorageError
from aerowire.codecs.flyweights.cnc import CncHeaderEncoder
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.system.ports import Ports
from aerowire.system.waiting import SystemWaiting
from tests.support.waiting import epoch_ms

OPTIONS: dict[str, Any] = {"environ": {}, "threading_mode": "INVOKER", "term_buffer_length": "64k"}


def launch(directory: str, **options: Any) -> MediaDriver:
    return MediaDriver.launch(aeron_dir=directory, **{**OPTIONS, **options})


def set_header(directory: str, **fields: int) -> None:
    with Path(directory, "cnc.dat").open("r+b") as file, mmap.mmap(file.fileno(), 4096) as header:
        for name, value in fields.items():
            setattr(CncHeaderEncoder(header, 0), name, value)


def hide_process(directory: str) -> int:
    """Give the directory's driver a process id that is not to be seen here, and return it."""
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    set_header(directory, pid=gone.pid)
    return gone.pid


def set_heartbeat(directory: str, heartbeat_ms: int) -> None:
    with CncFile.map(f"{directory}/cnc.dat") as cnc:
        cnc.to_driver.consumer_heartbeat_ms = heartbeat_ms


def leave_as_others_do(directory: str, *, age_ms: int) -> int:
    """Leave the directory of a dead driver of another implementation, whose heartbeat is that old; return when that was."""
    launch(directory).close()
    Path(directory, LOCK_FILE_NAME).unlink()
    heartbeat_ms = epoch_ms() - age_ms
    set_heartbeat(directory, heartbeat_ms)
    return heartbeat_ms


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that waits for the last driver fails."""

    def sleep(_waiting: SystemWaiting, _duration_ns: int) -> None:
        pytest.fail("the start waits")

    monkeypatch.setattr(SystemWaiting, "sleep", sleep)


class TestOurs:
    @pytest.mark.usefixtures("no_wait")
    @pytest.mark.parametrize("age_ms", [0, 3_000, 60_000])
    def test_a_driver_that_is_not_to_be_seen_lives_however_long_it_stalls(self, aeron_dir: str, age_ms: int) -> None:
        with launch(aeron_dir):
            pid = hide_process(aeron_dir)
            set_heartbeat(aeron_dir, epoch_ms() - age_ms)
            with pytest.raises(ActiveDriverError, match=f"pid {pid}"):
                launch(aeron_dir, timer_interval_ns="10ms")

    @pytest.mark.usefixtures("no_wait")
    def test_a_killed_driver_s_directory_is_free_at_once(self, aeron_dir: str) -> None:
        with MediaDriver.spawn(aeron_dir=aeron_dir, threading_mode="SHARED") as killed:
            killed.kill()
        launch(aeron_dir).close()

    @pytest.mark.usefixtures("no_wait")
    def test_a_driver_that_was_killed_while_it_started_blocks_nobody(self, aeron_dir: str) -> None:
        launch(aeron_dir).close()
        set_header(aeron_dir, version=0, pid=os.getppid())
        launch(aeron_dir).close()

    def test_a_start_that_fails_lets_go(self, aeron_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
        locks: list[LockFile] = []

        def lock(path: Path, owner: DirectoryOwner, ports: Ports) -> LockFile:
            locks.append(LockFile(path, owner, ports))
            return locks[0]

        monkeypatch.setattr("aerowire.driver.directory.driver_directory.LockFile", lock)
        with pytest.raises(StorageError):
            launch(aeron_dir, capture=f"{aeron_dir}/no/capture.pcapng")
        assert [lock._file for lock in locks] == [None]


class TestOthers:
    @pytest.mark.parametrize("is_beating", [True, False])
    def test_the_heartbeat_decides_where_the_process_is_not_to_be_seen(self, aeron_dir: str, *, is_beating: bool) -> None:
        heartbeat_ms = leave_as_others_do(aeron_dir, age_ms=500)
        pid = hide_process(aeron_dir)
        options = {"driver_timeout_ns": "10s" if is_beating else "1s", "timer_interval_ns": "10ms"}
        if is_beating:
            is_over = threading.Event()

            def beat() -> None:
                while not is_over.wait(0.3):  # seldom, for a timer of 10 ms
                    set_heartbeat(aeron_dir, epoch_ms())

            beats = threading.Thread(target=beat)
            beats.start()
            try:
                with pytest.raises(ActiveDriverError, match=f"pid {pid}"):
                    launch(aeron_dir, **options)
            finally:
                is_over.set()
                beats.join()
        else:
            launch(aeron_dir, **options).close()
            assert epoch_ms() >= heartbeat_ms + 1_000

    @pytest.mark.usefixtures("no_wait")
    def test_a_process_that_is_to_be_seen_lives_for_the_driver_timeout(self, aeron_dir: str) -> None:
        leave_as_others_do(aeron_dir, age_ms=1_000)
        with pytest.raises(ActiveDriverError, match=f"pid {os.getpid()}"):
            launch(aeron_dir)

    def test_a_process_that_is_to_be_seen_and_beats_no_more_is_dead(self, aeron_dir: str) -> None:
        leave_as_others_do(aeron_dir, age_ms=1_000)
        launch(aeron_dir, driver_timeout_ns="500ms").close()

    def test_a_process_that_beats_again_lives_though_the_clock_was_set_past_its_last_heartbeat(self, aeron_dir: str) -> None:
        leave_as_others_do(aeron_dir, age_ms=3_600_000)
        beat = threading.Timer(0.2, set_heartbeat, (aeron_dir, epoch_ms()))
        beat.start()
        with pytest.raises(ActiveDriverError, match=f"pid {os.getpid()}"):
            launch(aeron_dir)
        beat.join()

    def test_a_process_that_got_a_killed_driver_s_id_is_not_that_driver(self, aeron_dir: str) -> None:
        # As in a container that is started again: each time its first process is number 1.
        leave_as_others_do(aeron_dir, age_ms=0)
        set_header(aeron_dir, pid=os.getpid(), start_timestamp_ms=epoch_ms() - 86_400_000)
        launch(aeron_dir, driver_timeout_ns="200ms").close()

    @pytest.mark.parametrize("is_finished", [True, False])
    def test_a_start_that_is_not_to_be_seen_is_waited_for(self, aeron_dir: str, *, is_finished: bool) -> None:
        with launch(aeron_dir, threading_mode="SHARED", timer_interval_ns="20ms"):
            Path(aeron_dir, LOCK_FILE_NAME).unlink()
            pid = hide_process(aeron_dir)
            with CncFile.map(f"{aeron_dir}/cnc.dat", writable=False) as cnc:
                version = cnc.version
            set_header(aeron_dir, version=0)
            finishing = threading.Timer(0.1, set_header, (aeron_dir,), {"version": version})
            if is_finished:
                finishing.start()
                with pytest.raises(ActiveDriverError, match=f"pid {pid}"):
                    launch(aeron_dir)
                finishing.join()
            else:
                launch(aeron_dir, driver_timeout_ns="100ms").close()
