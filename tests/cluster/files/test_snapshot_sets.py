"""Sets of snapshots: which is the latest, which are complete, and those of standby nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.cluster.files.recording_log import RecordingLog
from tests.cluster.files.recording_logs import CM, filled, opened

A, B = "a.example.com:8010", "b:1"


def with_sets(directory: Path) -> RecordingLog:
    """Make a log with sets of two services at 777, 888 and 999, and one at 890 that lacks a service."""
    log = opened(directory)
    number = 0
    for position, services, endpoint in (
        (777, (1, 0, CM), ""),
        (888, (1, 0, CM), A),
        (888, (1, 0, CM), ""),
        (890, (0, CM), ""),
        (990, (1, 0, CM), A),
        (999, (1, 0, CM), ""),
    ):
        for service_id in services:
            if endpoint:
                log.append_standby_snapshot(number, 1, 500, position, 0, service_id, endpoint)
            else:
                log.append_snapshot(number, 1, 500, position, 0, service_id)
            number += 1
    return log


@pytest.mark.parametrize(
    ("position", "found"), [(777, 777), (888, 888), (999, 999), (890, 888), (990, 888), (750, 777), (1000, 999), (0, 777)]
)
def test_a_set_at_a_position_or_before_it_else_the_earliest_is_found(tmp_path: Path, position: int, found: int) -> None:
    snapshots = with_sets(tmp_path).find_snapshot_at_or_before_or_lowest(position, 2)
    assert snapshots is not None
    assert [(one.log_position, one.service_id) for one in snapshots] == [(found, CM), (found, 0), (found, 1)]


def test_incomplete_sets_are_passed_over(tmp_path: Path) -> None:
    log = with_sets(tmp_path)
    assert log.find_snapshot_at_or_before_or_lowest(1000, 3) is None
    latest = next(one for one in log.entries if (one.log_position, one.service_id) == (999, 0))
    log.invalidate_entry(latest)
    found = log.find_snapshot_at_or_before_or_lowest(1000, 2)
    assert found is not None
    assert {one.log_position for one in found} == {888}
    snapshot = log.get_latest_snapshot(0)
    assert snapshot is not None
    assert snapshot.log_position == 890  # of the latest set that has this service


def test_the_latest_snapshot_of_each_service_is_before_the_consensus_module_s(tmp_path: Path) -> None:
    log = with_sets(tmp_path)
    found = [log.get_latest_snapshot(service_id) for service_id in (CM, 0, 1, 2, 100)]
    assert [one and (one.log_position, one.service_id) for one in found] == [(999, CM), (999, 0), (999, 1), None, None]


def test_standby_snapshots_are_found_by_endpoint(tmp_path: Path) -> None:
    log = filled(tmp_path)
    number = 10
    for endpoint, position, services in (
        (A, 640, (0, CM)),
        (A, 1280, (CM, 0)),
        (B, 640, (0, CM)),
        (A, 2000, (0,)),
        (B, 2000, (0, 0)),
    ):
        for service_id in services:
            log.append_standby_snapshot(number, 7, 0, position, number, service_id, endpoint)
            number += 1
    found = {
        endpoint: [(one.recording_id, one.service_id, one.log_position) for one in entries]
        for endpoint, entries in log.latest_standby_snapshots(1).items()
    }
    assert found == {A: [(12, CM, 1280), (13, 0, 1280)], B: [(15, CM, 640), (14, 0, 640)]}
    assert log.latest_standby_snapshots(2) == {}
    log.invalidate_entry(next(one for one in log.entries if one.recording_id == 12))
    assert [one.recording_id for one in log.latest_standby_snapshots(1)[A]] == [11, 10]
