"""`aerowire doctor --archive`: what it sees of an archive, and how it judges it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.system.ports import Ports
from aerowire.tools.doctor.archive_checks import check_archive
from aerowire.tools.doctor.archive_state import ArchiveState, RecordedStream, read_archive, recorded_streams, standing_still
from aerowire.tools.doctor.doctor_checks import Level
from aerowire.tools.main import main
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig
from tests.archive.files.test_unlocking import dead, mark
from tests.support.archives.recordings import RecordingWriter, write_catalog

MIB = 1 << 20
GOOD = ArchiveState(
    path="recordings",
    mark="running",
    pid=7,
    problem=None,
    error_count=0,
    free=10_000 * MIB,
    recordings=3,
    segment_length=128 * MIB,
    unfinished=[],
    incomplete=[],
    has_checksums=False,
)


def findings(state: ArchiveState, standing: list[int] | None = None, **options: Any) -> dict[str, tuple[Level, str]]:
    asked: dict[str, Any] = {"threshold": MIB, "sync_level": 1, "has_checksums": True} | options
    found = check_archive(state, standing or [], **asked)
    return {one.what: (one.level, f"{one.found} -> {one.advice}") for one in found}


def test_a_sound_archive_needs_nothing() -> None:
    assert {level for level, _ in findings(GOOD).values()} == {Level.GOOD}


@pytest.mark.parametrize(
    ("what", "state", "options", "level", "text"),
    [
        ("archive", replace(GOOD, mark="stale"), {}, Level.WARNING, "aerowire archive unlock recordings"),
        ("archive", replace(GOOD, mark="damaged", problem="no"), {}, Level.PROBLEM, "aerowire archive repair recordings"),
        ("archive storage", replace(GOOD, free=MIB), {}, Level.PROBLEM, "no recording begins"),
        ("archive storage", replace(GOOD, free=1000 * MIB), {}, Level.WARNING, "aerowire archive retention recordings"),
        ("archive catalog", replace(GOOD, incomplete=[3, 4]), {}, Level.PROBLEM, "missing of recordings 3, 4"),
        ("archive catalog", replace(GOOD, unfinished=[5]), {}, Level.WARNING, "before it stopped recording 5"),
        ("archive catalog", replace(GOOD, problem="offset 7"), {}, Level.PROBLEM, "offset 7"),
        ("archive durability", GOOD, {"sync_level": 0}, Level.NOTE, "aeron.archive.file.sync.level=1"),
        ("archive durability", GOOD, {"sync_level": 0, "has_checksums": False}, Level.NOTE, "Crc32c"),
        ("archive errors", replace(GOOD, error_count=2), {}, Level.NOTE, "aerowire errors --archive recordings"),
        ("archive recordings", GOOD, {"standing": list(range(7))}, Level.PROBLEM, "recordings 0, 1, 2, 3, 4 and 2 more"),
    ],
)
def test_what_is_wrong_is_told_with_what_helps(what: str, state: ArchiveState, options: dict[str, Any], level: Level, text: str) -> None:
    found = findings(state, **options)[what]
    assert found[0] is level
    assert text in found[1]


def test_a_recording_stands_still_when_its_stream_moves_without_it() -> None:
    before = {1: RecordedStream(100, 100), 2: RecordedStream(100, 100), 3: RecordedStream(100, 200), 4: RecordedStream(100, 200)}
    after = {1: RecordedStream(100, 200), 2: RecordedStream(160, 200), 3: RecordedStream(100, 200), 5: RecordedStream(0, 300)}
    assert standing_still(before, after) == [1]


def test_a_recording_that_would_have_countless_segments_is_incomplete(tmp_path: Path) -> None:
    writers = [RecordingWriter(tmp_path, number) for number in range(2)]
    for writer, stop in zip(writers, (1 << 62, 160), strict=True):
        writer.message(b"x" * 100)
        writer.stop = stop
    write_catalog(tmp_path, writers)
    assert read_archive(tmp_path, Ports.system()).incomplete == [0]


def test_the_state_is_that_of_the_files(tmp_path: Path) -> None:
    writers = [RecordingWriter(tmp_path, number) for number in range(3)]
    for writer in writers:
        writer.message(b"x" * 100)
        writer.stop = writer.position
    writers[1].stop = -1
    write_catalog(tmp_path, writers)
    (tmp_path / "2-0.rec").unlink()
    state = read_archive(tmp_path, Ports.system())
    assert (state.mark, state.recordings, state.unfinished, state.incomplete) == ("absent", 3, [1], [2])
    living = mark(tmp_path)
    living.signal_ready(Ports.system().clock.now_ms())
    DistinctErrorLog(living.error_log_buffer).record("an error", 1)
    state = read_archive(tmp_path, Ports.system())
    assert (state.mark, state.unfinished, state.error_count) == ("running", [], 1)
    living.close()
    assert read_archive(tmp_path, Ports.system()).mark == "ended"
    dead(tmp_path)
    assert read_archive(tmp_path, Ports.system()).mark == "stale"
    (tmp_path / "archive-mark.dat").write_bytes(b"\x10\0" * 4)
    assert read_archive(tmp_path, Ports.system()).mark == "damaged"


def test_a_running_archive_is_looked_at_through_its_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(tmp_path / "archive")
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    assert recorded_streams(rig.directory, Ports.system()) == {recording_id: RecordedStream(end, end)}
    arguments = ["doctor", "--seconds", "0.1", "--archive", str(rig.directory), "-Daeron.archive.low.storage.space.threshold=0"]
    assert main([*arguments, "--json"]) in (0, 1)
    told = json.loads(capsys.readouterr().out)
    levels = {one["what"]: one["level"] for one in told["findings"] if one["what"].startswith("archive")}
    assert levels == {
        "archive": "good",
        "archive storage": "good",
        "archive catalog": "good",
        "archive recordings": "good",
        "archive durability": "note",
    }
    assert told["archives"][0]["mark"] == "running"
    assert main(["doctor", "--seconds", "0", "--archive", str(tmp_path / "none")]) == 2
    rig.close()
