"""Directories with any bytes in their files: each command and the archive itself serve them, or say what is wrong and where."""

from __future__ import annotations

import random
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive import AeronArchive, Archive
from aerowire.base.errors import ActiveArchiveError, ArchiveError, ArchiveFileError, FileError
from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from aerowire.tools.main import main
from tests.archive.files.test_damaged_files import damaged
from tests.support.waiting import busy_no_longer_than

RUNS = 2
COMMANDS = (
    ["list", "--all"],
    ["describe"],
    ["describe", "3"],
    ["describe-all"],
    ["dump"],
    ["errors"],
    ["pid"],
    ["count-entries"],
    ["max-entries"],
    ["capacity"],
    ["verify", "--dry-run", "-a", "-checksum", "CRC-32C"],
    ["verify", "-a", "--truncate"],
    ["delete-orphaned-segments", "--yes"],
    ["mark-invalid", "2"],
    ["mark-valid", "2"],
    ["checksum", "CRC-32", "-a"],
    ["capacity", "100000"],
    ["migrate", "--yes"],
    ["compact", "--yes"],
)
# Bytes of each file that are damaged: beyond them there are zeros, or frames like those before.
FILES = {"archive.catalog": 6000, "archive-mark.dat": 9000, "15-131072.rec": 4500, "0-0.rec": 4500}
SECONDS_MAX = 10.0
MEMORY_MAX = 256 << 10  # of growth, in KiB
IPC = "aeron:ipc?term-length=64k"


@pytest.fixture(params=range(RUNS))
def directory(tmp_path: Path, seed: int, golden_archives: Path, request: pytest.FixtureRequest) -> Path:
    """A directory one of whose files is damaged, or several."""
    rng = random.Random(seed + request.param)
    made = shutil.copytree(golden_archives / "seg64k-kill" / "archive-dir", tmp_path / "archive")
    for name in rng.sample(sorted(FILES), rng.choice((1, 1, 1, 4))):
        damaged(rng, made / name, FILES[name])
    return made


@pytest.fixture
def memory() -> Iterator[None]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_MAX


@pytest.mark.usefixtures("memory")
def test_every_command_reads_a_damaged_directory_or_says_what_is_wrong(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        with busy_no_longer_than(SECONDS_MAX, f"{command} takes too long"):
            code = main(["archive", command[0], str(directory), *command[1:]])
        said = capsys.readouterr()
        assert code in (0, 1, 2), command
        if code == 2:
            assert str(directory) in said.err, (command, said.err)
            assert said.err.count("\n") <= 3, (command, said.err)


@pytest.mark.usefixtures("memory")
def test_an_archive_serves_a_damaged_directory_or_refuses_it(directory: Path) -> None:
    with MediaDriver.launch_embedded(
        threading_mode="INVOKER", client_liveness_timeout_ns="60s", publication_unblock_timeout_ns="61s"
    ) as driver:
        options: dict[str, Any] = {
            "aeron_dir": driver.aeron_dir,
            "archive_dir": directory,
            "control_channel_enabled": False,
            "replication_channel": "aeron:udp?endpoint=127.0.0.1:0",
            "low_storage_space_threshold": 0,
            "threading_mode": "INVOKER",
            "media_driver_invoker": driver.invoker,
        }
        with busy_no_longer_than(SECONDS_MAX, "the launch takes too long"):
            archive = launched(directory, options)
        if archive is None:
            return
        aeron = Aeron.connect(driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=driver.invoker)
        client = AeronArchive.connect(aeron=aeron, control_request_channel=IPC, control_response_channel=IPC, agent_invoker=archive.invoker)
        for recording_id in range(20):
            with suppress(ArchiveError):
                for found in client.list_recording(recording_id):
                    assert found.start_position <= found.stop_position
                client.open_replay(recording_id, IPC, 5).subscription.close()
            client.stop_all_replays(recording_id)
        client.close()
        aeron.close()
        archive.close()


def launched(directory: Path, options: dict[str, Any]) -> Archive | None:
    """Return a running archive, None for one that says which file keeps it from starting."""
    try:
        return Archive.launch(**options)
    except (FileError, ArchiveFileError, ActiveArchiveError) as error:
        if str(directory) not in str(error):
            raise
        return None
