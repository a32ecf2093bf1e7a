"""The recovery plan: from which snapshots and which part of the log a member recovers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from aerowire.archive.client.descriptors import RecordingDescriptor
from aerowire.base.errors import RecordingLogError
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.files.recovery_plan import Log, RecordingExtent, RecoveryPlan
from aerowire.cluster.files.snapshot_sets import Snapshot
from aerowire.system.file_system import FileSystem
from tests.cluster.files.recording_logs import CM, filled, opened


@dataclass(frozen=True)
class Extent:
    start_position: int = 0
    stop_position: int = 4096
    initial_term_id: int = -5
    term_buffer_length: int = 65536
    mtu_length: int = 1408
    session_id: int = 77


EXTENT = Extent()
GEOMETRY = {"initial_term_id": -5, "term_buffer_length": 65536, "mtu_length": 1408, "session_id": 77}


def test_a_new_member_has_nothing_to_recover(tmp_path: Path) -> None:
    log = opened(tmp_path)
    assert log.recording_of_plan() is None
    assert log.create_recovery_plan(1, None) == RecoveryPlan(
        last_leadership_term_id=-1,
        last_term_base_log_position=0,
        appended_log_position=0,
        committed_log_position=0,
        snapshots=(),
        log=None,
    )


def test_a_new_member_recovers_a_replicated_recording(tmp_path: Path) -> None:
    log = opened(tmp_path)
    assert log.recording_of_plan(9) == 9
    plan = log.create_recovery_plan(1, EXTENT, 9)
    assert plan.log == Log(
        recording_id=9,
        leadership_term_id=-1,
        term_base_log_position=0,
        log_position=0,
        start_position=0,
        stop_position=4096,
        **GEOMETRY,
    )
    assert (plan.appended_log_position, plan.committed_log_position, plan.last_leadership_term_id) == (4096, 0, -1)
    log.append_term(3, 0, 0, 0)
    assert log.recording_of_plan(9) == 3


def test_the_log_is_replayed_behind_the_latest_set_of_snapshots(tmp_path: Path) -> None:
    plan = filled(tmp_path).create_recovery_plan(1, EXTENT)
    assert plan == RecoveryPlan(
        last_leadership_term_id=8,
        last_term_base_log_position=1280,
        appended_log_position=4096,
        committed_log_position=1280,
        snapshots=tuple(
            Snapshot(
                recording_id=recording_id,
                leadership_term_id=7,
                term_base_log_position=0,
                log_position=1280,
                timestamp=1001,
                service_id=service_id,
            )
            for recording_id, service_id in ((5, CM), (4, 0))
        ),
        log=Log(
            recording_id=1,
            leadership_term_id=8,
            term_base_log_position=1280,
            log_position=-1,
            start_position=1280,
            stop_position=4096,
            **GEOMETRY,
        ),
    )


def test_a_term_that_has_ended_is_committed_up_to_its_end(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.commit_log_position(8, 2000)
    assert log.create_recovery_plan(1, EXTENT).committed_log_position == 2000


def test_without_snapshots_the_log_is_replayed_from_its_start(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(1, 0, 0, 0)
    log.append_snapshot(2, 0, 0, 64, 0, 0)  # without the consensus module's it is none
    log.append_standby_snapshot(3, 0, 0, 64, 0, 0, "h:1")
    log.append_standby_snapshot(4, 0, 0, 64, 0, CM, "h:1")
    plan = log.create_recovery_plan(1, Extent(start_position=32))
    assert plan.snapshots == ()
    assert plan.log is not None
    assert (plan.log.start_position, plan.committed_log_position) == (32, 0)


def test_snapshots_alone_are_recovered_from(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_snapshot(2, 3, 10, 64, 0, CM)
    plan = log.create_recovery_plan(0, None)
    assert (plan.last_leadership_term_id, plan.last_term_base_log_position) == (3, 10)
    assert (plan.appended_log_position, plan.committed_log_position, plan.log) == (64, 64, None)


def test_invalid_terms_and_sets_that_lack_a_snapshot_do_not_count(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.invalidate_entry(log.get_term_entry(8))
    log.invalidate_entry(next(one for one in log.entries if one.recording_id == 4))
    plan = log.create_recovery_plan(1, EXTENT)
    assert plan.log is not None
    assert (plan.log.leadership_term_id, [one.recording_id for one in plan.snapshots]) == (7, [3, 2])


def test_a_member_does_not_recover_without_one_of_its_snapshots(tmp_path: Path) -> None:
    with pytest.raises(RecordingLogError, match="no set of snapshots is complete; at log position 1280; expected valid snapshots of 2"):
        filled(tmp_path).create_recovery_plan(2, EXTENT)


def test_a_recording_that_the_archive_does_not_know_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordingLogError, match=r"the archive does not know the recording of the log; .*got recording 1"):
        filled(tmp_path).create_recovery_plan(1, None)


def test_a_descriptor_of_the_archive_s_client_is_an_extent() -> None:
    values: dict[str, Any] = {one.name: 0 if one.type == "int" else "" for one in fields(RecordingDescriptor)}
    extent: RecordingExtent = RecordingDescriptor(**values)
    assert [getattr(extent, one.name) for one in fields(Extent)] == [0] * 6


def test_the_plan_of_an_official_log(golden_clusters: Path) -> None:
    log = RecordingLog.open(golden_clusters / "three-node-failover-kill" / "node2", FileSystem(), writable=False)
    assert log.recording_of_plan() == 0
    plan = log.create_recovery_plan(1, Extent(stop_position=10_112))
    assert [(one.recording_id, one.service_id, one.log_position) for one in plan.snapshots] == [(2, CM, 4192), (1, 0, 4192)]
    assert (plan.last_leadership_term_id, plan.last_term_base_log_position) == (1, 6112)
    assert (plan.appended_log_position, plan.committed_log_position) == (10_112, 4192)
