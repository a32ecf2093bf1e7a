"""The positions of a follower, outside elections. Aeron: ConsensusModuleAgent.consensusWork, updateFollowerPosition, onCommitPosition.

A follower tells its leader what it has recorded, as that grows and each interval, consumes what the leader says is committed, and begins
an election once its leader is silent for the heartbeat timeout or has closed its log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.cluster.consensus.effects import NotifyCommit, TerminateAt
from aerowire.cluster.consensus.messages import AppendPosition, CommitPosition, NewLeadershipTerm, TerminationPosition
from aerowire.codecs.flyweights.archive_files import NULL_POSITION

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.core import ConsensusCore


class FollowerCommit:
    """The follower of a term's leader. Invariant: the notified commit position only moves forward."""

    def __init__(self, core: ConsensusCore, enter_election: Callable[[str], None]) -> None:
        """Start without a term."""
        self._core = core
        self._enter_election = enter_election
        self._time_of_last_log_update_ns = 0
        self._time_of_last_append_position_send_ns = 0
        self._last_append_position = NULL_POSITION
        self._termination_position = NULL_POSITION

    def begin(self) -> None:
        """Begin with a term whose log this member has joined."""
        core = self._core
        self._time_of_last_log_update_ns = self._time_of_last_append_position_send_ns = core.now_ns
        self._last_append_position = core.append_position
        self._termination_position = NULL_POSITION
        core.emit(NotifyCommit(max(core.notified_commit_position, core.log_position)))

    def tick(self) -> None:
        """Tell the leader of the log, and look whether the leader lives."""
        core = self._core
        is_silent = core.has_expired(self._time_of_last_log_update_ns, core.options.leader_heartbeat_timeout_ns)
        if is_silent and self._termination_position == NULL_POSITION:
            self._enter_election("leader heartbeat timeout")
        elif core.append_position > self._last_append_position or core.has_expired(
            self._time_of_last_append_position_send_ns, core.options.leader_heartbeat_interval_ns
        ):
            self._last_append_position = core.append_position
            self._time_of_last_append_position_send_ns = core.now_ns
            core.send(core.leader_id, AppendPosition(core.leadership_term_id, core.append_position, core.member_id))

    def on_leader_word(self, message: NewLeadershipTerm | CommitPosition) -> None:
        """Take the commit position of the term's own leader; a word of another member, or of another term, says nothing here."""
        core = self._core
        if message.leadership_term_id != core.leadership_term_id or message.leader_member_id != core.leader_id:
            return
        self._time_of_last_log_update_ns = core.now_ns
        position = message.log_position if isinstance(message, CommitPosition) else message.commit_position
        if position > core.notified_commit_position:
            core.notified_commit_position = position
            core.emit(NotifyCommit(position))

    def on_termination_position(self, message: TerminationPosition) -> None:
        """End where the leader says; until then it may be silent."""
        core = self._core
        if message.leadership_term_id == core.leadership_term_id:
            self._termination_position = message.log_position
            self._time_of_last_log_update_ns = core.now_ns
            core.emit(TerminateAt(message.log_position))
