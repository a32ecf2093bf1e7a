"""What the states of a member's consensus share: terms, positions, members, effects so far, how a state is entered. Aeron: Election.

The states themselves are `canvass`, `leading` and `following`, and once an election is closed `leader_commit` and `follower_commit`;
`machine` hands each input to the state that it is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.catchups import Catchups
from aerowire.cluster.consensus.effects import (
    ChangeRole,
    ChangeState,
    Effect,
    ElectionComplete,
    Send,
    StoreCandidateTerm,
    StoreTerm,
)
from aerowire.cluster.consensus.inputs import CandidateTermStored, TermStored
from aerowire.cluster.consensus.member_states import MemberState
from aerowire.cluster.consensus.messages import NewLeadershipTerm, RequestVote, StopCatchup, TerminationPosition, Vote, flaw_of, sender_of
from aerowire.cluster.consensus.options import NULL_MEMBER_ID
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState

if TYPE_CHECKING:
    from aerowire.base.ports import RandomPort
    from aerowire.cluster.consensus.inputs import RecoveryFacts, Result, TermEntry
    from aerowire.cluster.consensus.messages import Message
    from aerowire.cluster.consensus.options import ConsensusOptions
    from aerowire.cluster.consensus.term_table import TermTable

# A term that far ahead of the log's is not believed: terms count elections, and recording.log has an entry for each of them, which takes a
# second for so many. It takes eight times as many (files.recording_log), so that a term can be stored though elections fail before it.
TERM_GAP_MAX = 1 << 14
Then = Callable[[], None]


class ConsensusCore:
    """What a member knows. Changed by its states and by nothing else.

    Invariants: a `candidate_term_id` that was voted in is in the node state, and `log_leadership_term_id` in recording.log; log position
    <= append position. While `awaited` is set, an effect that stores something is under way, and nothing else is decided.
    """

    def __init__(
        self,
        member_id: int,
        members: tuple[MemberState, ...],
        options: ConsensusOptions,
        random: RandomPort,
        terms: TermTable,
        facts: RecoveryFacts,
    ) -> None:
        """Take over what the member knows; `random` is drawn from once per nomination."""
        self.member_id = member_id
        self.members = members
        self.this_member = next(member for member in members if member.member_id == member_id)
        self.options = options
        self.random = random
        self.terms = terms
        self.catchups = Catchups(self)
        self.effects: list[Effect] = []
        self.now_ns = 0
        self.state = ElectionState.INIT
        self.role = ClusterRole.FOLLOWER
        self.awaited: tuple[Result, Then] | None = None

        self.log_leadership_term_id = terms.last_term_id
        self.leadership_term_id = terms.last_term_id
        self.candidate_term_id = max(facts.candidate_term_id, terms.last_term_id)
        # The latest term in which a vote may have been given to another member; what the node state holds at the start may be such a vote.
        self.voted_term_id = self.candidate_term_id
        self.voted_for = NULL_MEMBER_ID
        self.log_position = facts.log_position
        self.append_position = facts.append_position
        self.published_position = facts.append_position
        self.log_recording_id = facts.log_recording_id

        self.leader_id = NULL_MEMBER_ID
        self.leader_recording_id = NULL_VALUE
        self.log_session_id: int | None = None
        self.term_base_log_position = NULL_POSITION
        self.catchup_join_position = NULL_POSITION
        self.notified_commit_position = 0
        self.is_node_startup = True
        self.is_extended_canvass = False
        self.is_leader_startup = False
        self.graceful_closed_leader_id = NULL_MEMBER_ID
        self.time_of_last_state_change_ns = 0
        self.time_of_last_update_ns: int | None = None
        self.time_of_last_leader_update_ns: int | None = None
        self.time_of_last_commit_position_update_ns: int | None = None

    # Effects

    def emit(self, effect: Effect) -> None:
        """Add an effect behind those of the same input."""
        self.effects.append(effect)

    def send(self, member_id: int, message: Message) -> None:
        """Send a message to another member."""
        self.emit(Send(member_id, message))

    def send_new_leadership_term(
        self,
        member_id: int,
        log_leadership_term_id: int,
        following: TermEntry,
        *,
        log_position: int,
        is_startup: bool,
        commit_position: int,
    ) -> None:
        """Tell a member of this leader, and of the term that follows the member's in the log; nothing before the log is there."""
        if self.log_session_id is None:
            return
        message = NewLeadershipTerm(
            log_leadership_term_id=log_leadership_term_id,
            next_leadership_term_id=following.leadership_term_id,
            next_term_base_log_position=following.term_base_log_position,
            next_log_position=following.log_position,
            leadership_term_id=self.leadership_term_id,
            term_base_log_position=self.term_base_log_position,
            log_position=log_position,
            leader_recording_id=self.log_recording_id,
            timestamp=self.now_ns,
            leader_member_id=self.member_id,
            log_session_id=self.log_session_id,
            app_version=self.options.app_version,
            is_startup=is_startup,
            commit_position=commit_position,
        )
        self.send(member_id, message)

    def others(self) -> list[MemberState]:
        """Return the other members."""
        return [member for member in self.members if member is not self.this_member]

    def find(self, member_id: int) -> MemberState | None:
        """Return a member; None of an id that is no member's."""
        return next((member for member in self.members if member.member_id == member_id), None)

    def is_acceptable(self, message: Message) -> bool:
        """Whether a message is sound, from another member, and of a term that can be."""
        sender_id = sender_of(message)
        if flaw_of(message) is not None or sender_id == self.member_id:
            return False
        if not isinstance(message, StopCatchup | TerminationPosition) and self.find(sender_id) is None:
            return False
        term_id = message.candidate_term_id if isinstance(message, RequestVote | Vote) else message.leadership_term_id
        return term_id <= self.log_leadership_term_id + TERM_GAP_MAX

    def store_candidate_term(self, candidate_term_id: int, then: Then) -> None:
        """Store a candidate term BEFORE anything that names it is sent (Raft: votedFor and currentTerm are persistent)."""

        def stored() -> None:
            self.candidate_term_id = candidate_term_id
            then()

        self.emit(StoreCandidateTerm(candidate_term_id, self.log_position))
        self.awaited = (CandidateTermStored(candidate_term_id), stored)

    def store_term(self, leadership_term_id: int, term_base_log_position: int, log_position: int, then: Then) -> None:
        """Store a term of the log BEFORE it is recorded into or answered for, then go on; at once if recording.log has it already.

        A last term whose stored end is not where the new one begins is given that end first. So recording.log names no part of a log that
        the recording does not have.
        """
        last = self.terms.last
        if self.log_recording_id == NULL_VALUE:
            # Nothing is recorded, and recording.log has terms of recordings only: all of this is found out again after a crash.
            self.log_leadership_term_id = max(self.log_leadership_term_id, leadership_term_id)
            then()
        elif self.terms.holds(leadership_term_id, log_position):
            self.log_leadership_term_id = self.terms.last_term_id
            then()
        elif (
            last is not None
            and last.leadership_term_id < leadership_term_id
            and last.log_position not in {NULL_POSITION, term_base_log_position}
        ):
            self._store(
                (last.leadership_term_id, last.term_base_log_position, term_base_log_position),
                lambda: self._store((leadership_term_id, term_base_log_position, log_position), then),
            )
        else:
            self._store((leadership_term_id, term_base_log_position, log_position), then)

    def _store(self, term: tuple[int, int, int], then: Then) -> None:
        def stored() -> None:
            self.terms.ensure_coherent(*term)
            self.log_leadership_term_id = self.terms.last_term_id
            then()

        self.emit(StoreTerm(*term))
        self.awaited = (TermStored(term[0]), stored)

    # States

    def enter(self, state: ElectionState, reason: str = "") -> None:
        """Go to a state. Aeron: Election.state."""
        if state is self.state:
            return
        if self.state is ElectionState.CANVASS:
            self.is_extended_canvass = False
        if state is ElectionState.CANVASS:
            self._reset_members()
        self.emit(ChangeState(state, reason))
        self.state = state
        self.time_of_last_state_change_ns = self.now_ns
        self.time_of_last_update_ns = None
        self.time_of_last_commit_position_update_ns = None
        if state in {ElectionState.CANVASS, ElectionState.FOLLOWER_LOG_REPLICATION, ElectionState.FOLLOWER_REPLAY}:
            self.change_role(ClusterRole.FOLLOWER)
        elif state is ElectionState.CANDIDATE_BALLOT:
            self.change_role(ClusterRole.CANDIDATE)
        elif state is ElectionState.LEADER_LOG_REPLICATION:
            self.change_role(ClusterRole.LEADER)

    def change_role(self, role: ClusterRole) -> None:
        """Become another role."""
        if role is not self.role:
            self.role = role
            self.emit(ChangeRole(role))

    def complete(self) -> None:
        """End the election."""
        self.emit(
            ElectionComplete(
                leader_member_id=self.leader_id,
                leadership_term_id=self.leadership_term_id,
                log_position=self.log_position,
                is_leader_startup=self.is_leader_startup,
            )
        )
        self.enter(ElectionState.CLOSED)

    def _reset_members(self) -> None:
        for member in self.members:
            member.reset()
        self.update_this_member()
        self.leader_id = NULL_MEMBER_ID

    def update_this_member(self) -> None:
        """Count this member's own log: as it is compared in a canvass, and for the leader's quorum.

        A candidate's log is compared by the term of its log; ClusterMember of the official one holds the leadership term there, which says
        the same as soon as the member has a log of that term.
        """
        is_leader = self.role is ClusterRole.LEADER
        term_id = self.leadership_term_id if is_leader else self.log_leadership_term_id
        self.this_member.update_log_position(term_id, self.append_position, self.now_ns, is_following=is_leader)

    # Times

    def has_update_interval_expired(self, interval_ns: int) -> bool:
        """Whether an interval has passed since the last update was sent in this state."""
        return self.has_expired(self.time_of_last_update_ns, interval_ns)

    def has_expired(self, since_ns: int | None, interval_ns: int) -> bool:
        """Whether an interval has passed since a time; None is for ever ago."""
        return since_ns is None or self.now_ns - since_ns >= interval_ns

    def has_stayed(self, timeout_ns: int) -> bool:
        """Whether the state was entered at least so long ago."""
        return self.now_ns - self.time_of_last_state_change_ns >= timeout_ns
