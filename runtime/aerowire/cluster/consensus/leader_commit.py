"""The commit position of a leader, outside elections. Aeron: ConsensusModuleAgent.updateLeaderPosition, slowTickWork.

A leader commits what a majority has recorded of its term's log (Raft §5.4.2), tells its followers of it at once and each interval, and
gives up once no majority was heard of within the heartbeat timeout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.effects import NotifyCommit
from aerowire.cluster.consensus.inputs import TermEntry
from aerowire.cluster.consensus.member_states import (
    has_active_quorum,
    quorum_position_bounded_by_leader_log,
)
from aerowire.cluster.consensus.messages import AppendPosition, CanvassPosition, CommitPosition
from aerowire.codecs.flyweights.archive_files import NULL_POSITION

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.core import ConsensusCore


class LeaderCommit:
    """The leader of a term. Invariant: `core.log_position`, the commit position, only moves forward and is at most the append position."""

    def __init__(self, core: ConsensusCore, enter_election: Callable[[str], None]) -> None:
        """Start without a term."""
        self._core = core
        self._enter_election = enter_election
        self._time_of_last_log_update_ns: int | None = None

    def begin(self) -> None:
        """Begin the term of an election that has ended: the next tick sends the commit position."""
        self._time_of_last_log_update_ns = None

    def tick(self) -> None:
        """Move the commit position, and tell followers of it."""
        core = self._core
        core.update_this_member()
        timeout_ns = core.options.leader_heartbeat_timeout_ns
        if not has_active_quorum(core.members, core.now_ns, timeout_ns):
            self._enter_election("inactive follower quorum")
            return
        position = quorum_position_bounded_by_leader_log(
            core.members, core.leadership_term_id, core.append_position, core.now_ns, timeout_ns
        )
        is_due = core.has_expired(self._time_of_last_log_update_ns, core.options.leader_heartbeat_interval_ns)
        if position > core.log_position or is_due:
            is_moved = position > core.log_position
            # The quorum position goes back when a member falls silent; what was committed stays so.
            core.log_position = max(core.log_position, position)
            self._time_of_last_log_update_ns = core.now_ns
            for member in core.others():
                core.send(member.member_id, CommitPosition(core.leadership_term_id, core.log_position, core.member_id))
            if is_moved:
                core.emit(NotifyCommit(core.log_position))

    def on_canvass_position(self, message: CanvassPosition) -> None:
        """Tell a member that looks for a leader of this one. Aeron: ConsensusModuleAgent.onCanvassPosition."""
        core = self._core
        if message.log_leadership_term_id > core.leadership_term_id or core.log_session_id is None:
            return
        core.catchups.stop(message.follower_member_id)
        following = TermEntry(NULL_VALUE, NULL_POSITION)
        if message.log_leadership_term_id < core.leadership_term_id:
            entry = core.terms.find(message.log_leadership_term_id + 1)
            following = TermEntry(core.leadership_term_id, core.term_base_log_position) if entry is None else entry
        core.send_new_leadership_term(
            message.follower_member_id,
            message.log_leadership_term_id,
            following,
            log_position=core.published_position,
            is_startup=False,
            commit_position=core.log_position,
        )

    def on_append_position(self, message: AppendPosition) -> None:
        """Follow a follower's catch-up; its position counts from the next tick on."""
        self._core.catchups.on_append_position(message)
