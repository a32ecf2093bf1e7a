"""The official ClusterTool and RecordingLog on directories that ours wrote, and ours on the same: both read and write the same.

One virtual machine runs all commands of a test.
"""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from aerowire.base.errors import RecordingLogError
from aerowire.cluster.files.mark_file import ClusterMarkDetails, ClusterMarkFile
from aerowire.cluster.files.member_directory import describe_member, seed_recording_log_from_snapshot, sort_recording_log
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.recording_log import EntryType
from aerowire.system.ports import Ports
from tests.cluster.files.official_text import NODES, output, printed_headers, printed_log, shown
from tests.interop.cluster.tool_script import Script
from tests.interop.harness import Java
from tests.support.snapshots import golden_clusters

pytestmark = pytest.mark.interop

__all__ = ["golden_clusters"]

CM = -1
PORTS = Ports.system()
LONG_ENDPOINT = "standby-of-the-first-member.example.com:8010"
OPERATIONS = 400


def copied(golden: Path, directory: Path) -> Path:
    """Write the files of an official member anew with ours."""
    directory.mkdir(parents=True)
    official = RecordingLog.open(golden, PORTS.files, writable=False)
    log = RecordingLog.open(directory, PORTS.files, create=True)
    for one in sorted(official.entries, key=lambda one: one.entry_index):
        if one.entry_type == EntryType.TERM:
            log.append_term(one.recording_id, one.leadership_term_id, one.term_base_log_position, one.timestamp)
        else:
            place = (one.leadership_term_id, one.term_base_log_position, one.log_position)
            log.append_snapshot(one.recording_id, *place, one.timestamp, one.service_id)
    for one in official.entries:
        if one.entry_type == EntryType.TERM:
            log.commit_log_position(one.leadership_term_id, one.log_position)
    log.close()
    member = describe_member(PORTS.files, golden)
    for state in (member.component, *member.services):
        header = state.header
        details = {one.name: getattr(header, one.name) for one in fields(ClusterMarkDetails)} | {"services_cluster_dir": ""}
        mark = ClusterMarkFile.create(
            directory, directory, ClusterMarkDetails(**details), PORTS, error_buffer_length=header.error_buffer_length
        )
        mark.signal_ready(header.activity_timestamp_ms)
        mark.close()
    return directory


# What is of the process that wrote the files, and the version of the schema, which is the tool's own.
OWN_FIELDS = ("activityTimestamp", "startTimestamp", "pid", "servicesClusterDir")


def same(text: str) -> list[dict[str, str]]:
    return [{name: value for name, value in header.items() if name not in OWN_FIELDS} for _, header in printed_headers(text)]


def test_the_official_tool_prints_our_directories_as_it_prints_official_ones(java: Java, tmp_path: Path, golden_clusters: Path) -> None:
    script = Script(java, tmp_path)
    numbers = {}
    for node in NODES:
        directory = copied(golden_clusters / node, tmp_path / node)
        numbers[node] = [script.add("tool", command, directory) for command in ("describe", "recording-log", "pid")]
    outcomes = script.run()
    for node, (describe, recording_log, pid) in numbers.items():
        golden = golden_clusters / node
        assert same(outcomes[describe][0]) == same(output(golden / "tool.describe.txt")), node
        assert len(same(outcomes[describe][0])) == 2
        assert outcomes[recording_log][0] == output(golden / "tool.recording-log.txt"), node
        assert int(outcomes[pid][0]) == describe_member(PORTS.files, tmp_path / node).pid == PORTS.processes.own_id()


