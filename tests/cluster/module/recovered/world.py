"""A member's files in several lives drawn from a seed: votes, terms, and sets of snapshots, on a disk that is killed or loses power.

The real parts are recording.log, node state, the member's actions and the acknowledgements of services; the archive is a table.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from aerowire.base.errors import ConsensusModuleError, FileError, RecordingLogError
from aerowire.cluster.files.node_state import NodeStateFile
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.cluster.module import member_actions
from aerowire.cluster.module.member_actions import MemberActions
from aerowire.cluster.module.node_services.service_acks import FAILED_ID, Ack, ServiceAcks
from aerowire.codecs.flyweights.cluster.enums import ClusterAction
from aerowire.codecs.flyweights.cnc import ClusterRole, ConsensusModuleState
from aerowire.codecs.tables.counters import CounterType
from aerowire.simulation.disk.disk import SimulatedDisk
from aerowire.simulation.disk.disk_faults import DiskFaults
from aerowire.simulation.disk.simulated_files import SimulatedFiles
from aerowire.system.clock import ManualClock
from tests.cluster.consensus.checkers import ViolationError

WHOLE_SET = "a member recovers from the latest whole set of snapshots, all of its position"
VOTE_STAYS = "a stored vote is there in the next life"
TERM_STAYS = "a stored term is there in the next life"
JOINED = "a log is joined, and a snapshot over, once all services have acknowledged them"
ACKNOWLEDGED = "an acknowledgement in its order is taken"
_DIRECTORY = Path("/cluster")
_SERVICES, _MODULE, _LOG = 2, -1, 0
_LIVES, _STEPS, _OPERATIONS_MAX = 8, 60, 120
_ENTRY_LENGTH = 32


class RecoveredWorld:
    """One seed's world. `archive` has the service and the position of each recording; the log is recording 0."""

    def __init__(self, seed: int) -> None:
        """Draw the sync level, and whether the disk loses power."""
        self._draw = random.Random(seed)
        self._sync_level = self._draw.choice((0, 1, 2))
        self._loses_power = self._sync_level > 0 and self._draw.random() < 0.7
        self._disk = SimulatedDisk(ManualClock(now_ns=1), seed=seed)
        self.archive: dict[int, tuple[int, int]] = {}
        self.position = 0
        self.term_id = -1
        self.vote = -1
        self.terms: dict[int, int] = {}
        self.noted = 0  # the position of the latest set that was noted, 0 for none
        files = SimulatedFiles(self._disk)
        files.make_directory(_DIRECTORY)
        files.sync_directory("/")
        files.close()

    def run(self) -> None:
        """Run the seed. Raises ViolationError."""
        with patch.object(member_actions, "take_snapshot", self._record_module):
            for _ in range(_LIVES):
                self._live()

    def record(self, service_id: int, position: int) -> int:
        """Record a snapshot; return its recording."""
        recording_id = len(self.archive) + 1
        self.archive[recording_id] = (service_id, position)
        return recording_id

    def _record_module(
        self, _core: object, _state: object, log_position: int, _term_id: int, _extension: object
    ) -> Generator[None, None, int]:
        yield
        return self.record(_MODULE, log_position)

    def _live(self) -> None:
        self._disk.faults = DiskFaults()
        files = SimulatedFiles(self._disk)
        log = RecordingLog.open(_DIRECTORY, files, create=True, sync_level=self._sync_level)
        node_state = NodeStateFile.open(_DIRECTORY, files, create=True, sync_level=self._sync_level)
        self._check(log, node_state)
        self._disk.faults = DiskFaults(writeback=self._draw.choice((0.0, 0.3)), sector=self._draw.choice((512, 4096)))
        files.kill_after(self._draw.randrange(1, _OPERATIONS_MAX))
        life = _Life(self, self._draw, log, node_state)
        with suppress(FileError):
            life.run()
        if self._loses_power:
            self._disk.lose_power()
        files.kill()

    def _check(self, log: RecordingLog, node_state: NodeStateFile) -> None:
        """Check what a life has found."""
        vote = node_state.candidate_term.candidate_term_id
        if vote < self.vote:
            raise ViolationError(VOTE_STAYS, f"{vote} after {self.vote}")
        self.vote = vote
        for term_id, base in self.terms.items():
            entry = log.find_term_entry(term_id)
            if entry is None or entry.term_base_log_position != base:
                raise ViolationError(TERM_STAYS, f"{entry} of term {term_id}, which begins at {base}")
        self.terms = {entry.leadership_term_id: entry.term_base_log_position for entry in log.entries if entry.is_valid_term}
        self.term_id = max(self.terms, default=-1)
        extent: Any = SimpleNamespace(
            start_position=0, stop_position=self.position, initial_term_id=0, term_buffer_length=65536, mtu_length=1408, session_id=1
        )
        try:
            snapshots = log.create_recovery_plan(_SERVICES, extent).snapshots
        except RecordingLogError as error:
            raise ViolationError(WHOLE_SET, str(error)) from error
        position = snapshots[0].log_position if snapshots else 0
        found = [self.archive[snapshot.recording_id] for snapshot in snapshots]
        expected = [(service_id, position) for service_id in range(_MODULE, _SERVICES)] if snapshots else []
        if position < self.noted or found != expected:
            raise ViolationError(WHOLE_SET, f"{found} at {position}, not {expected}; the latest set is of {self.noted}")
        self.noted = position


