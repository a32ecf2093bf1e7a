"""What the commands on an Archive's directory do beyond the official tool, and with directories that are not as they should be."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.system.ports import Ports
from aerowire.tools.main import main
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

WRITING = [
    ["verify"],
    ["checksum", "CRC-32"],
    ["mark-valid", "3"],
    ["mark-invalid", "3"],
    ["compact", "--yes"],
    ["delete-orphaned-segments", "--yes"],
    ["migrate", "--yes"],
    ["capacity", "100000"],
]


@pytest.fixture
def directory(golden_archives: Path, tmp_path: Path) -> Path:
    return shutil.copytree(golden_archives / "seg64k-orderly" / "archive-dir", tmp_path / "archive")


def run(*arguments: object) -> int:
    try:
        return main(["archive", *map(str, arguments)])
    except SystemExit as ended:
        return int(ended.code or 0)


def mark_file(directory: Path) -> ArchiveMarkFile:
    details = ArchiveDetails(
        archive_id=1,
        control_channel="",
        control_stream_id=10,
        local_control_channel="",
        local_control_stream_id=10,
        events_channel="",
        events_stream_id=30,
        aeron_directory=str(directory / "no-driver"),
    )
    return ArchiveMarkFile.create(directory, directory, details, Ports.system(), error_buffer_length=1 << 20)


@pytest.mark.parametrize("arguments", WRITING, ids=lambda arguments: arguments[0])
def test_a_directory_that_an_archive_uses_is_not_written_to(
    directory: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    mark = mark_file(directory)
    mark.signal_ready(Ports.system().clock.now_ms())
    before = (directory / "archive.catalog").read_bytes()
    command = [arguments[0], directory, *arguments[1:]]
    assert run(*command) == 2
    assert "a live archive owns the directory" in capsys.readouterr().err
    assert (directory / "archive.catalog").read_bytes() == before
    if arguments[0] != "migrate":
        assert run(arguments[0], directory, *arguments[1:], "--dry-run") == 0
        assert (directory / "archive.catalog").read_bytes() == before
    mark.close()
    assert run(*command) in (0, 1)


def test_the_list_is_a_table_of_valid_recordings_or_of_all(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", directory) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0].split()[:5], len(lines)) == (["id", "state", "start", "stop", "files"], 16)
    row = lines[13].split()
    assert (row[:5], row[9]) == (["13", "valid", "0", "0", "1"], "1022")
    assert run("list", directory, "--all", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["recordings"]
    assert [row["state"] for row in rows if row["recording_id"] in (6, 7)] == ["VALID", "DELETED"]
    assert rows[6]["segments"] == [0, 65536, 131072, 196608, 262144]
    assert rows[6]["duration_ms"] == rows[6]["stop_timestamp_ms"] - rows[6]["start_timestamp_ms"]
    assert run("list", directory, 3, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["recordings"]
    assert (row["recording_id"], row["activity"], row["position"]) == (3, "valid", row["stop_position"])


def test_the_list_of_a_running_archive_has_what_is_recorded_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(tmp_path / "archive")
    rig.record(2)
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    assert run("list", rig.directory, "--json") == 0
    stopped, active = json.loads(capsys.readouterr().out)["recordings"]
    assert (stopped["activity"], active["activity"], active["position"]) == ("valid", "recording", end)
    assert active["length_on_disk"] >= end
    copy = shutil.copytree(rig.directory, tmp_path / "as-after-a-kill", ignore=lambda *_: ["archive.lock", "archive-mark.dat"])
    rig.close()
    assert run("list", copy, "--json") == 0
    stopped, active = json.loads(capsys.readouterr().out)["recordings"]
    assert (stopped["activity"], active["activity"], active["position"]) == ("valid", "unfinished", None)


INSPECTING = [
    ["describe"],
    ["describe", "3"],
    ["describe-all"],
    ["list", "--all"],
    ["dump", "2"],
    ["errors"],
    ["pid"],
    ["count-entries"],
    ["max-entries"],
    ["capacity"],
    ["verify", "-a", "--truncate", "--dry-run"],
    ["checksum", "CRC-32C", "-a", "--dry-run"],
    ["mark-valid", "3", "--dry-run"],
    ["mark-invalid", "3", "--dry-run"],
    ["compact", "--dry-run"],
    ["delete-orphaned-segments", "--dry-run"],
    ["migrate", "--dry-run"],
]


def facts_of(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in directory.iterdir()}


@pytest.mark.parametrize("arguments", INSPECTING, ids=" ".join)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_inspection_changes_no_file(directory: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], form: list[str]) -> None:
    before = facts_of(directory)
    assert run(arguments[0], directory, *arguments[1:], *form) in (0, 1)
    assert facts_of(directory) == before
    if form:
        for line in capsys.readouterr().out.splitlines():
            json.loads(line)


def test_changes_are_told_as_json(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*arguments: object) -> object:
        assert run(*arguments, "--json") == 0
        return json.loads(capsys.readouterr().out)

    assert shown("max-entries", directory) == {"max_entries": None}
    assert shown("mark-invalid", directory, 3) == {"recording_id": 3, "old_state": "VALID", "state": "INVALID", "dry_run": False}
    assert shown("mark-invalid", directory, 3) == {"recording_id": 3, "old_state": "INVALID", "state": "INVALID", "dry_run": False}
    assert shown("mark-valid", directory, 3, "--dry-run") == {"recording_id": 3, "old_state": "INVALID", "state": "VALID", "dry_run": True}
    assert shown("migrate", directory, "--yes") == {"steps": [], "dry_run": False}
    assert shown("checksum", directory, "CRC-32", 6) == {
        "checksum": "CRC-32",
        "recordings": [{"recording_id": 6, "problem": None}],
        "dry_run": False,
    }


def test_errors_of_the_archive_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark = mark_file(tmp_path)
    mark.signal_ready(1)
    DistinctErrorLog(mark.error_log_buffer).record("the disk\nis on fire", 1_700_000_000_000)
    assert run("errors", tmp_path) == 0
    out = capsys.readouterr().out
    assert "1 observations from" in out
    assert " the disk\n is on fire\n\n1 distinct errors observed" in out
    assert run("errors", tmp_path, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["text"] for one in shown["errors"]] == ["the disk\nis on fire"]
    assert "no-driver" in shown["driver"]["unreadable"]
    mark.close()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_what_cannot_be_undone_is_asked_for(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    before = (directory / "archive.catalog").read_bytes()
    assert run("compact", directory) == code
    assert "Continue? (y/n): " in capsys.readouterr().err
    assert ((directory / "archive.catalog").read_bytes() == before) == bool(code)


def test_a_recording_that_ends_with_its_segment_is_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = RecordingWriter(tmp_path, segment_length=TERM)
    writer.message(b"x" * 100)
    writer.pad()
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    assert run("verify", tmp_path, "-a") == 0
    assert capsys.readouterr().out == "(recordingId=0) OK\n"
    writer.stop += 32
    write_catalog(tmp_path, [writer])
    assert run("verify", tmp_path) == 1
    assert f"stopPosition={TERM + 32} exceed max segment file position={TERM - 1}" in capsys.readouterr().out


def test_a_torn_last_frame_is_removed_only_when_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = RecordingWriter(tmp_path, mtu=8192)
    writer.message(b"x" * 100)
    last = writer.position
    writer.message(b"y" * 3000 + bytes(4500))
    write_catalog(tmp_path, [writer])
    assert run("verify", tmp_path, "--dry-run", "--truncate") == 0
    assert capsys.readouterr().out == f"(recordingId=0) OK\n(recordingId=0) would get stopPosition={last}\n"
    assert run("verify", tmp_path, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["recordings"]
    assert (found["new_stop_position"], found["is_truncated"], found["torn_file"]) == (writer.position, False, f"{tmp_path}/0-0.rec")
    assert run("verify", tmp_path, "--truncate") == 0
    assert "straddles a page boundary, and is removed" in capsys.readouterr().err
    assert not any((tmp_path / "0-0.rec").read_bytes()[last:])


def test_a_faulty_segment_is_told_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = RecordingWriter(tmp_path)
    writer.message(b"x" * 100)
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    writer.write(16, b"\1\0\0\0")
    assert run("verify", tmp_path) == 1
    assert capsys.readouterr().out == (
        f"(recordingId=0, file={tmp_path}/0-0.rec) ERR: fragment termOffset=0 (expected=0), termId=7 (expected=7), "
        "streamId=1 (expected=1001)\n"
    )
    writer.write(16, (1001).to_bytes(4, "little"))
    assert run("verify", tmp_path) == 0
    assert capsys.readouterr().out == "(recordingId=0) OK\n"
    assert run("count-entries", tmp_path) == 0
    assert capsys.readouterr().out == "1\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is no catalog; at {path}, offset 0; expected 32 bytes at least; got 0 bytes"),
        (bytes(64), "the file is no catalog; at {path}, offset 0; expected 32 bytes at least; got zeros"),
        (b"\0\0\2\0" + bytes(28), "the catalog is of another version; at {path}, offset 0; expected 3.1.0 or another 3.x; got 2.0.0"),
    ],
)
def test_a_file_that_is_no_catalog_is_told_with_offset_and_what_was_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    path = tmp_path / "archive.catalog"
    path.write_bytes(content)
    assert run("describe", tmp_path) == 2
    assert message.format(path=path) in capsys.readouterr().err


def test_entries_before_a_damaged_one_are_shown(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (directory / "archive.catalog").open("r+b") as file:
        file.seek(32 + 3 * 256)
        file.write(b"\7\0\0\0")
    assert run("count-entries", directory) == 1
    captured = capsys.readouterr()
    assert captured.out == "3\n"
    assert "offset 800: catalog entry of 7 bytes, expected 80 to" in captured.err
    assert run("compact", directory, "--yes") == 2
    assert "compaction would lose entries" in capsys.readouterr().err


def test_a_recording_that_is_not_there_is_told(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["describe"], ["verify"], ["checksum", "CRC-32"], ["mark-valid"], ["delete-orphaned-segments", "--yes"]):
        assert (
            run(command[0], directory, *[one for one in command[1:] if one != "--yes"], 99, *[one for one in command if one == "--yes"])
            == 2
        )
        assert "recording 99" in capsys.readouterr().err


def test_wrong_arguments_are_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("describe", directory, "-5") == 2
    assert run("checksum", directory, "CRC-64") == 2
    assert "expected CRC-32 or" in capsys.readouterr().err
    assert run("capacity", directory, 1 << 31) == 2
    assert "cannot have this capacity" in capsys.readouterr().err
