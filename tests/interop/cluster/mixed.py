"""Clusters whose members are official ones and our own, with the same service in both languages."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from aerowire.base.errors import AerowireError
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.cnc import CncFile
from aerowire.system.file_system import FileSystem
from tests.interop.cluster.nodes import Cluster, Member
from tests.interop.harness import Side
from tests.interop.mark_files import age
from tests.interop.scenarios import LIMIT_S, Scenario
from tests.support.waiting import rest


class MixedCluster(Cluster):
    """A cluster with members of the sides given, in the order of their ids."""

    def __init__(self, scenario: Scenario, sides: Sequence[Side], properties: Mapping[str, str] | None = None) -> None:
        super().__init__(scenario, len(sides), properties)
        self.sides = tuple(sides)

    def leader_of(self, members: Sequence[Member]) -> Member:
        """Wait until these members have elected one of them, and all others of them follow; return the leader."""
        deadline = time.monotonic() + LIMIT_S
        while (leader := self.find_leader(members)) is None:
            assert time.monotonic() < deadline, [counters_of(member) for member in members]
            rest()
        return leader

    def find_leader(self, members: Sequence[Member]) -> Member | None:
        """Return the leader that one of these members is, and that all others of them follow; None while there is none."""
        states = [counters_of(member) for member in members]
        leaders = [member for member, state in zip(members, states, strict=True) if is_leading(state)]
        is_settled = all(state.get(CounterType.CLUSTER_ELECTION_STATE) == ElectionState.CLOSED for state in states)
        return leaders[0] if len(leaders) == 1 and is_settled else None

    def committed(self, members: Sequence[Member]) -> int:
        """Wait until these members have committed their logs up to the same position; return that."""
        deadline = time.monotonic() + LIMIT_S
        while len(positions := {counters_of(member).get(CounterType.CLUSTER_COMMIT_POSITION, -1) for member in members}) > 1:
            assert time.monotonic() < deadline, positions
            rest()
        return positions.pop()

    def assert_logs_equal(self, members: Sequence[Member]) -> None:
        """Assert that the committed logs in the archives of these members are equal, byte for byte."""
        position = self.committed(members)
        logs = [log_segment(member).read_bytes()[:position] for member in members]
        assert position > 0
        assert all(log == logs[0] for log in logs)

    def restart(self, member: Member) -> None:
        """Start a member again that was killed, and wait for its driver."""
        self.age_files(member)
        self.start(member)

    def age_files(self, member: Member) -> None:
        """Let a member that was killed start at once: an official one waits until its mark files are old."""
        if self.sides[member.member_id] == "official":
            age(member.directory)

    def _command(self, member: Member, properties: Mapping[str, str]) -> list[str]:
        if self.sides[member.member_id] == "official":
            return super()._command(member, properties)
        definitions = (f"-D{name}={value}" for name, value in properties.items())
        return [sys.executable, "-m", "tests.interop.cluster.member_process", *definitions]


def log_segment(member: Member) -> Path:
    """Return the first segment of the recording of a member's log."""
    log = RecordingLog.open(member.directory / "cluster", FileSystem(), writable=False)
    try:
        return member.directory / "archive" / f"{log.find_last_term_recording_id()}-0.rec"
    finally:
        log.close()


def counters_of(member: Member) -> dict[int, int]:
    """Return the counters of a member's consensus module by type; none while its driver has none."""
    try:
        counters = CncFile.map(member.aeron_dir / "cnc.dat").counters_reader()
        return {info.type_id: info.value for info in counters.for_each()}
    except (AerowireError, OSError):
        return {}


def is_leading(state: Mapping[int, int]) -> bool:
    """Return whether counters are those of a leader whose election has ended."""
    return (state.get(CounterType.CLUSTER_NODE_ROLE), state.get(CounterType.CLUSTER_ELECTION_STATE)) == (
        ClusterRole.LEADER,
        ElectionState.CLOSED,
    )
