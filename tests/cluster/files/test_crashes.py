"""Recording log and node state on a disk that loses power: what was forced is there, and nothing that was never written."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from pathlib import Path

import pytest

from aerowire.base.errors import ClusterFileError, FileError
from aerowire.cluster.files.node_state import NodeStateFile
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.files.recording_log_entry import RecordingLogEntry
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.cluster.files.recording_logs import CM, opened

DIRECTORY = Path("/cluster")
SEEDS, LIVES, CALLS_MAX = 10, 6, 30
ENDPOINTS = ("h:1", "standby-of-the-first-member.example.com:8010", "h" * 700)


def new_disk(seed: int) -> SimulatedDisk:
    disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed)
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    files.sync_directory("/")
    files.close()
    return disk


def draw_faults(rng: random.Random, sync_level: int) -> DiskFaults:
    return DiskFaults(
        sync_error=rng.choice((0.0, 0.05)) if sync_level else 0.0,
        writeback=rng.choice((0.0, 0.3)),
        sector=rng.choice((512, 4096)),
    )


def operate(seed: int, log: RecordingLog) -> None:
    """Do an operation that the seed and the entries of the log decide."""
    rng = random.Random(seed)
    last = log.find_last_term()
    term_id, base = (-1, 0) if last is None else (last.leadership_term_id, last.term_base_log_position)
    position = max((one.log_position for one in log.entries), default=0) + 32
    choice = rng.random()
    if last is None or choice < 0.2:
        log.append_term(3, term_id + 1, max(base, position), seed % 1000)
    elif choice < 0.4:
        log.commit_log_position(term_id, position)
    elif choice < 0.7:
        log.append_snapshot(seed % 1000, term_id, base, position, seed % 1000, rng.choice((0, CM)))
    elif choice < 0.9:
        log.append_standby_snapshot(seed % 1000, term_id, base, position, 1, CM, rng.choice(ENDPOINTS))
    else:
        log.invalidate_entry(rng.choice(log.entries))


def known(log: RecordingLog) -> dict[int, RecordingLogEntry]:
    return {one.entry_index: one for one in log.entries}


def live_log(seed: int, sync_level: int, shadow: RecordingLog, *, loses_power: bool) -> int:
    """Let a recording log live, crash and be opened again, beside a shadow without faults; return how many entries it had at last."""
    rng, disk = random.Random(seed), new_disk(seed)
    forced: dict[int, RecordingLogEntry] = {}  # what must be there
    for life in range(LIVES):
        where = f"seed {seed}, level {sync_level}, life {life}"
        disk.faults = DiskFaults()
        possible = known(shadow)
        with contextlib.suppress(FileError):
            log = RecordingLog.open(DIRECTORY, SimulatedFiles(disk), create=True)
            found = known(log)
            assert {index for index in forced if index not in found} == set(), where
            for index, one in found.items():
                assert one in (forced.get(index), possible.get(index)), f"{where}: {one}"
            shadow.path.write_bytes(b"".join(one.encode() for one in sorted(log.entries, key=lambda one: one.entry_index)))
            log.close()
        shadow.reload()
        forced = known(shadow)
        disk.faults = draw_faults(rng, sync_level)
        files = SimulatedFiles(disk)
        files.kill_after(rng.randrange(1, 60))
        with contextlib.suppress(FileError):
            log = RecordingLog.open(DIRECTORY, files, create=True, sync_level=sync_level)
            for _ in range(rng.randrange(CALLS_MAX)):
                call = rng.getrandbits(32)
                operate(call, shadow)
                operate(call, log)
                log.force()
                forced = known(log)
            log.close()
        if loses_power:
            disk.lose_power()
        files.kill()
    return len(forced)


@pytest.mark.parametrize(("sync_level", "loses_power"), [(0, False), (1, True), (2, True)])
def test_forced_entries_are_there_after_a_crash(tmp_path: Path, seed: int, sync_level: int, loses_power: bool) -> None:
    entries = 0
    for number in range(SEEDS):
        (tmp_path / str(number)).mkdir()
        entries += live_log(seed + number, sync_level, opened(tmp_path / str(number)), loses_power=loses_power)
    assert entries > 0


@pytest.mark.parametrize(("sync_level", "loses_power"), [(0, False), (1, True), (2, True)])
def test_a_stored_candidate_term_is_there_after_a_crash(seed: int, sync_level: int, loses_power: bool) -> None:
    for number in range(SEEDS):
        rng, disk, stored, asked = random.Random(seed + number), new_disk(seed + number), -1, -1
        for life in range(LIVES):
            disk.faults = draw_faults(rng, sync_level)
            files = SimulatedFiles(disk)
            files.kill_after(rng.randrange(1, 40))
            with contextlib.suppress(FileError):
                state = NodeStateFile.open(DIRECTORY, files, create=True, sync_level=sync_level)
                found = state.candidate_term.candidate_term_id
                assert stored <= found <= asked, f"seed {seed + number}, level {sync_level}, life {life}"
                stored = asked = found
                for _ in range(rng.randrange(CALLS_MAX)):
                    asked += 1
                    state.update_candidate_term_id(asked, asked * 32, asked)
                    stored = asked
                state.close()
            if loses_power:
                disk.lose_power()
            files.kill()


def test_a_power_failure_without_syncs_leaves_whole_entries_or_damage_that_is_told(seed: int) -> None:
    told = 0
    for number in range(SEEDS):
        rng, disk = random.Random(seed + number), new_disk(seed + number)
        files = SimulatedFiles(disk)
        log = RecordingLog.open(DIRECTORY, files, create=True)
        log.force()
        written: dict[int, set[RecordingLogEntry]] = {}
        disk.faults = replace(draw_faults(rng, 0), writeback=0.0)
        for _ in range(CALLS_MAX):
            operate(rng.getrandbits(32), log)
            for index, one in known(log).items():
                written.setdefault(index, set()).add(one)
        disk.lose_power()
        files.kill()
        try:
            left = RecordingLog.open(DIRECTORY, SimulatedFiles(disk), create=True)
        except ClusterFileError:  # pages of zeros before others
            told += 1
            continue
        assert all(one in written[one.entry_index] for one in left.entries), f"seed {seed + number}"
    assert told < SEEDS
