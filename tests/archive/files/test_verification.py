"""The check of recordings against their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.verification import Verdict, Verification
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.system.file_system import FileSystem
from tests.support.recordings import TERM, RecordingWriter, write_catalog


def verified(directory: Path) -> Verdict:
    with OfflineCatalog(FileSystem(), directory) as catalog:
        (verdict,) = Verification(all_segments=True, is_dry=True, now_ms=1).verify(catalog)
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