class Twins:
    """A recording log of ours and an official one, on which the same operations are done."""

    def __init__(self, java: Java, folder: Path) -> None:
        self.mine, self.theirs = folder / "mine", folder / "theirs"
        self.mine.mkdir()
        self.theirs.mkdir()
        self.script = Script(java, folder)
        self.script.add("log", self.theirs)
        self.log = RecordingLog.open(self.mine, PORTS.files, create=True)
        self.refused = [False]

    def do(self, rng: random.Random) -> None:
        """Do a random operation with ours, and note it for the official log."""
        operations = (
            self.term,
            self.term,
            self.snapshot,
            self.snapshot,
            self.snapshot,
            self.standby,
            self.commit,
            self.invalidate,
            self.remove,
        )
        try:
            rng.choice(operations)(rng)
            self.refused.append(False)
        except RecordingLogError:
            self.refused.append(True)

    def term(self, rng: random.Random) -> None:
        last = self.log.find_last_term()
        term_id = rng.randrange(3) + (0 if last is None else last.leadership_term_id)
        base = self._end() + 32 * rng.randrange(9)
        if rng.random() < 0.3:
            position = rng.choice((-1, base + 64))
            self.script.add("coherent", 3, 0, 0, term_id, base, position, len(self.refused))
            self.log.ensure_coherent(
                3,
                initial_log_leadership_term_id=0,
                initial_term_base_log_position=0,
                leadership_term_id=term_id,
                term_base_log_position=base,
                log_position=position,
                timestamp=len(self.refused),
            )
        else:
            recording_id = rng.choice((3, 3, 3, 3, 4))
            self.script.add("term", recording_id, term_id, base, len(self.refused))
            self.log.append_term(recording_id, term_id, base, len(self.refused))

    def snapshot(self, rng: random.Random) -> None:
        invalid = [one for one in self.log.entries if not one.is_valid and one.entry_type == EntryType.SNAPSHOT]
        number = len(self.refused) + 100
        if invalid and rng.random() < 0.5:
            one = rng.choice(invalid)
            place = (one.leadership_term_id, one.term_base_log_position, one.log_position, number, one.service_id)
        else:
            place = self._place(number, rng, is_standby=False)
        self.script.add("snapshot", number, *place)
        self.log.append_snapshot(number, *place)

    def standby(self, rng: random.Random) -> None:
        number = len(self.refused) + 100
        place = self._place(number, rng, is_standby=True)
        endpoint = rng.choice(("h:1", LONG_ENDPOINT))
        self.script.add("standby", number, *place, endpoint)
        self.log.append_standby_snapshot(number, *place, endpoint)

    def _end(self) -> int:
        """Return the position up to which entries reach."""
        return max((max(one.log_position, one.term_base_log_position) for one in self.log.entries), default=0)

    def _place(self, number: int, rng: random.Random, *, is_standby: bool) -> tuple[int, int, int, int, int]:
        """Return where a new snapshot is: in the last term, or one behind it.

        The node and standby nodes take turns in terms: the official log may leave a standby node's snapshot valid in one of both.
        """
        term_id, base = max(((one.leadership_term_id, one.term_base_log_position) for one in self.log.entries), default=(0, 0))
        if term_id % 2 != is_standby:
            term_id, base = term_id + 1, self._end()
        return (term_id, base, self._end() + 32, number, rng.choice((0, 1, CM)))

    def commit(self, rng: random.Random) -> None:
        last = self.log.find_last_term()
        term_id, base = (0, 0) if last is None else (last.leadership_term_id, last.term_base_log_position)
        term_id += rng.choice((0, 0, 0, 1))
        self.script.add("commit", term_id, base + 320)
        self.log.commit_log_position(term_id, base + 320)

    def invalidate(self, rng: random.Random) -> None:
        if self.log.entries and rng.random() < 0.5:
            index = rng.randrange(len(self.log.entries))
            self.script.add("invalidate", index)
            self.log.invalidate_entry(self.log.entries[index])
        else:
            self.script.add("invalidate-latest")
            self.log.invalidate_latest_snapshot()
        self.log.reload()

    def remove(self, rng: random.Random) -> None:
        # The official log reads the rest of a long entry that was removed as another one.
        short = [one for one in self.log.entries if one.length == 64]
        if not short or rng.random() < 0.5:
            self.script.add("remove", 1 << 40, 0)
            self.log.remove_entry(1 << 40, 0)
        else:
            one = rng.choice(short)
            self.script.add("remove", one.leadership_term_id, one.entry_index)
            self.log.remove_entry(one.leadership_term_id, one.entry_index)


def test_both_logs_come_to_the_same_by_the_same_operations(java: Java, tmp_path: Path, seed: int) -> None:
    rng, twins = random.Random(seed), Twins(java, tmp_path)
    states = {}
    for _ in range(OPERATIONS):
        twins.do(rng)
        if rng.random() < 0.2:
            states[twins.script.add("print")] = shown(twins.log)
            twins.refused.append(False)
    last = twins.script.add("tool", "recording-log", twins.mine)
    outcomes = twins.script.run()
    assert [was_refused for _, was_refused in outcomes[:last]] == twins.refused
    assert {True, False} == set(twins.refused)
    for number, state in states.items():
        assert printed_log(outcomes[number][0]) == state, f"seed {seed}, operation {number}"
    theirs = RecordingLog.open(twins.theirs, PORTS.files, writable=False)
    assert shown(theirs) == shown(twins.log) == printed_log(outcomes[last][0])
    assert [one.offset for one in theirs.entries] == [one.offset for one in twins.log.entries]


def test_both_sort_and_seed_to_the_same_bytes_and_plan_the_same(java: Java, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    log = RecordingLog.open(mine, PORTS.files, create=True)
    log.append_term(1, 2, 640, 10)
    log.append_term(1, 1, 0, 9)
    for service_id in (CM, 0, 1):
        log.append_snapshot(5 + service_id, 2, 640, 1280, 11, service_id)
    log.append_snapshot(20, 1, 0, 320, 9, CM)
    log.remove_entry(1, 5)
    log.close()
    shutil.copytree(mine, theirs)
    script = Script(java, tmp_path)
    script.add("tool", "sort-recording-log", theirs)
    script.add("tool", "sort-recording-log", theirs)
    assert [said.strip() for said, _ in script.run()] == ["true", "false"]
    assert (sort_recording_log(PORTS.files, mine), sort_recording_log(PORTS.files, mine)) == (True, False)
    assert (mine / "recording.log").read_bytes() == (theirs / "recording.log").read_bytes()
    seeding = Script(java, tmp_path)
    seeding.add("tool", "seed-recording-log-from-snapshot", theirs)
    seeding.add("log", mine)
    assert seed_recording_log_from_snapshot(PORTS.files, mine) == 3
    plan_number = seeding.add("plan", 2)
    outcomes = seeding.run()
    for name in ("recording.log", "recording.log.bak"):
        assert (mine / name).read_bytes() == (theirs / name).read_bytes(), name
    plan = RecordingLog.open(mine, PORTS.files, writable=False).create_recovery_plan(2, None)
    numbers = re.findall(r"(?:recordingId|serviceId|lastLeadershipTermId|appendedLogPosition)=(-?\d+)", outcomes[plan_number][0])
    expected = [plan.last_leadership_term_id, plan.appended_log_position]
    assert [*map(int, numbers)] == [*expected, *(value for one in plan.snapshots for value in (one.recording_id, one.service_id))]
