"""The rules of Raft, checked from outside: on the state that members show at each step, and on the logs that are on their disks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from aerowire.simulation.scenarios.clusters.history import SNAPSHOTS
from aerowire.simulation.scenarios.clusters.logs import Entry, MemberLog
from aerowire.simulation.scenarios.clusters.service import key_of
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aerowire.simulation.scenarios.clusters.history import History
    from aerowire.simulation.scenarios.clusters.node import ClusterNode

ELECTION = "Election Safety"
APPEND_ONLY = "Leader Append-Only"
MATCHING = "Log Matching"
COMPLETENESS = "Leader Completeness"
FORWARD = "commit and term never step back"
BOUNDED = "nothing is applied beyond the commit"
QUORUM = "what is committed is in the log of a majority"
_BEGUN = {ElectionState.LEADER_READY, ElectionState.CLOSED}
# Before the log is read on: a single node has come further when it is seen first.
_RECOVERED = {ElectionState.INIT, ElectionState.CANVASS}


class _Seen:
    """Observations of one node: its highest term, and within one life of its module the term that it leads, its log and its commit."""

    def __init__(self, node: ClusterNode) -> None:
        self.log = MemberLog(node.host)
        self.life = 0
        self.term_id = -1
        self.stored_term_id = -1
        self.appended = 0  # at most, ever
        self.committed = 0  # at most, ever
        self.led_term_id = -1
        self.led_position = 0
        self.is_log_new = True
        self._turns = (0, 0)

    def is_due(self, node: ClusterNode) -> bool:
        """Return whether the module has had a turn since the last call; nothing else changes what it shows."""
        turns = node.lives, 0 if node.module is None else node.module.process.turns
        is_due, self._turns = turns != self._turns, turns
        return is_due


class RaftRules:
    """The rules over all lives of all nodes. `look` is called at each step, `look_at_logs` now and then.

    `committed` is the highest position that any member has shown as committed.
    """

    def __init__(self, nodes: Sequence[ClusterNode], histories: Sequence[History]) -> None:
        self.committed = 0
        self._histories = histories
        self._nodes = nodes
        self._seen = [_Seen(node) for node in nodes]
        self._leaders: dict[int, int] = {}
        self._entries: dict[tuple[int, int], bytes] = {}  # digests by term and position
        self._chosen: list[Entry] = []  # entries that are committed
        self._chosen_terms: list[int] = []  # for each of them the latest term in which a member has shown it, or one before it

    # -- At each step --------------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Look at the members that have had a turn since the last look; return whether one has begun to lead a term."""
        begun = [self._look_at(node, seen) for node, seen in zip(self._nodes, self._seen, strict=True) if seen.is_due(node)]
        return any(begun)

    def check_applied(self, position: int, who: str) -> None:
        """Check that a service has applied nothing beyond the commit."""
        if position > self.committed:
            self.look()
        if position > self.committed:
            raise ViolationError(BOUNDED, f"at most {self.committed}", f"position {position} applied", who)

    def _look_at(self, node: ClusterNode, seen: _Seen) -> bool:
        machine = node.machine
        if machine is None:
            return False
        who = f"node {node.number}"
        if node.stored_term_id < seen.stored_term_id:
            raise ViolationError(FORWARD, f"term {seen.stored_term_id}, which it had stored, or a later one", node.stored_term_id, who)
        if seen.life != node.lives:
            if machine.state in _RECOVERED:
                self._check_recovered(node, machine.log_position, who)
            seen.life, seen.led_term_id, seen.is_log_new = node.lives, -1, True
            seen.term_id = seen.stored_term_id  # one that a member has followed and not voted in is not stored before its log has it
        if machine.candidate_term_id < seen.term_id:
            raise ViolationError(FORWARD, f"term {seen.term_id} or a later one", machine.candidate_term_id, who)
        seen.stored_term_id = max(seen.stored_term_id, node.stored_term_id)
        seen.term_id = machine.candidate_term_id  # that of the log's end is another one: it goes back where the log is cut
        if machine.append_position < seen.log.end:
            seen.is_log_new = True
        seen.appended = max(seen.appended, machine.append_position)
        self._look_at_commit(node, seen, who, is_closed=machine.state is ElectionState.CLOSED)
        if machine.role is not ClusterRole.LEADER:
            seen.led_term_id = -1
            return False
        return self._look_at_leader(node, seen, who)

    def _check_recovered(self, node: ClusterNode, position: int, who: str) -> None:
        """Check what a consensus module has from a snapshot: sessions, timers, and messages of services that are not in the log."""
        state = node.replicated_state
        sessions = [session.session_id for session in state.sessions]
        self._histories[0].load_sessions(position, sessions, who)
        if state.numbers.next_session_id <= max(self._histories[0].sessions.begun_up_to(position), default=0):
            raise ViolationError(SNAPSHOTS, "a session id that was not used", f"{state.numbers.next_session_id} at {position}", who)
        timers = sorted(correlation_id for correlation_id, _ in state.timers)
        expected = sorted(key_of(number, *key) for number, history in enumerate(self._histories) for key in history.timers.at(position))
        if timers != expected:
            raise ViolationError(SNAPSHOTS, f"timers {expected} at {position}", timers, who)
        for pending in state.pending_messages:
            messages = [int.from_bytes(message[-8:], "little") for message in pending.messages]
            sent = [key_of(pending.service_id, *key) for key in self._histories[pending.service_id].messages.at(position)]
            if messages != sent:
                raise ViolationError(SNAPSHOTS, f"messages {sent} of service {pending.service_id} at {position}", messages, who)

    def _look_at_commit(self, node: ClusterNode, seen: _Seen, who: str, *, is_closed: bool) -> None:
        commit = node.commit_position
        if is_closed and commit < seen.committed:
            raise ViolationError(FORWARD, f"a commit at {seen.committed} or later", commit, who)
        if commit <= seen.committed:
            return
        seen.committed = commit
        if commit > self.committed:
            self._check_quorum(commit, who)
            self.committed = commit

    def _check_quorum(self, commit: int, who: str) -> None:
        for node, seen in zip(self._nodes, self._seen, strict=True):
            if (machine := node.machine) is not None:
                seen.appended = max(seen.appended, machine.append_position)
        majority = len(self._nodes) // 2 + 1
        appended = sorted((seen.appended for seen in self._seen), reverse=True)
        if appended[majority - 1] < commit:
            raise ViolationError(QUORUM, f"at most {appended[majority - 1]}, as logs end at {appended}", commit, who)

    def _look_at_leader(self, node: ClusterNode, seen: _Seen, who: str) -> bool:
        machine = node.machine
        assert machine is not None
        term_id = machine.leadership_term_id
        leader = self._leaders.setdefault(term_id, node.number)
        if leader != node.number:
            raise ViolationError(ELECTION, f"node {leader} alone as the leader of term {term_id}", "another leader", who)
        if machine.state not in _BEGUN:
            return False
        if seen.led_term_id == term_id:
            if machine.append_position < seen.led_position:
                raise ViolationError(APPEND_ONLY, f"a log that ends at {seen.led_position} or later", machine.append_position, who)
            seen.led_position = machine.append_position
            return False
        seen.led_term_id, seen.led_position = term_id, machine.append_position
        return True

    # -- What is on the disks ------------------------------------------------------------------------------------------

    def look_at_logs(self) -> None:
        """Read the logs of all members that run, and compare these: what was read of another member before may have been cut since."""
        read = []
        for node, seen in zip(self._nodes, self._seen, strict=True):
            machine = node.machine
            if machine is None or machine.log_recording_id < 0:
                continue
            new = seen.log.read(machine.log_recording_id, machine.append_position, anew=seen.is_log_new)
            seen.is_log_new = False
            who = f"node {node.number}"
            for entry in new:
                if self._entries.setdefault((entry.term_id, entry.end), entry.digest) != entry.digest:
                    expected = f"one log up to the entry of term {entry.term_id} that ends at {entry.end}"
                    raise ViolationError(MATCHING, expected, "another one", who)
            read.append((seen, machine.leadership_term_id, who))
        for seen, term_id, who in read:
            self._choose(seen, term_id, who)
        for node, seen in zip(self._nodes, self._seen, strict=True):
            if seen.led_term_id >= 0 and node.machine is not None:
                self._check_complete(seen, f"node {node.number}, leader of term {seen.led_term_id}")

    def _choose(self, seen: _Seen, leadership_term_id: int, who: str) -> None:
        """Add the committed entries of a member's log that are not known yet, and compare those that are."""
        limit = min(seen.committed, seen.log.end)
        entries = seen.log.entries
        count = bisect_left(entries, limit + 1, key=lambda entry: entry.end)
        both = min(count, len(self._chosen))
        if both and entries[both - 1].digest != self._chosen[both - 1].digest:
            raise ViolationError(COMPLETENESS, f"the committed log up to {self._chosen[both - 1].end}", "another one", who)
        if count > len(self._chosen):
            new = entries[len(self._chosen) : count]
            term_id = max(leadership_term_id, self._chosen_terms[-1] if self._chosen_terms else 0)
            self._chosen += new
            self._chosen_terms += [term_id] * len(new)

    def _check_complete(self, seen: _Seen, who: str) -> None:
        """Check that a leader's log has all that was committed in its term and before: it may not know of a later one."""
        known, count = seen.log.entries, bisect_right(self._chosen_terms, seen.led_term_id)
        if not count:
            return
        if len(known) < count or known[count - 1].digest != self._chosen[count - 1].digest:
            expected = f"the committed log up to {self._chosen[count - 1].end}"
            raise ViolationError(COMPLETENESS, expected, f"one that ends at {seen.log.end}, or differs", who)
