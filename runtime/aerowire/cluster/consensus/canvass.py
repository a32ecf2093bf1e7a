"""The states in which no leader is known: CANVASS, NOMINATE, CANDIDATE_BALLOT and FOLLOWER_BALLOT, and the rule of voting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.cluster.consensus.member_states import (
    become_candidate,
    compare_log,
    has_majority,
    is_leader_of_present,
    is_quorum_candidate,
    is_unanimous_candidate,
    is_unanimous_leader,
)
from aerowire.cluster.consensus.messages import CanvassPosition, RequestVote, Vote
from aerowire.cluster.consensus.options import NULL_MEMBER_ID
from aerowire.codecs.flyweights.cnc import ElectionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.core import ConsensusCore

UNDECIDED = frozenset({ElectionState.CANVASS, ElectionState.NOMINATE, ElectionState.CANDIDATE_BALLOT, ElectionState.FOLLOWER_BALLOT})


class Canvass:
    """Finds a candidate, and votes. `lead` is called once a ballot was won."""

    def __init__(self, core: ConsensusCore, lead: Callable[[str], None]) -> None:
        """Start without a nomination."""
        self._core = core
        self._lead = lead
        self._nomination_deadline_ns = 0

    # Ticks

    def canvass(self) -> None:
        """CANVASS: tell all members of the log, and stand for leader if all or, after a while, enough of them would agree."""
        core = self._core
        if core.has_update_interval_expired(core.options.election_status_interval_ns):
            self.publish_canvass_position()
        if not self.may_stand:
            return
        is_unanimous = is_unanimous_candidate(core.members, core.this_member, core.graceful_closed_leader_id)
        if is_unanimous or (self._has_waited() and is_quorum_candidate(core.members, core.this_member)):
            self.stand()

    @property
    def may_stand(self) -> bool:
        """Whether this member may become the leader: not if another one is appointed."""
        return self._core.options.appointed_leader_id in {NULL_MEMBER_ID, self._core.member_id}

    def stand(self, reason: str = "") -> None:
        """Go to NOMINATE for a random time, so that members that stand at once rarely split the votes (Raft §5.2)."""
        core = self._core
        delay_ns = int(core.random.double() * (core.options.election_timeout_ns >> 1))
        self._nomination_deadline_ns = core.now_ns + delay_ns
        self._core.enter(ElectionState.NOMINATE, reason)

    def nominate(self) -> None:
        """NOMINATE: after the random time, store the next candidate term and ask for votes."""
        core = self._core
        if core.now_ns >= self._nomination_deadline_ns:
            core.store_candidate_term(core.candidate_term_id + 1, self._become_candidate)
        elif core.has_update_interval_expired(core.options.election_status_interval_ns):
            self.publish_canvass_position()

    def candidate_ballot(self) -> None:
        """CANDIDATE_BALLOT: win by all votes, by those of all that are present, or at the end of the time by a majority."""
        core = self._core
        if is_unanimous_leader(core.members, core.candidate_term_id, core.graceful_closed_leader_id):
            self._lead("unanimous leader")
        elif is_leader_of_present(core.members, core.candidate_term_id):
            self._lead("leader of all present")
        elif core.has_stayed(core.options.election_timeout_ns):
            if has_majority(core.members, core.candidate_term_id):
                self._lead("quorum leader")
            else:
                self._core.enter(ElectionState.CANVASS, "no majority")
        else:
            self._request_votes()

    def follower_ballot(self) -> None:
        """FOLLOWER_BALLOT: wait for the leader that the vote was for."""
        if self._core.has_stayed(self._core.options.election_timeout_ns):
            self._core.enter(ElectionState.CANVASS, "no leader came of the ballot")

    def publish_canvass_position(self) -> None:
        """Tell all other members the log of this one."""
        core = self._core
        core.time_of_last_update_ns = core.now_ns
        message = CanvassPosition(core.log_leadership_term_id, core.append_position, core.leadership_term_id, core.member_id)
        for member in core.others():
            core.send(member.member_id, message)

    # Messages

    def on_request_vote(self, message: RequestVote, refused: Callable[[], None]) -> None:
        """Vote. Aeron: Election.onRequestVote; Raft §5.4.1. `refused` is called if the candidate's log is behind.

        A candidate term is stored before the vote that names it is sent, for a yes as for a no. Members that know a leader, or have one in
        the making, do not answer a candidate whose log is good enough: that leader will send it a message.
        """
        core = self._core
        if core.find(message.candidate_member_id) is None or message.candidate_member_id == core.member_id:
            return
        if message.candidate_term_id <= core.candidate_term_id:
            # A repeated request gets the vote again: it is the same vote, and an answer that was lost costs no ballot.
            self._vote(message, self._has_voted_for(message))
        elif compare_log(core.log_leadership_term_id, core.append_position, message.log_leadership_term_id, message.log_position) > 0:
            core.store_candidate_term(message.candidate_term_id, lambda: self._refuse(message, refused))
        elif core.state in UNDECIDED:
            core.store_candidate_term(message.candidate_term_id, lambda: self._give_vote(message))

    def on_vote(self, message: Vote) -> None:
        """Count a vote. A vote for the term stays what it was: a repeated request is answered with no by official members."""
        core = self._core
        if (
            core.state is ElectionState.CANDIDATE_BALLOT
            and message.candidate_term_id == core.candidate_term_id
            and message.candidate_member_id == core.member_id
        ):
            voter = core.find(message.follower_member_id)
            if voter is not None and voter is not core.this_member:
                if voter.candidate_term_id != message.candidate_term_id or voter.vote is not True:
                    voter.vote = message.vote
                voter.candidate_term_id = message.candidate_term_id
                voter.update_log_position(message.log_leadership_term_id, message.log_position, core.now_ns)

    def on_send_failed(self, member_id: int, message: object) -> None:
        """Ask a member again whose ballot did not leave. Aeron: ClusterMember.isBallotSent."""
        member = self._core.find(member_id)
        if (
            member is not None
            and isinstance(message, RequestVote)
            and self._core.state is ElectionState.CANDIDATE_BALLOT
            and message.candidate_term_id == self._core.candidate_term_id
        ):
            member.is_ballot_sent = False

    # Steps

    def _has_waited(self) -> bool:
        """Whether a majority suffices: members that start wait for all, others for as long as a leader may be silent."""
        core = self._core
        if core.is_extended_canvass:
            return core.has_stayed(core.options.startup_canvass_timeout_ns)
        return core.has_expired(core.time_of_last_leader_update_ns, core.options.leader_heartbeat_timeout_ns)

    def _become_candidate(self) -> None:
        core = self._core
        become_candidate(core.members, core.candidate_term_id, core.member_id)
        self._core.enter(ElectionState.CANDIDATE_BALLOT)

    def _request_votes(self) -> None:
        core = self._core
        message = RequestVote(core.log_leadership_term_id, core.append_position, core.candidate_term_id, core.member_id)
        for member in core.members:
            if not member.is_ballot_sent:
                member.is_ballot_sent = True
                core.send(member.member_id, message)

    def _has_voted_for(self, message: RequestVote) -> bool:
        core = self._core
        return (
            core.state is ElectionState.FOLLOWER_BALLOT
            and message.candidate_term_id == core.candidate_term_id == core.voted_term_id
            and message.candidate_member_id == core.voted_for
        )

    def _give_vote(self, message: RequestVote) -> None:
        core = self._core
        core.voted_term_id = message.candidate_term_id
        core.voted_for = message.candidate_member_id
        self._vote(message, True)
        self._core.enter(ElectionState.FOLLOWER_BALLOT)

    def _refuse(self, message: RequestVote, refused: Callable[[], None]) -> None:
        self._vote(message, False)
        refused()

    def _vote(self, message: RequestVote, vote: bool) -> None:
        core = self._core
        core.send(
            message.candidate_member_id,
            Vote(
                candidate_term_id=message.candidate_term_id,
                log_leadership_term_id=core.log_leadership_term_id,
                log_position=core.append_position,
                candidate_member_id=message.candidate_member_id,
                follower_member_id=core.member_id,
                vote=vote,
            ),
        )
