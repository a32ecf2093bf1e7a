"""The directory of a member for tools: its mark files, who leads, and the recording log sorted or seeded anew."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from aerowire.base.errors import ClusterFileError, MissingFileError
from aerowire.cluster.files.member_directory import (
    describe_member,
    is_leader,
    seed_recording_log_from_snapshot,
    service_ids,
    sort_recording_log,
)
from aerowire.ipc.counters import CounterInfo, CountersReader
from aerowire.system.file_system import FileSystem
from tests.cluster.files.official_text import NODES, output, shown
from tests.cluster.files.recording_logs import CM, filled, opened

FILES = FileSystem()


@pytest.mark.parametrize("node", NODES)
def test_a_member_is_described_by_its_mark_files(golden_clusters: Path, node: str) -> None:
    member = describe_member(FILES, golden_clusters / node)
    assert str(member.pid) == output(golden_clusters / node / "tool.pid.txt").strip()
    assert [(one.path.name, one.header.service_id, len(one.error_log)) for one in (member.component, *member.services)] == [
        ("cluster-mark.dat", -1, 1 << 20),
        ("cluster-mark-service-0.dat", 0, 1 << 20),
    ]


def test_links_and_the_directory_of_the_services_are_followed(tmp_path: Path, golden_clusters: Path) -> None:
    golden = golden_clusters / "one-node-kill" / "node0"
    cluster, services, marks = (tmp_path / name for name in ("cluster", "services", "marks"))
    for directory in (cluster, services, marks):
        directory.mkdir()
    data = bytearray((golden / "cluster-mark.dat").read_bytes())
    former = b"/srv/aeron/golden/run/gclu/n0/cluster"
    at = data.index(former)
    data[at - 4 : at + len(former)] = struct.pack("<I", len(str(services))) + str(services).encode()
    (marks / "cluster-mark.dat").write_bytes(data)
    (cluster / "cluster-mark.lnk").write_text(f"{marks}\n")
    shutil.copy(golden / "cluster-mark-service-0.dat", services)
    shutil.copy(golden / "cluster-mark-service-0.dat", marks / "cluster-mark-service-12.dat")
    (services / "cluster-mark-service-12.lnk").write_text(str(marks))
    (services / "cluster-mark-service-007.dat").write_bytes(b"")
    (services / "cluster-mark-service-0.lock").write_bytes(b"")
    assert service_ids(FILES, services) == [0, 12]
    member = describe_member(FILES, cluster)
    assert [one.path for one in (member.component, *member.services)] == [
        marks / "cluster-mark.dat",
        services / "cluster-mark-service-0.dat",
        marks / "cluster-mark-service-12.dat",
    ]


def test_a_directory_without_a_member_is_told(tmp_path: Path, golden_clusters: Path) -> None:
    with pytest.raises(MissingFileError):
        describe_member(FILES, tmp_path)
    shutil.copy(golden_clusters / "one-node-kill" / "node0" / "cluster-mark-service-0.dat", tmp_path / "cluster-mark.dat")
    with pytest.raises(ClusterFileError, match="expected a consensus module or a backup; got CONTAINER"):
        describe_member(FILES, tmp_path)


class Counters:
    """Counters as (type id, cluster id, value)."""

    def __init__(self, *counters: tuple[int, int, int]) -> None:
        self._counters = counters

    def for_each(self) -> Iterator[CounterInfo]:
        for number, (type_id, cluster_id, value) in enumerate(self._counters):
            yield CounterInfo(number, type_id, "", value, 0, 0, 0, struct.pack("<i", cluster_id))


@pytest.mark.parametrize(
    ("counters", "leads"),
    [
        ([(201, 0, 2), (207, 0, 17)], True),
        ([(201, 0, 2), (207, 0, 16)], False),
        ([(201, 0, 0), (207, 0, 17)], False),
        ([(201, 0, 0), (207, 0, 17), (201, 1, 2), (207, 1, 17)], False),
        ([(201, 0, 2)], False),
        ([], False),
    ],
)
def test_a_member_leads_by_role_once_its_election_has_ended(counters: list[tuple[int, int, int]], leads: bool) -> None:
    assert is_leader(cast("CountersReader", Counters(*counters)), 0) is leads


def test_an_official_log_is_sorted_already_and_seeded_as_by_the_official_tool(tmp_path: Path, golden_clusters: Path) -> None:
    golden = golden_clusters / "one-node-orderly" / "node0"
    shutil.copy(golden / "recording.log", tmp_path)
    former = (golden / "recording.log").read_bytes()
    assert not sort_recording_log(FILES, tmp_path)
    assert (tmp_path / "recording.log").read_bytes() == former == (golden / "recording.log.after-sort-recording-log").read_bytes()
    assert seed_recording_log_from_snapshot(FILES, tmp_path) == 2
    seeded = (golden / "recording.log.after-seed-recording-log-from-snapshot").read_bytes()
    assert (tmp_path / "recording.log").read_bytes() == seeded
    assert (tmp_path / "recording.log.bak").read_bytes() == former
    assert len(list(tmp_path.iterdir())) == 2


def test_a_sorted_log_keeps_its_entries_and_which_are_invalid(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append_snapshot(9, 7, 0, 900, 1, CM)
    log.append_standby_snapshot(10, 7, 0, 900, 1, CM, "standby-of-the-first-member.example.com:8010")
    log.invalidate_latest_snapshot()
    log.remove_entry(7, 6)
    before = [(one.recording_id, one.is_valid, one.archive_endpoint) for one in log.entries]
    assert (tmp_path / "recording.log.update").exists()  # as a process leaves it that was killed
    assert sort_recording_log(FILES, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["recording.log"]
    log = opened(tmp_path)
    assert [(one.recording_id, one.is_valid, one.archive_endpoint) for one in log.entries] == before
    assert [one.entry_index for one in log.entries] == list(range(7))
    assert not sort_recording_log(FILES, tmp_path)


def test_a_log_is_seeded_with_the_services_of_the_latest_valid_set(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append_snapshot(9, 8, 1280, 1500, 3, 0)  # a set that was not completed
    log.close()
    assert seed_recording_log_from_snapshot(FILES, tmp_path) == 2
    entries = opened(tmp_path).entries
    assert [(one.recording_id, one.leadership_term_id, one.log_position, one.service_id) for one in entries] == [
        (4, 7, 0, 0),
        (5, 7, 0, CM),
    ]


def test_a_log_without_snapshots_is_seeded_by_none(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append_term(1, 0, 0, 0)
    before = shown(log)
    log.close()
    assert seed_recording_log_from_snapshot(FILES, tmp_path) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["recording.log.bak"]
    (tmp_path / "recording.log.bak").rename(tmp_path / "recording.log")
    assert shown(opened(tmp_path)) == before
