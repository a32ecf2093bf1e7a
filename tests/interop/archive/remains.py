"""What archives leave behind when they end: recordings that the tools of both sides find sound, and nothing else.

Looks at directories and counters, not at what was recorded.
"""

from __future__ import annotations

import re
from pathlib import Path

from aerowire.archive.files.offline_catalog import OfflineCatalog
from aerowire.archive.files.update_record import UPDATE_SUFFIX
from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.archive_files import CATALOG_FILE_NAME, MARK_FILE_NAME, NULL_POSITION
from aerowire.ipc.cnc import CncFile
from aerowire.recordings.catalog_entry import RecordingEntry
from aerowire.recordings.segment_names import parse_segment_name
from aerowire.system.ports import Ports
from aerowire.tools.main import main
from tests.interop.harness import Bench, Driver
from tests.interop.scenarios import wait_until

# The last is ours while a catalog is open: an official archive leaves it when it takes over the directory of one that was killed.
_FILES = {CATALOG_FILE_NAME, MARK_FILE_NAME, CATALOG_FILE_NAME + UPDATE_SUFFIX}
# Of archives and of persistent subscriptions.
COUNTER_TYPES = range(100, 118)
ARCHIVE_COUNTER_TYPES = range(100, 114)


def counters_left(driver: Driver, types: range = COUNTER_TYPES) -> list[str]:
    """Return the labels of the counters of archives and their clients that a driver has."""
    with CncFile.map(str(driver.directory / CNC_FILE_NAME), writable=False) as cnc:
        return [info.label for info in cnc.counters_reader().for_each() if info.type_id in types]


def wait_until_forgotten(driver: Driver) -> None:
    """Wait until the driver has ended the client of an archive that has ended, and with it the subscriptions that took requests."""
    wait_until(lambda: not counters_left(driver, ARCHIVE_COUNTER_TYPES), "the end of an archive's client")


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
        if path.name in _FILES:
            continue
        name = parse_segment_name(path.name)
        assert name is not None, f"a file that no archive needs: {path}"
        assert not name.is_deleted, f"a file that was to be deleted: {path}"
        assert name.position in expected.get(str(name.recording_id), ()), f"a segment of no recording: {path}"


def assert_sound(bench: Bench, *directories: Path) -> None:
    """Let the tools of both sides verify every segment of every recording. Ours goes first: the official one rewrites catalogs."""
    assert bench.verification is not None
    for directory in directories:
        assert main(["archive", "verify", str(directory), "-a"]) == 0, directory
        said = bench.verification.verify(directory)
        assert not [line for line in said if "ERR" in line and not ends_with_segment(line)], said


def ends_with_segment(line: str) -> bool:
    """Return whether the official tool complains of a recording that ends where its last segment does.

    It does so of official recordings that were truncated there, too; an official recorder leaves one more file, and ours does not.
    """
    found = re.search(r"stopPosition=(\d+) exceed max segment file position=(\d+)$", line)
    return found is not None and int(found[1]) == int(found[2]) + 1
