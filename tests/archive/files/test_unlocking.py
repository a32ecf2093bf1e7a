"""A dead Archive's mark file and lock file are set right, a living one's never."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.archive.files.mark_header import read_mark_file
from aerowire.archive.files.unlocking import unlock
from aerowire.base.errors import ActiveArchiveError
from aerowire.codecs.flyweights.archive_files import CATALOG_VERSION
from aerowire.system.ports import Ports

DEAD_PID = (1 << 22) + 1  # more than Linux gives
_ACTIVITY, _START, _PID, _VERSION = 16, 24, 32, 8


def mark(directory: Path) -> ArchiveMarkFile:
    names = {"control_channel": "aeron:ipc", "local_control_channel": "", "events_channel": "", "aeron_directory": "none"}
    details = ArchiveDetails(archive_id=1, control_stream_id=10, local_control_stream_id=10, events_stream_id=30, **names)
    return ArchiveMarkFile.create(directory, directory, details, Ports.system(), error_buffer_length=1 << 20)


def dead(directory: Path, *, version: int = CATALOG_VERSION, activity_ms: int = 1_700_000_000_000) -> Path:
    """Leave what an Archive leaves that was killed."""
    mark(directory).close()
    path = directory / "archive-mark.dat"
    with path.open("r+b") as file:
        for offset, form, value in ((_VERSION, "<i", version), (_ACTIVITY, "<q", activity_ms), (_PID, "<q", DEAD_PID)):
            file.seek(offset)
            file.write(struct.pack(form, value))
    (directory / "archive.lock").write_bytes(f"{DEAD_PID} {activity_ms}\n".encode().ljust(64))
    return path


@pytest.mark.parametrize("version", [CATALOG_VERSION, 0])
def test_a_dead_archive_is_marked_as_ended(tmp_path: Path, version: int) -> None:
    path = dead(tmp_path, version=version)
    before = path.read_bytes()
    found = unlock(tmp_path, Ports.system(), is_dry=True)
    assert path.read_bytes() == before
    assert (tmp_path / "archive.lock").exists()
    assert unlock(tmp_path, Ports.system()) == found
    state = "running archive" if version else "archive that is starting"
    assert [one.text for one in found] == [
        f"the mark file shows {'a' if version else 'an'} {state}, process {DEAD_PID}, which has ended",
        "the lock file of an archive that has ended",
    ]
    header, _ = read_mark_file(Ports.system().files, path)
    assert (header.activity_timestamp_ms, header.version, header.pid) == (-1, CATALOG_VERSION, DEAD_PID)
    assert not (tmp_path / "archive.lock").exists()
    assert unlock(tmp_path, Ports.system()) == []


@pytest.mark.parametrize("is_dry", [True, False])
def test_a_living_archive_is_named_and_left_alone(tmp_path: Path, is_dry: bool) -> None:
    living = mark(tmp_path)
    living.signal_ready(Ports.system().clock.now_ms())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ActiveArchiveError, match=f"process {os.getpid()} holds its lock"):
        unlock(tmp_path, Ports.system(), is_dry=is_dry)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    living.close()


def test_a_directory_without_a_mark_file_stays_as_it_is(tmp_path: Path) -> None:
    assert unlock(tmp_path, Ports.system()) == []
    assert list(tmp_path.iterdir()) == []
