"""A catalog on a disk that fails in every way has every operation that returned, as far as its sync level says."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.files.catalog import Catalog
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.recordings.catalog_entry import encode_entry
from aerowire.simulation.disk import SimulatedDisk
from aerowire.simulation.disk_faults import DiskFaults
from aerowire.simulation.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from aerowire.system.file_system import FileSystem
from tests.archive.files.entries import entry

DIRECTORY = Path("/archive")
SEEDS, LIVES, CALLS_MAX = 12, 6, 40
NUMBERS = ("stop_position", "stop_timestamp_ms", "session_id", "control_session_id", "correlation_id")


@dataclass
class Expected:
    """What each recording may be after a crash: allowed values of each field; recordings that may be missing, or may be there."""

    values: dict[int, dict[str, set[Any]]] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)

    def allow(self, recording_id: int, **values: Any) -> None:
        known = self.values.setdefault(recording_id, {})
        for name, value in values.items():
            known.setdefault(name, set()).add(value)

    def settle(self, catalog: Catalog) -> None:
        """Take what the catalog holds as what it has to hold."""
        self.doubtful.clear()
        self.values.clear()
        for one in catalog.entries():
            self.allow(one.recording_id, channel=one.original_channel, **{name: getattr(one, name) for name in NUMBERS})

    def check(self, catalog: Catalog, where: str) -> None:
        found = {one.recording_id: one for one in catalog.entries()}
        missing = set(self.values) - set(found) - self.doubtful
        assert not missing, f"{where}: lost recordings {sorted(missing)}: {catalog.findings}"
        invented = set(found) - set(self.values) - self.doubtful
        assert not invented, f"{where}: recordings {sorted(invented)} are there again"
        for recording_id in set(found) & set(self.values) - self.doubtful:
            allowed, one = self.values[recording_id], found[recording_id]
            assert one.original_channel in allowed["channel"], f"{where}: {one}"
            assert all(getattr(one, name) in allowed[name] for name in NUMBERS), f"{where}: {one}, expected {allowed}"


def draw_faults(rng: random.Random, sync_level: int) -> DiskFaults:
    return DiskFaults(
        # A failed sync loses what earlier lives left to the system.
        sync_error=rng.choice((0.0, 0.05)) if sync_level else 0.0,
        short_write=rng.choice((0.0, 0.3)),
        writeback=rng.choice((0.0, 0.3)),
        sector=rng.choice((512, 4096)),
    )


def operate(rng: random.Random, catalog: Catalog, expected: Expected) -> None:
    """Perform one operation; allow its effect while it is under way, and nothing else once it has returned."""
    ids = catalog.ids_from(0, 10_000)
    choice = rng.random()
    if not ids or choice < 0.5:
        channel = "aeron:ipc?alias=" + rng.choice("abc") * rng.choice((3, 90, 300))
        expected.doubtful.add(catalog.next_recording_id)
        catalog.add_recording(entry(original_channel=channel))
    elif choice < 0.7:
        recording_id, position = rng.choice(ids), 32 * rng.randrange(1000)
        expected.allow(recording_id, stop_position=position, stop_timestamp_ms=position + 1)
        catalog.recording_stopped(recording_id, position, position + 1)
    elif choice < 0.85:
        recording_id, number = rng.choice(ids), rng.randrange(1000)
        expected.allow(recording_id, stop_position=-1, stop_timestamp_ms=-1)
        expected.allow(recording_id, session_id=number, control_session_id=number, correlation_id=number)
        catalog.extend_recording(recording_id, number, number, number)
    elif choice < 0.95:
        recording_id, channel = rng.choice(ids), "aeron:ipc?alias=" + "d" * rng.choice((3, 400))
        expected.allow(recording_id, channel=channel)
        catalog.change_channel(recording_id, "aeron:ipc", channel)
    else:
        recording_id = rng.choice(ids)
        expected.doubtful.add(recording_id)
        catalog.change_state(recording_id, RecordingState.DELETED)
    expected.settle(catalog)


def live(seed: int, sync_level: int, *, loses_power: bool) -> int:
    """Let a catalog live, crash and be opened again; return how much had to be repaired."""
    rng = random.Random(seed)
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed)
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    files.close()
    expected, repairs = Expected(), 0
    for life in range(LIVES):
        where = f"seed {seed}, level {sync_level}, life {life}"
        disk.faults = draw_faults(rng, sync_level)
        files = SimulatedFiles(disk)
        files.kill_after(rng.randrange(1, 150))
        with contextlib.suppress(FileError):
            catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=sync_level)
            repairs += len(catalog.findings)
            if sync_level or not loses_power:
                expected.check(catalog, where)
            expected.settle(catalog)
            for _ in range(rng.randrange(CALLS_MAX)):
                with contextlib.suppress(FileError):
                    operate(rng, catalog, expected)
            catalog.close()
        if loses_power:
            disk.lose_power()
        files.kill()
    disk.faults = DiskFaults()
    catalog = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
    ids = [one.recording_id for one in catalog.entries()]
    assert ids == sorted(set(ids)), f"seed {seed}: {ids}"
    assert all(one.damage is None for one in catalog.entries()), f"seed {seed}"
    if sync_level or not loses_power:
        expected.check(catalog, f"seed {seed}, level {sync_level}, end")
    return repairs


@pytest.mark.parametrize(("sync_level", "loses_power"), [(0, False), (1, True), (2, True)])
def test_what_returned_is_there_after_a_crash(seed: int, sync_level: int, loses_power: bool) -> None:
    for number in range(SEEDS):
        live(seed + number, sync_level, loses_power=loses_power)


def test_a_power_failure_without_syncs_leaves_a_catalog_that_can_be_used(seed: int) -> None:
    assert sum(live(seed + number, 0, loses_power=True) for number in range(SEEDS)) > 0


def test_an_operation_that_fails_changes_nothing_and_the_next_one_puts_the_file_right() -> None:
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=1)
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    catalog = Catalog.open(DIRECTORY, files, capacity=4096, sync_level=1)
    catalog.add_recording(entry(stop_position=64))
    for faults in (DiskFaults(write_error=1.0), DiskFaults(sync_error=1.0)):
        disk.faults = faults
        for fail in (
            lambda: catalog.add_recording(entry(session_id=9)),
            lambda: catalog.set_stop_position(0, 96),
            lambda: catalog.change_state(0, RecordingState.DELETED),
            lambda: catalog.change_channel(0, "aeron:ipc", "aeron:ipc"),
        ):
            with pytest.raises(FileError):
                fail()
            assert (len(catalog), catalog.next_recording_id, catalog.stop_position(0)) == (1, 1, 64)
    disk.faults = DiskFaults()
    assert catalog.add_recording(entry(session_id=8)) == 1
    disk.lose_power()
    again = Catalog.open(DIRECTORY, SimulatedFiles(disk), capacity=4096)
    assert [(one.recording_id, one.session_id, one.stop_position) for one in again.entries()] == [(0, 5, 64), (1, 8, -1)]
    assert again.findings == []


def planted(tmp_path: Path, at: int, data: bytes) -> tuple[Catalog, list[str]]:
    """Write bytes into the file of a catalog of five recordings; return it, opened again, with what it found."""
    catalog = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    for number in range(5):
        catalog.add_recording(entry(session_id=number))
    catalog.close()
    with (tmp_path / "archive.catalog").open("r+b") as file:
        file.seek(at)
        file.write(data)
    again = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    texts = [str(finding).removeprefix(f"{tmp_path}/archive.catalog: ") for finding in again.findings]
    again.close()
    last = Catalog.open(tmp_path, FileSystem(), capacity=4096)
    assert last.findings == [], "repaired once is repaired"
    return last, texts


LENGTH = len(encode_entry(entry(), 64))


@pytest.mark.parametrize(
    ("at", "data", "ids", "next_id", "finding"),
    [
        (32 + 4 * LENGTH + 112, bytes(80), [0, 1, 2, 3], 5, "offset 800: the last entry is incomplete, 192 bytes; removed"),
        (32 + 4 * LENGTH, bytes(64), [0, 1, 2, 3], 5, "offset 800: 3296 bytes behind the last entry are not all zeros"),
        (32 + 2 * LENGTH + 112, bytes(80), [0, 1, 3, 4], 5, "offset 416: the entry is incomplete or out of order; marked as deleted"),
        (32 + 2 * LENGTH + 48, b"\1", [0, 1, 3, 4], 5, "offset 416: the entry is incomplete or out of order; marked as deleted"),
        (32 + 4 * LENGTH + 32 + 71, b"\1", [0, 1, 2, 3], 5, "offset 800 (recording 4): the entry cannot be: mtuLength 16778624"),
        (32 + 2 * LENGTH + 32 + 40, b"\1", [0, 1, 3, 4], 5, "offset 416 (recording 2): the entry cannot be: recordingId 2"),
        (32 + 2 * LENGTH, bytes(LENGTH), [0, 1, 3, 4], 5, "offset 416: 192 bytes are no entry, but others follow"),
        (32 + LENGTH, bytes(2 * LENGTH), [0, 3, 4], 5, "offset 224: 384 bytes are no entry, but others follow"),
        (32 + LENGTH, b"\xff\xff\xff\x7f", [0, 2, 3, 4], 5, "offset 224: 192 bytes are no entry, but others follow"),
        (8, b"\2", [0, 1, 2, 3, 4], 5, "offset 8: the next recording id is 2, but the last one is 4; set to follow it"),
    ],
)  # fmt: skip
def test_what_is_torn_is_repaired_and_reported(tmp_path: Path, at: int, data: bytes, ids: list[int], next_id: int, finding: str) -> None:
    catalog, texts = planted(tmp_path, at, data)
    assert len(texts) == 1
    assert texts[0].startswith(finding)
    assert catalog.ids_from(0, 10) == ids
    assert [one.session_id for one in catalog.entries()] == ids
    assert catalog.add_recording(entry()) == next_id
