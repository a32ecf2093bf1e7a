"""The commands on directories of the official Archive print what the official tool printed, and leave the bytes that it left."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import RecordingEntry, decode_entry
from aerowire.recordings.catalog_layout import CatalogHeader, entry_places
from aerowire.tools.main import main
from tests.support.snapshots import GOLDEN_NAMES

TIME_LINE = re.compile(r"\d\d:\d\d:\d\d \(start: ")
CLASS = "io.aeron.archive.checksum.Crc32c"


@pytest.fixture(params=GOLDEN_NAMES)
def golden(request: pytest.FixtureRequest, golden_archives: Path) -> Path:
    return golden_archives / str(request.param)


@pytest.fixture
def directory(golden: Path, tmp_path: Path) -> Path:
    """A copy of a golden directory, to be changed."""
    return shutil.copytree(golden / "archive-dir", tmp_path / "archive")


def output(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> list[str]:
    assert main(["archive", *map(str, arguments)]) == code
    return capsys.readouterr().out.splitlines()


def official(golden: Path, name: str) -> list[str]:
    """Return what the official tool printed, without the line that the library logs and what failed after the last one of use."""
    lines = (golden / f"tool.{name}.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("INFO: ")]


def entries(path: Path) -> list[RecordingEntry]:
    data = path.read_bytes()
    return [decode_entry(data, place.offset, place.end) for place in entry_places(data, CatalogHeader.decode(data))]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def without_times(lines: list[str]) -> list[str]:
    # The first line tells what time it is, in the zone of the machine.
    assert TIME_LINE.match(lines[0])
    return lines[1:]


@pytest.mark.parametrize("command", ["describe", "describe-all"])
def test_descriptors_are_those_that_the_official_tool_prints(golden: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    before = contents(golden / "archive-dir")
    lines = output(capsys, command, golden / "archive-dir")
    assert without_times(lines) == without_times(official(golden, command))
    assert contents(golden / "archive-dir") == before


def test_one_descriptor_is_printed_alone_whatever_its_state(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = output(capsys, "describe", golden / "archive-dir", 7)
    assert f"{line}|DELETED" in official(golden, "describe-all")


def test_small_facts_are_those_that_the_official_tool_prints(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "pid", golden / "archive-dir") == official(golden, "pid")
    assert output(capsys, "count-entries", golden / "archive-dir") == official(golden, "count-entries")
    assert output(capsys, "capacity", golden / "archive-dir") == ["65536"]
    errors, theirs = output(capsys, "errors", golden / "archive-dir"), official(golden, "errors")
    assert errors[:5] == theirs[:5]


def test_the_dump_has_the_frames_that_the_official_one_has(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The official tool asked a question after the third frame of each recording, and ended when there was no answer to the second.
    asked = re.compile(r"Specified frame limit 3 reached\. Continue\? \(y/n\): ")
    expected = without_times(official(golden, "dump_3"))
    end = next(index for index, line in enumerate(expected) if "NoSuchElementException" in line)
    text = asked.sub("", "\n".join(expected[: end - 1]))
    lines = output(capsys, "dump", golden / "archive-dir", 3)
    ours = "\n".join(without_times(lines)[: 3 * end])
    squeezed = [re.sub(r"\n{2,}", "\n", each) for each in (text, ours)]
    assert squeezed[1].startswith(squeezed[0].rstrip("\n"))


def test_a_dump_of_all_passes_the_deleted_recording(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "dump", golden / "archive-dir")
    assert [line for line in lines if line.startswith("Recording ")] == [
        line for number in range(16) if number != 7 for line in _recording_lines(golden, number)
    ]
    for entry in entries(golden / "archive.catalog.after-verify"):
        if entry.recording_state is RecordingState.VALID and entry.stop_position > entry.start_position:
            assert f"Frame at position [{entry.start_position}] " in "\n".join(lines)


def _recording_lines(golden: Path, number: int) -> list[str]:
    entry = entries(golden / "archive-dir" / "archive.catalog")[number]
    return [f"Recording {number}", *(["Recording is empty"] if entry.start_position == entry.stop_position else [])]


def test_a_dump_for_programs_has_every_byte(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [json.loads(line) for line in output(capsys, "dump", golden / "archive-dir", "--recording", 14, "--json")]
    assert rows[0]["recording"]["recording_id"] == 14
    assert [row["position"] for row in rows[1:3]] == [0, rows[1]["length"] + -rows[1]["length"] % 32]
    assert bytes.fromhex(rows[1]["payload"]).startswith(b"M0")


@pytest.mark.parametrize("arguments", [("-a",), ("-a", "-checksum", "CRC-32C")])
def test_verify_prints_and_leaves_what_the_official_one_does(
    golden: Path, directory: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    expected = official(golden, "verify_" + "_".join(arguments))
    before = contents(directory)
    has_faults = any("ERR" in line for line in expected)
    dry = [line for line in output(capsys, "verify", directory, *arguments, "--dry-run", code=int(has_faults)) if "would" not in line]
    assert contents(directory) == before
    assert output(capsys, "verify", directory, *arguments, code=int(has_faults)) == dry == expected
    if has_faults:
        states = [one.recording_state.name for one in entries(directory / "archive.catalog")]
        assert states == ["INVALID" if "ERR" in line else "DELETED" for line in expected]


def test_verify_leaves_the_catalog_that_the_official_one_left(golden: Path, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output(capsys, "verify", directory, "-a")
    ours, theirs = (directory / "archive.catalog").read_bytes(), bytearray((golden / "archive.catalog.after-verify").read_bytes())
    for entry in entries(golden / "archive-dir" / "archive.catalog"):
        if entry.is_active:  # it has got a stop timestamp, which is the time of the run
            at = entry.catalog_offset + 32 + 32
            theirs[at : at + 8] = ours[at : at + 8]
    assert ours == bytes(theirs)
    assert {path.name: path.read_bytes() for path in directory.glob("*.rec")} == {
        path.name: path.read_bytes() for path in (golden / "archive-dir").glob("*.rec")
    }


def test_checksums_are_those_that_the_official_archive_writes(golden: Path, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output(capsys, "checksum", directory, CLASS, "-a")
    assert output(capsys, "verify", directory, "-a", "-checksum", "CRC-32C")[-1] == "(recordingId=15) OK"
    if "crc32c" in golden.name:
        # What was sealed with the same algorithm before has not changed; padding never was.
        assert {path.name: path.read_bytes() for path in directory.glob("*.rec")} == {
            path.name: path.read_bytes() for path in (golden / "archive-dir").glob("*.rec")
        }
        assert (directory / "archive.catalog").read_bytes() == (golden / "archive-dir" / "archive.catalog").read_bytes()


def test_marks_change_one_byte_and_refuse_other_states(golden: Path, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(directory)
    assert output(capsys, "mark-invalid", directory, 3) == ["(recordingId=3) changed state to INVALID"]
    changed = bytearray(before["archive.catalog"])
    changed[entries(golden / "archive-dir" / "archive.catalog")[3].catalog_offset + 4] = 0
    assert contents(directory) == before | {"archive.catalog": bytes(changed)}
    assert output(capsys, "mark-invalid", directory, 3) == []
    assert output(capsys, "mark-valid", directory, 3) == ["(recordingId=3) changed state to VALID"]
    assert contents(directory) == before
    assert main(["archive", "mark-valid", str(directory), "7"]) == 2
    assert "recording 7 cannot become VALID" in capsys.readouterr().err


def test_compaction_leaves_valid_entries_and_their_files(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(directory)
    kept = [one for one in entries(directory / "archive.catalog") if one.recording_id not in (1, 7)]
    expected = before["archive.catalog"][:32] + b"".join(
        before["archive.catalog"][one.catalog_offset : one.catalog_offset + 32 + one.entry_length] for one in kept
    )
    output(capsys, "mark-invalid", directory, 1)
    output(capsys, "compact", directory, "--dry-run")
    assert set(contents(directory)) == set(before)
    (line,) = output(capsys, "compact", directory, "--yes")
    removed = len(before["archive.catalog"].rstrip(b"\0")) - len(expected.rstrip(b"\0"))
    assert re.fullmatch(rf"Compaction result: deleted 2 records and reclaimed {removed} bytes", line)
    after = contents(directory)
    assert after["archive.catalog"] == expected
    assert set(after) == {name for name in before if not name.startswith("1-")}


def test_orphaned_segments_are_those_outside_of_their_recording(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(directory)
    output(capsys, "delete-orphaned-segments", directory, 5, "--yes")
    assert contents(directory) == before
    output(capsys, "delete-orphaned-segments", directory, "--yes")
    start = entries(directory / "archive.catalog")[6].start_position
    gone = {name for name in before if name.startswith("6-") and int(name[2:].split(".")[0]) < start}
    assert set(before) - set(contents(directory)) == gone != set()


def test_capacity_grows_by_zeros_and_never_shrinks(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (directory / "archive.catalog").read_bytes()
    assert output(capsys, "capacity", directory, 100_000) == ["100000"]
    assert (directory / "archive.catalog").read_bytes() == before.ljust(100_000, b"\0")
    assert output(capsys, "capacity", directory, 5000) == ["100000"]
    assert output(capsys, "max-entries", directory, 7) == ["max-entries is deprecated please use capacity."]