class _Life:
    """A life of the member: it votes, follows terms, has its services join logs and take snapshots."""

    def __init__(self, world: RecoveredWorld, draw: random.Random, log: RecordingLog, node_state: NodeStateFile) -> None:
        self._world = world
        self._draw = draw
        self._log = log
        self._node_state = node_state
        self._acks = ServiceAcks(_SERVICES)
        self._ack_ids = [0] * _SERVICES
        self._asked: list[deque[tuple[bool, int]]] = [deque() for _ in range(_SERVICES)]  # whether for a snapshot, and the position
        self._taken = 0  # the position of the snapshot that is being taken
        self.member = self._member()
        self._actions = MemberActions(cast("Any", self.member))

    def run(self) -> None:
        """Live. Raises FileError at its sudden end, ViolationError."""
        acts = (*4 * (self._acknowledge, self._poll), *2 * (self._join, self._snapshot), self._vote, self._begin_term, self._lose_snapshot)
        self._begin_term()
        for _ in range(_STEPS):
            self._draw.choice(acts)()
            self._world.position += _ENTRY_LENGTH * self._draw.randint(0, 2)
        while any(self._asked):
            self._acknowledge()
        for _ in range(_STEPS):
            self._poll()
        if (
            any(self._asked)
            or not self._acks.is_settled
            or self._acks.is_snapshot_expected
            or self.member.state != ConsensusModuleState.ACTIVE
        ):
            raise ViolationError(JOINED, f"{self.member.state.name}, asked for {self._asked}, settled: {self._acks.is_settled}")

    def _vote(self) -> None:
        vote = self._world.vote + 1
        self._node_state.update_candidate_term_id(vote, self._world.position, 0)
        self._world.vote = vote

    def _begin_term(self) -> None:
        world = self._world
        term_id, base = world.term_id + 1, world.position
        self._log.ensure_coherent(
            _LOG,
            initial_log_leadership_term_id=0,
            initial_term_base_log_position=0,
            leadership_term_id=term_id,
            term_base_log_position=base,
            log_position=-1,
            timestamp=0,
        )
        world.term_id = self.member.leadership_term_id = term_id
        world.terms[term_id] = base

    # Services

    @property
    def _is_free(self) -> bool:
        """Whether services have joined the log, and no snapshot is taken."""
        return self._acks.is_settled and self.member.state == ConsensusModuleState.ACTIVE

    def _join(self) -> None:
        """Have services join a log, as soon as they have joined the one before."""
        if self._is_free:
            self._ask_to_join()

    def _snapshot(self) -> None:
        """Let the log ask for a snapshot."""
        if self._is_free:
            self._world.position += _ENTRY_LENGTH
            self._taken = self._world.position
            event: Any = SimpleNamespace(leadership_term_id=self.member.leadership_term_id, action=ClusterAction.SNAPSHOT, flags=0)
            self._actions.on_cluster_action(event, self._taken)
            for asked in self._asked:
                asked.append((True, self._taken))

    def _lose_snapshot(self) -> None:
        """Let a leader append the action of a snapshot in vain, and have services join the log of the next leader before it."""
        if self._is_free:
            self._acks.expect_snapshot(self._world.position + _ENTRY_LENGTH)
            self._ask_to_join()

    def _ask_to_join(self) -> None:
        self._acks.expect_join(self._world.position)
        for asked in self._asked:
            asked.append((False, self._world.position))

    def _acknowledge(self) -> None:
        """Let a service do what it was asked first; it may fail to take a snapshot."""
        service_id = self._draw.randrange(_SERVICES)
        if not self._asked[service_id]:
            return
        is_snapshot, position = self._asked[service_id].popleft()
        is_recorded = is_snapshot and self._draw.random() < 0.9
        recording_id = self._world.record(service_id, position) if is_recorded else FAILED_ID
        try:
            self._acks.add(service_id, Ack(self._ack_ids[service_id], position, recording_id))
            self._ack_ids[service_id] += 1
            self._acks.settle()
        except ConsensusModuleError as error:
            raise ViolationError(ACKNOWLEDGED, str(error)) from error
        self._actions.on_service_acks()

    def _poll(self) -> None:
        self._actions.poll()

    # What the actions use of a member

    def _member(self) -> Any:
        def set_state(state: ConsensusModuleState) -> None:
            member.state = state

        member = SimpleNamespace(
            core=self._core(),
            state=ConsensusModuleState.ACTIVE,
            role=ClusterRole.FOLLOWER,
            leadership_term_id=self._world.term_id,
            commit_position=0,
            services=SimpleNamespace(acks=self._acks),
            replicated=SimpleNamespace(state=self._state, sessions=SimpleNamespace(update_time_of_last_activity=lambda: None)),
            set_state=set_state,
            is_following=False,
            may_read_log=True,
            consumption=None,
            extension=SimpleNamespace(take_snapshot=lambda _publication: None),
        )
        return member

    def _state(self) -> None:
        """Be asked for the state that is kept; the leader goes on meanwhile."""
        self._world.position += _ENTRY_LENGTH * self._draw.randint(0, 2)
        self.member.commit_position = self._world.position

    def _core(self) -> Any:
        def increment(_counter: object) -> None:
            self._world.noted = self._taken

        return SimpleNamespace(
            recording_log=self._log,
            cluster_clock=SimpleNamespace(time=lambda: 0),
            ports=SimpleNamespace(clock=SimpleNamespace(now_ns=lambda: 0)),
            errors=SimpleNamespace(record=lambda *_, **__: None),
            increment=increment,
            counters={CounterType.CLUSTER_TOTAL_MAX_SNAPSHOT_DURATION: SimpleNamespace(is_closed=True)},
        )
