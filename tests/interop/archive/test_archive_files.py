"""The official ArchiveTool on a directory whose catalog, segments' checksums and mark file are ours: it reads what we wrote.

What it prints and writes is compared with what our commands print and write for the same directory.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.archive.files.checksum import checksum_named
from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.archive.files.recovery import recover_recordings
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.system.ports import Ports
from aerowire.tools.main import main
from tests.archive.files.old_versions import aged, contents, simple
from tests.interop.harness import Java
from tests.support.archives.recordings import TERM, RecordingWriter
from tests.support.snapshots import golden_archives

pytestmark = pytest.mark.interop

__all__ = ["golden_archives"]

TOOL = "io.aeron.archive.ArchiveTool"
NOW_MS = 1_795_253_300_000
Official = Callable[..., list[str]]


@pytest.fixture
def official(java: Java, tmp_path: Path) -> Official:
    def run(directory: Path, *arguments: str, answer: str = "") -> list[str]:
        command = java.command(TOOL, str(directory), *arguments)
        done = subprocess.run(command, cwd=tmp_path, input=answer, capture_output=True, text=True, check=True, timeout=60)
        return [line for line in done.stdout.splitlines() if line]

    return run


def made(directory: Path, seed: int, checksum: str) -> Path:
    """Make a directory with five recordings, one of which was changed, one deleted, and one active when its archive died."""
    directory.mkdir()
    ports, rng = Ports.system(), random.Random(seed)
    catalog = Catalog.open(directory, ports.files, capacity=512, sync_level=1, checksum=checksum_named(checksum))
    for number, start in enumerate((0, 3 * TERM + 4096, 0, 0, 0)):
        writer = RecordingWriter(directory, number, start=start, stream_id=1000 + number)
        writer.some(rng, 40 * number)
        entry = RecordingEntry(
            recording_id=-1,
            start_timestamp_ms=NOW_MS,
            start_position=start,
            initial_term_id=writer.initial_term_id,
            segment_file_length=writer.segment_length,
            term_buffer_length=TERM,
            mtu_length=writer.mtu,
            session_id=7,
            stream_id=writer.stream_id,
            stripped_channel="aeron:ipc",
            original_channel="aeron:ipc?alias=x",
            source_identity="aeron:ipc",
        )
        assert catalog.add_recording(entry) == number
        if number != 4:
            catalog.recording_stopped(number, writer.position, NOW_MS + 1)
    catalog.change_channel(1, "aeron:udp?endpoint=localhost:40123", "aeron:udp?endpoint=localhost:40123|" + "alias=longer" * 20)
    catalog.change_state(2, RecordingState.DELETED)
    for path in directory.glob("2-*.rec"):
        path.unlink()
    catalog.close()
    details = ArchiveDetails(
        archive_id=17,
        control_channel="aeron:udp?endpoint=localhost:8010",
        control_stream_id=10,
        local_control_channel="aeron:ipc",
        local_control_stream_id=11,
        events_channel="",
        events_stream_id=30,
        aeron_directory="/nonexistent",
    )
    mark = ArchiveMarkFile.create(directory, directory, details, ports, error_buffer_length=1 << 20)
    mark.signal_ready(NOW_MS)
    mark.close()
    return directory


def facts(lines: list[str]) -> list[str]:
    """Return descriptors and mark file without the version of the schema, which is the tool's own."""
    return [line.partition("):")[2] for line in lines if line.startswith("[")]


def ours(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> list[str]:
    assert main(["archive", *arguments]) == code
    return [line for line in capsys.readouterr().out.splitlines() if line]


@pytest.mark.parametrize("checksum", ["", "CRC-32C"])
def test_the_official_tool_reads_and_verifies_what_our_catalog_wrote(
    official: Official, tmp_path: Path, seed: int, checksum: str, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = made(tmp_path / "archive", seed, checksum)
    assert facts(official(directory, "describe-all")) == facts(ours(capsys, "describe-all", str(directory)))
    assert official(directory, "count-entries") == ours(capsys, "count-entries", str(directory)) == ["4"]
    assert official(directory, "pid") == ours(capsys, "pid", str(directory))
    theirs = shutil.copytree(directory, tmp_path / "theirs")
    sound = [f"(recordingId={number}) {'skipping: DELETED' if number == 2 else 'OK'}" for number in range(5)]
    assert official(theirs, "verify", "-a") == ours(capsys, "verify", str(directory), "-a") == sound
    catalog = Catalog.open(theirs, Ports.system().files, capacity=512)
    mine = Catalog.open(directory, Ports.system().files, capacity=512)
    timeless = [[replace(one, stop_timestamp_ms=0) for one in each.entries()] for each in (catalog, mine)]
    assert timeless[0] == timeless[1]
    assert not catalog.active


@pytest.mark.parametrize("checksum", ["CRC-32", "CRC-32C"])
def test_both_tools_leave_the_same_bytes(
    official: Official, tmp_path: Path, seed: int, checksum: str, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = made(tmp_path / "archive", seed, checksum)
    with_stop = Catalog.open(directory, Ports.system().files, capacity=512, checksum=checksum_named(checksum))
    assert recover_recordings(with_stop, NOW_MS) == []
    with_stop.close()
    theirs = shutil.copytree(directory, tmp_path / "theirs")
    commands = (["checksum", checksum, "-a"], ["mark-invalid", "1"], ["verify", "3", "-a", "-checksum", checksum], ["compact"])
    for command in commands:
        official(theirs, *command, answer="y\n")
        ours(capsys, command[0], str(directory), *command[1:], *(["--yes"] if command == ["compact"] else []))
        assert contents(theirs) == contents(directory), command
    assert len(Catalog.open(directory, Ports.system().files, capacity=512)) == 3


@pytest.mark.parametrize("major", [2, 1, 0])
@pytest.mark.parametrize("name", ["seg64k-orderly", "seg128k-crc32c-orderly"])
def test_both_tools_migrate_to_the_same_bytes(
    official: Official, tmp_path: Path, golden_archives: Path, name: str, major: int, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = simple(golden_archives, tmp_path / "archive", name)
    aged(directory, major)
    theirs = shutil.copytree(directory, tmp_path / "theirs")
    official(theirs, "migrate", answer="y\n")
    ours(capsys, "migrate", str(directory), "--yes")
    assert contents(theirs) == contents(directory)
