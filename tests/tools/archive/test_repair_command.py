"""`aerowire archive repair` as a command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.tools.main import main
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog


def run(*arguments: object) -> int:
    return main(["archive", *map(str, arguments)])


def test_tells_what_is_lost_before_it_repairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = RecordingWriter(tmp_path)
    for _ in range(300):
        writer.message(b"x" * 1000)
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    (tmp_path / "0-0.rec").unlink()
    before = (tmp_path / "archive.catalog").read_bytes()
    assert run("repair", tmp_path) == 1
    line, total = capsys.readouterr().out.splitlines()
    assert line == (
        f"to repair  {tmp_path}/archive.catalog: offset 32 (recording 0): the files before position 131072 are missing; it begins there, "
        "131072 bytes are lost"
    )
    assert total == "1 to repair; --apply does it; 131,072 bytes of recordings are lost"
    assert (tmp_path / "archive.catalog").read_bytes() == before
    assert run("repair", tmp_path, "--apply", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["lost_bytes"], told["dry_run"], [one["recording_id"] for one in told["repairs"]]) == (131072, False, [0])
    assert run("repair", tmp_path) == 0
    assert capsys.readouterr().out == "nothing to repair\n"
    assert run("verify", tmp_path, "-a", "--dry-run") == 0


def test_a_recording_that_ends_with_a_segment_file_is_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = RecordingWriter(tmp_path)
    writer.frame(b"x" * 100, DataFlags.UNFRAGMENTED)
    writer.pad()
    writer.pad()
    writer.stop = writer.position
    assert writer.position == 2 * TERM
    write_catalog(tmp_path, [writer])
    assert run("repair", tmp_path) == 0
    assert run("verify", tmp_path, "-a") == 0
    assert "(recordingId=0) OK" in capsys.readouterr().out


def test_the_copy_of_a_running_archive_s_files_is_made_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(tmp_path / "archive")
    stopped, stopped_end = rig.record(80)
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    active = rig.started()
    end = rig.offer(publication, 100)
    rig.run(lambda: rig.client.get_recording_position(active) == end)
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(rig.directory / "archive.catalog", copy)
    rig.offer(publication, 70)  # between the copies of catalog and files
    for path in rig.directory.glob("*.rec"):
        shutil.copy(path, copy)
    rig.close()
    assert run("repair", copy, "--apply") == 0
    assert run("verify", copy, "-a", "--dry-run") == 0
    capsys.readouterr()
    assert run("list", copy, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["recordings"]
    assert [(one["recording_id"], one["position"] >= least) for one, least in zip(rows, (stopped_end, end), strict=True)] == [
        (stopped, True),
        (active, True),
    ]
