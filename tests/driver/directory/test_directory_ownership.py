"""Whose directory a driver starts in and a client trusts, and files that are made where others may write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.errors import ForeignDirectoryError, StorageError
from aerowire.client import Aeron, save_error_log
from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.memory.region import Region

OPTIONS: dict[str, Any] = {"environ": {}, "threading_mode": "INVOKER", "term_buffer_length": "64k"}
STRANGER = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")


def launch(directory: str, **options: Any) -> MediaDriver:
    return MediaDriver.launch(aeron_dir=directory, **{**OPTIONS, **options})


@as_root
def test_a_driver_does_not_start_in_another_users_directory(aeron_dir: str) -> None:
    Path(aeron_dir).mkdir()
    os.chown(aeron_dir, STRANGER, STRANGER)
    with pytest.raises(ForeignDirectoryError, match=f"another user owns what this process would trust; at {aeron_dir}; expected user 0"):
        launch(aeron_dir)
    assert not any(Path(aeron_dir).iterdir())
    launch(aeron_dir, dir_shared=True).close()


@as_root
@pytest.mark.parametrize("name", ["publications", "images"])
def test_a_driver_does_not_use_another_users_folder_in_its_directory(aeron_dir: str, name: str) -> None:
    folder = Path(aeron_dir) / name
    folder.mkdir(parents=True)
    launch(aeron_dir).close()
    folder.rmdir()
    folder.symlink_to("/dev/shm")
    launch(aeron_dir).close()
    assert not folder.is_symlink()  # it is replaced, and nothing behind it is touched


@as_root
def test_a_driver_does_not_start_below_a_folder_that_another_user_may_rename(tmp_path: Path) -> None:
    os.chown(tmp_path, STRANGER, STRANGER)
    with pytest.raises(ForeignDirectoryError, match=f"others may replace the directory; at {tmp_path}/driver; expected {tmp_path} to be"):
        launch(str(tmp_path / "driver"))


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_driver_does_not_start_in_a_directory_that_others_may_write_to(aeron_dir: str, mode: int) -> None:
    Path(aeron_dir).mkdir()
    Path(aeron_dir).chmod(mode)
    with pytest.raises(
        ForeignDirectoryError, match=f"others may replace files in the directory; at {aeron_dir}; .*got mode {mode:04o} .hint: chmod go-w"
    ):
        launch(aeron_dir)
    if mode == 0o775:
        launch(aeron_dir, dir_shared=True).close()
    else:
        with pytest.raises(ForeignDirectoryError, match="hint: chmod o-w"):
            launch(aeron_dir, dir_shared=True)


def test_a_driver_does_not_follow_a_link_to_a_directory(aeron_dir: str, tmp_path: Path) -> None:
    Path(aeron_dir).symlink_to(tmp_path)
    try:
        with pytest.raises(ForeignDirectoryError, match=f"a symbolic link .* got a link to {tmp_path}"):
            launch(aeron_dir)
        assert not any(tmp_path.iterdir())
    finally:
        Path(aeron_dir).unlink()


def test_a_directory_is_made_for_its_owner_alone_to_change(aeron_dir: str) -> None:
    before = os.umask(0)
    try:
        launch(aeron_dir).close()
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o7777) for path in (Path(aeron_dir), *Path(aeron_dir).iterdir()) if path.is_dir()} == {"0o755"}


@as_root
def test_a_client_does_not_trust_another_users_driver(aeron_dir: str) -> None:
    with launch(aeron_dir, threading_mode="SHARED"):
        os.chown(f"{aeron_dir}/cnc.dat", STRANGER, STRANGER)
        with pytest.raises(ForeignDirectoryError, match=f"another user owns .*; at {aeron_dir}/cnc.dat"):
            Aeron.connect(aeron_dir, driver_timeout_ns="1s")
        Aeron.connect(aeron_dir, dir_shared=True).close()


def test_neither_client_nor_tool_follows_a_link_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(8192))
    (tmp_path / "cnc.dat").symlink_to(tmp_path / "file")
    with pytest.raises(ForeignDirectoryError, match="a symbolic link"):
        Aeron.connect(tmp_path, driver_timeout_ns="100ms")
    with pytest.raises(StorageError, match="links are not followed"):
        Region.map_file(tmp_path / "cnc.dat")


def with_an_error(aeron_dir: str) -> None:
    """Leave the directory of a driver that has ended with an error in its log."""
    launch(aeron_dir).close()
    with CncFile.map(f"{aeron_dir}/cnc.dat") as cnc:
        assert cnc.heartbeat_ms == CONSUMER_HEARTBEAT_CLOSED
        DistinctErrorLog(cnc.error_log_buffer).record("something", 1_700_000_000_000)


def test_a_saved_error_log_follows_no_link(aeron_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(time, "strftime", lambda *_: "STAMP")
    planted = Path(f"{aeron_dir}-STAMP-{os.getpid()}-error.log")
    planted.symlink_to(victim)
    with_an_error(aeron_dir)
    launch(aeron_dir).close()
    assert victim.read_text() == "precious"
    assert "something" in Path(f"{aeron_dir}-STAMP-{os.getpid()}-2-error.log").read_text()
    with_an_error(aeron_dir)
    saved = save_error_log(aeron_dir)
    assert saved == Path(f"{aeron_dir}-STAMP-{os.getpid()}-3-error.log")
    assert victim.read_text() == "precious"


def test_a_capture_neither_replaces_a_file_nor_follows_a_link(launch: Callable[..., Any], tmp_path: Path) -> None:
    victim = tmp_path / "victim.pcapng"
    victim.write_text("precious")
    link = tmp_path / "link.pcapng"
    link.symlink_to(victim)
    for path in (victim, link):
        with pytest.raises(StorageError, match=r"capture cannot be written.*File exists"):
            launch(capture=path)
    with pytest.raises(StorageError, match="capture cannot be written"):
        launch(capture=link, capture_overwrite=True)
    assert victim.read_text() == "precious"
    launch(capture=victim, capture_overwrite=True)
    assert victim.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
