"""`aerowire archive retention` and `aerowire archive unlock` as commands."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive
from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.client import Aeron
from aerowire.nodes import ArchivingMediaDriver
from aerowire.system.ports import Ports
from aerowire.tools.main import main
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog
from tests.support.waiting import wait_until

SEGMENT = 2 * TERM
CHANNEL = "aeron:ipc?term-length=64k"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Three recordings: 0 and 1 of three segment files each, stopped long ago and now; 2 is unfinished."""
    writers = [RecordingWriter(tmp_path, number) for number in range(3)]
    for writer in writers:
        while writer.position < 2 * SEGMENT + 1000:
            writer.message(b"x" * 1000)
        writer.stop = writer.position
    writers[2].stop = -1
    write_catalog(tmp_path, writers)
    for path in tmp_path.glob("0-*.rec"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return tmp_path


def run(*arguments: object) -> int:
    try:
        return main(["archive", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)


def starts(directory: Path) -> list[int]:
    with OfflineCatalog(Ports.system().files, directory) as catalog:
        return [one.start_position for one in catalog.entries]


def test_a_dry_run_changes_nothing_and_apply_removes_whole_files(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.iterdir()}
    assert run("retention", directory, 0, 1, "--keep", f"to-position:{SEGMENT + TERM}") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"recording 0 would begin at {SEGMENT:,}: 1 file, ")
    assert out[-1].endswith("--apply removes them")
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.iterdir()} == before
    assert run("retention", directory, 0, 1, "--keep", f"to-position:{SEGMENT + TERM}", "--apply", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["recording_id"], one["new_start_position"], one["segments"]) for one in told["removals"]] == [
        (0, SEGMENT, [0]),
        (1, SEGMENT, [0]),
    ]
    assert starts(directory) == [SEGMENT, SEGMENT, 0]
    assert sorted(path.name for path in directory.glob("0-*")) == [f"0-{SEGMENT}.rec", f"0-{2 * SEGMENT}.rec"]
    assert run("verify", directory, "-a", "--dry-run") == 0


def test_a_checksum_in_the_catalog_stays_right(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("checksum", directory, "CRC-32C", "-a") == 0
    assert run("retention", directory, 0, "--keep", f"to-position:{SEGMENT}", "--apply") == 0
    capsys.readouterr()
    assert run("verify", directory, 0, "-a", "-checksum", "CRC-32C", "--dry-run") == 0
    assert capsys.readouterr().out == "(recordingId=0) OK\n"


def test_the_age_is_that_of_the_last_write_and_the_tail_and_unfinished_recordings_stay(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in directory.glob("1-*.rec"):
        os.utime(path, (1 << 33, 1 << 33))  # later than the recording has stopped
    assert run("retention", directory, "--keep", "30d", "--apply") == 0
    captured = capsys.readouterr()
    assert "recording 2 is left as it is: it is unfinished: repair it first" in captured.err
    assert starts(directory) == [2 * SEGMENT, 2 * SEGMENT, 0]
    assert len(list(directory.glob("2-*.rec"))) == 3
    assert run("retention", directory, "--keep", "30d") == 0
    assert "would remove 0 files" in capsys.readouterr().out


def test_the_oldest_files_go_by_size(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("retention", directory, 0, 1, "--keep", "600k", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["recording_id"] for one in told["removals"]] == [0]
    assert told["dry_run"]
    assert run("retention", directory, "--keep", "1t") == 0


@pytest.mark.parametrize("text", ["30", "d", "-1d", "30y", "to-position", "1.5g"])
def test_what_is_to_be_kept_must_make_sense(directory: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert run("retention", directory, f"--keep={text}") == 2
    assert "expected an age as 30d, a size as 500g, or to-position:N" in capsys.readouterr().err


def test_a_running_archive_purges_and_keeps_the_tail_of_what_it_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {
        "control_channel_enabled": False,
        "replication_channel": "aeron:udp?endpoint=localhost:0",
        "segment_file_length": TERM,
        "low_storage_space_threshold": 0,
        "threading_mode": "SHARED",
    }
    directory = tmp_path / "archive"
    with (
        ArchivingMediaDriver.launch_embedded(archive_dir=str(directory), **options) as node,
        Aeron.connect(node.aeron_dir) as aeron,
        AeronArchive.connect(aeron=aeron, control_request_channel=CHANNEL, control_response_channel=CHANNEL) as client,
    ):
        recorded = client.add_continued_publication(CHANNEL, 1)
        for _ in range(200):
            recorded.publication.send(b"x" * 1000)
        end = client.await_recorded(recorded.recording_id, recorded.publication.position)
        assert run("retention", directory, "--keep", f"to-position:{end}") == 0
        assert client.get_start_position(recorded.recording_id) == 0
        assert run("retention", directory, "--keep", f"to-position:{end}", "--apply") == 0
        assert client.get_start_position(recorded.recording_id) == end - end % TERM
        wait_until(lambda: sorted(path.name for path in directory.glob("0-*.rec"))[0] == f"0-{end - end % TERM}.rec", "the files stay")
        assert client.get_recording_position(recorded.recording_id) == end
        assert run("unlock", directory) == 2
        assert f"process {os.getpid()} holds its lock" in capsys.readouterr().err


def test_unlock_tells_what_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("unlock", tmp_path) == 0
    assert capsys.readouterr().out == "nothing keeps others out\n"
    (tmp_path / "archive.lock").write_bytes(b"4194305 1\n".ljust(64))
    assert run("unlock", tmp_path, "--dry-run") == 0
    assert (tmp_path / "archive.lock").exists()
    assert run("unlock", tmp_path, "--json") == 0
    assert not (tmp_path / "archive.lock").exists()
    assert "the lock file of an archive that has ended" in capsys.readouterr().out
    assert run("unlock", tmp_path / "none") == 2
