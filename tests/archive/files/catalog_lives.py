"""The lives of a catalog on a disk that fails: what it has to keep, checked each time that it is opened."""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aerowire.archive.files.catalog import Catalog
from aerowire.base.errors import FileError
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.archive.files.entries import entry

DIRECTORY = Path("/archive")
LIVES, CALLS_MAX = 6, 40
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
