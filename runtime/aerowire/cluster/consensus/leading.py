"""The states of a member that has won a ballot: LEADER_LOG_REPLICATION, LEADER_REPLAY, LEADER_INIT and LEADER_READY."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.effects import AddLogPublication, AppendTermEvent, JoinLogAsLeader, NotifyCommit, StartReplay
from aerowire.cluster.consensus.inputs import LogPublicationAdded, TermEntry
from aerowire.cluster.consensus.member_states import (
    has_active_quorum,
    has_quorum_at_position,
    quorum_position_bounded_by_leader_log,
)
from aerowire.cluster.consensus.messages import AppendPosition, CanvassPosition, CommitPosition
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.core import ConsensusCore
    from aerowire.cluster.consensus.inputs import LogJoined, ReplayDone, TermEventAppended

LEADING = frozenset(
    {ElectionState.LEADER_LOG_REPLICATION, ElectionState.LEADER_REPLAY, ElectionState.LEADER_INIT, ElectionState.LEADER_READY}
)


class Leading:
    """Brings a majority up to the log of the leader, and begins the term. `begin_again` gives the leadership up.

    Raft commits entries of earlier terms only with one of the leader's own (§5.4.2, figure 8). Here the stored term is that entry: this
    member stores it as soon as it has won, followers of this kind before they tell a position of it, so that a majority at the term's base
    position cannot vote for a log that lacks what is below. An official leader stores it in LEADER_INIT.
    """

    def __init__(self, core: ConsensusCore, begin_again: Callable[[str], None]) -> None:
        """Start without a leadership."""
        self._core = core
        self._begin_again = begin_again
        self._announced_log_term_id = NULL_VALUE
        self._is_busy = False
        self._proven_position = 0
        self._published_commit_position = NULL_POSITION
        self._notified_position = 0
        self._reported: dict[int, int] = {}

    def lead(self, reason: str) -> None:
        """Enter LEADER_LOG_REPLICATION as the leader of the candidate term."""
        core = self._core
        core.leader_id = core.member_id
        core.leadership_term_id = core.candidate_term_id
        core.log_session_id = None
        core.published_position = core.term_base_log_position = core.append_position
        self._announced_log_term_id = core.log_leadership_term_id
        self._proven_position = core.log_position
        self._published_commit_position = NULL_POSITION
        self._notified_position = core.log_position
        self._is_busy = False
        self._reported.clear()
        core.enter(ElectionState.LEADER_LOG_REPLICATION, reason)
        core.store_term(core.leadership_term_id, core.append_position, NULL_POSITION, self._add_publication)

    # Ticks

    def log_replication(self) -> None:
        """LEADER_LOG_REPLICATION: wait until a majority has the leader's log."""
        core = self._core
        if core.log_session_id is None:
            return
        self._update()
        if self._proven_position >= core.append_position:
            # Followers that told their positions up to now replay what they have heard is committed, and tell them again once they have
            # joined the log. An official leader takes them for joined, begins the term without them, and they have to catch up.
            for member in core.others():
                member.is_following = False
            core.enter(ElectionState.LEADER_REPLAY)
        elif core.has_stayed(core.options.leader_heartbeat_timeout_ns) and not has_active_quorum(
            core.members, core.now_ns, core.options.leader_heartbeat_timeout_ns
        ):
            # An official leader waits for ever here, while members with longer logs wait for its canvass.
            self._begin_again("no quorum has the leader's log: inactive follower quorum")

    def replay(self) -> None:
        """LEADER_REPLAY: have services consume the log up to the term."""
        core = self._core
        core.is_leader_startup = core.is_node_startup
        if self._is_busy:
            pass
        elif core.log_position >= core.append_position:
            core.enter(ElectionState.LEADER_INIT)
        else:
            self._is_busy = True
            core.emit(StartReplay(core.log_position, core.append_position))
        self._update()

    def init(self) -> None:
        """LEADER_INIT: record the log of the term, and have services join it."""
        core = self._core
        if not self._is_busy and core.log_session_id is not None:
            self._is_busy = True
            core.emit(JoinLogAsLeader(core.leadership_term_id, core.log_position, core.log_session_id, core.is_leader_startup))

    def ready(self) -> None:
        """LEADER_READY: wait until a majority follows the term, then append its first event."""
        core = self._core
        self._update()
        if not self._is_busy and has_quorum_at_position(
            core.members, core.leadership_term_id, core.log_position, core.now_ns, core.options.leader_heartbeat_timeout_ns
        ):
            self._is_busy = True
            core.emit(AppendTermEvent(core.leadership_term_id, core.log_position, core.log_session_id or 0))

    # Results

    def on_log_publication_added(self, result: LogPublicationAdded) -> None:
        """Tell members of the leader from now on: they need the log's session id."""
        if self._core.state is ElectionState.LEADER_LOG_REPLICATION:
            self._core.log_session_id = result.log_session_id

    def on_replay_done(self, result: ReplayDone) -> None:
        """Services have consumed the log."""
        self._core.log_position = max(self._core.log_position, result.position)
        self._is_busy = False

    def on_log_joined(self, result: LogJoined) -> None:
        """Store the term BEFORE anything is appended to its log, then wait for followers."""
        core = self._core
        core.log_recording_id = result.recording_id
        core.store_term(core.leadership_term_id, core.log_position, NULL_POSITION, self._become_ready)

    def on_term_event_appended(self, result: TermEventAppended) -> None:
        """End the election: the term has begun."""
        self._core.published_position = max(self._core.published_position, result.position)
        self._core.complete()

    # Messages

    def on_canvass_position(self, message: CanvassPosition) -> None:
        """Answer a member whose log is of an earlier term; give up for one whose log is of a later one. Aeron: onCanvassPosition."""
        core = self._core
        core.catchups.stop(message.follower_member_id)
        if message.log_leadership_term_id < core.leadership_term_id:
            self.answer(message.follower_member_id, message.log_leadership_term_id)
        elif message.log_leadership_term_id > core.leadership_term_id:
            self._begin_again("potential new election in progress")
        elif core.log_leadership_term_id == core.leadership_term_id:
            # A follower of this term that has started again: an official leader leaves it to the next interval.
            self.answer(message.follower_member_id, message.log_leadership_term_id)

    def on_append_position(self, message: AppendPosition) -> None:
        """Follow a follower's catch-up, and tell an official one that waits for it that the end of an earlier term is committed.

        An official follower that replicates several terms stops at the end of each until the commit position has come there. A follower of
        this kind goes on, and takes no commit position below the term's base for one, so that it acts on nothing too early.
        """
        core = self._core
        member_id, position = message.follower_member_id, message.log_position
        core.catchups.on_append_position(message)
        if (
            core.state is ElectionState.LEADER_LOG_REPLICATION
            and message.leadership_term_id == core.leadership_term_id
            and position < core.append_position
            and self._reported.get(member_id) == position
            and core.terms.ends_at(position)
        ):
            core.send(member_id, CommitPosition(core.leadership_term_id, position, core.member_id))
        self._reported[member_id] = position

    def answer(self, member_id: int, log_leadership_term_id: int) -> None:
        """Tell a member of the leader, and what the leader's log has behind the member's term. Aeron: publishNewLeadershipTerm."""
        core = self._core
        entry = core.terms.find(log_leadership_term_id + 1)
        base = core.term_base_log_position
        following = TermEntry(core.leadership_term_id, base)
        if log_leadership_term_id == core.leadership_term_id and self._is_busy:
            # The term's first event may be recorded by followers already: they must not take the term's base for the end of their log.
            following = TermEntry(NULL_VALUE, NULL_VALUE)
        elif entry is not None:
            following = entry if entry.log_position != NULL_POSITION else replace(entry, log_position=base)
        # Official followers at the term's base tell their append position only while they have heard of no commit position.
        commit_position = self._proven_position if self._proven_position >= core.append_position else 0
        core.send_new_leadership_term(
            member_id,
            log_leadership_term_id,
            following,
            log_position=base,
            is_startup=core.is_leader_startup,
            commit_position=commit_position,
        )

    # Steps

    def _add_publication(self) -> None:
        core = self._core
        core.update_this_member()
        core.emit(AddLogPublication(core.append_position))

    def _become_ready(self) -> None:
        self._is_busy = False
        self._announced_log_term_id = self._core.leadership_term_id
        self._core.enter(ElectionState.LEADER_READY)

    def _update(self) -> None:
        """Count the majority, and tell members of the leader and of the commit position each interval."""
        core = self._core
        if core.role is not ClusterRole.LEADER:
            return
        core.update_this_member()
        position = quorum_position_bounded_by_leader_log(
            core.members, core.leadership_term_id, core.append_position, core.now_ns, core.options.leader_heartbeat_timeout_ns
        )
        # Only forward: what a majority had reached stays committed, even if a member of it is silent by now.
        self._proven_position = max(self._proven_position, position)
        if core.has_update_interval_expired(core.options.leader_heartbeat_interval_ns):
            core.time_of_last_update_ns = core.now_ns
            for member in core.others():
                self.answer(member.member_id, self._announced_log_term_id)
        self._publish_commit_position()
        if self._proven_position >= core.append_position > self._notified_position:
            self._notified_position = core.append_position
            core.emit(NotifyCommit(core.append_position))

    def _publish_commit_position(self) -> None:
        core = self._core
        is_due = self._proven_position > self._published_commit_position or core.has_expired(
            core.time_of_last_commit_position_update_ns, core.options.leader_heartbeat_interval_ns
        )
        if self._proven_position >= core.append_position and is_due:
            core.time_of_last_commit_position_update_ns = core.now_ns
            self._published_commit_position = self._proven_position
            for member in core.others():
                core.send(member.member_id, CommitPosition(core.leadership_term_id, self._proven_position, core.member_id))
