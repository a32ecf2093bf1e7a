"""What archives leave behind when they end: recordings that the tools of both sides find sound, and nothing else.

Knows directories and counters; knows nothing of what was recorded.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME, NULL_POSITION
from aerowire.ipc.cnc import CncFile
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.recordings.segment_names import parse_segment_name
from aerowire.system.ports import Ports
from aerowire.tools.main import main
from tests.interop.harness import Driver, Java
from tests.interop.scenarios import wait_until
from tests.support.processes import LIMIT_S

# Of archives and of persistent subscriptions.
COUNTER_TYPES = range(100, 118)
MARK_FILE_NAME = "archive-mark.dat"


def counters_left(driver: Driver) -> list[str]:
    """Return the labels of the counters of archives and their clients that a driver has."""
    with CncFile.map(str(driver.directory / CNC_FILE_NAME), writable=False) as cnc:
        return [info.label for info in cnc.counters_reader().for_each() if info.type_id in COUNTER_TYPES]


def assert_no_counter(driver: Driver) -> None:
    """Wait until the driver has freed the counters of archives that have ended."""
    wait_until(lambda: not counters_left(driver), f"counters left: {counters_left(driver)}")


def entries_of(directory: Path) -> list[RecordingEntry]:
    """Return the entries of the catalog of an archive that has ended."""
    with OfflineCatalog(Ports.system().files, directory) as catalog:
        assert catalog.problem is None
        return list(catalog.entries)


def assert_no_file(directory: Path) -> None:
    """Assert that a directory has no file but those of its archive and the segments of its recordings."""
    expected: dict[str, set[int]] = {}
    for entry in entries_of(directory):
        if entry.recording_state is RecordingState.DELETED:
            continue
        assert entry.stop_position != NULL_POSITION, f"recording {entry.recording_id} has no stop position"
        start, stop = entry.segment_of(entry.start_position), entry.segment_of(entry.stop_position)
        # A recording that has stopped at the end of a segment may have begun the next one, and an empty one its first.
        expected[str(entry.recording_id)] = set(range(start, stop + 1, entry.segment_length))
    for path in directory.iterdir():
        if path.name in {CATALOG_FILE_NAME, MARK_FILE_NAME}:
            continue
        name = parse_segment_name(path.name)
        assert name is not None, f"a file that no archive needs: {path}"
        assert not name.is_deleted, f"a file that was to be deleted: {path}"
        assert name.position in expected.get(str(name.recording_id), ()), f"a segment of no recording: {path}"


def run_official_tool(java: Java, *command: str, directories: list[Path]) -> dict[Path, list[str]]:
    """Run a command of the official tool on each directory, by one virtual machine, and return the lines that it printed."""
    done = subprocess.run(
        java.command("ArchiveTools", *command, "--", *map(str, directories)),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{' '.join(command)} exited {done.returncode}\n{done.stdout}{done.stderr}"
    printed: dict[Path, list[str]] = {}
    lines: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith("directory "):
            lines = printed.setdefault(Path(line.removeprefix("directory ")), [])
        elif line:
            lines.append(line)
    return printed


def assert_sound(java: Java, *directories: Path) -> None:
    """Let the tools of both sides verify every segment of every recording. Ours goes first: the official one rewrites catalogs."""
    for directory in directories:
        assert main(["archive", "verify", str(directory), "-a"]) == 0, directory
    for directory, lines in run_official_tool(java, "verify", "-a", directories=list(directories)).items():
        assert not [line for line in lines if "ERR" in line], (directory, lines)
