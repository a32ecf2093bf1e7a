"""The check of recordings against their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.verification import Verdict, Verification
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.system.file_system import FileSystem
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog


def verified(directory: Path, *, is_dry: bool = True, **how: Any) -> Verdict:
    with OfflineCatalog(FileSystem(), directory, writable=not is_dry) as catalog:
        (verdict,) = Verification(all_segments=True, is_dry=is_dry, now_ms=1, **how).verify(catalog)
    return verdict


def whole_segment(directory: Path, stop: int) -> None:
    writer = RecordingWriter(directory, stop=stop)
    writer.frame(b"x" * 100, DataFlags.UNFRAGMENTED)
    writer.pad()
    writer.pad()
    assert writer.position == 2 * TERM
    write_catalog(directory, [writer])


@pytest.mark.parametrize("has_empty_file", [False, True])
def test_a_recording_may_end_with_its_last_file(tmp_path: Path, has_empty_file: bool) -> None:
    whole_segment(tmp_path, stop=2 * TERM)
    if has_empty_file:  # as the official archive leaves it
        (tmp_path / f"0-{2 * TERM}.rec").write_bytes(bytes(2 * TERM))
    assert verified(tmp_path) == Verdict(recording_id=0)


def test_a_stop_position_behind_the_last_file_is_a_fault(tmp_path: Path) -> None:
    whole_segment(tmp_path, stop=2 * TERM + 32)
    problem = verified(tmp_path).problem
    assert problem is not None
    assert problem.endswith(f"stopPosition={2 * TERM + 32} exceed max segment file position={2 * TERM - 1}")


@pytest.mark.parametrize("whole_frames", [0, 1])
def test_a_dry_run_that_would_cut_a_torn_frame_finds_what_is_left_sound(tmp_path: Path, whole_frames: int) -> None:
    crc = checksum_named("CRC-32C")
    assert crc is not None
    writer = RecordingWriter(tmp_path, mtu=8192)
    for _ in range(whole_frames):
        writer.frame(b"x" * 96, DataFlags.UNFRAGMENTED)
        writer.write(writer.position - 128 + 12, crc.compute(b"x" * 96).to_bytes(4, "little", signed=True))
    last = writer.position
    writer.frame(b"y" * 3000 + bytes(4520), DataFlags.UNFRAGMENTED)  # the page behind the first one is lost
    write_catalog(tmp_path, [writer])
    with OfflineCatalog(FileSystem(), tmp_path, writable=True) as catalog:
        catalog.set_checksum(catalog.entry(0), catalog.checksum_of(catalog.entry(0), crc))
    dry = verified(tmp_path, checksum=crc, cuts_torn=True)
    assert dry == verified(tmp_path, is_dry=False, checksum=crc, cuts_torn=True)
    assert (dry.problem, dry.is_cut, dry.stop_position) == (None, True, last)
    assert verified(tmp_path) == Verdict(recording_id=0)
