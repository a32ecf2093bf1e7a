"""The log and the votes that each member has reported, and the rules of a majority over them. Aeron: ClusterMember.

All functions are pure; times are nanoseconds of one clock.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.archive_files import NULL_POSITION


@dataclass(slots=True)
class MemberState:
    """One member as this member knows it. Changed by the election and by the leader's commit, as messages of the member arrive.

    `leadership_term_id` and `log_position` belong together: the log that the member reported last, and how far it has recorded that.
    """

    member_id: int
    leadership_term_id: int = NULL_VALUE
    log_position: int = NULL_POSITION
    is_following: bool = False
    time_of_last_append_position_ns: int | None = None
    candidate_term_id: int = NULL_VALUE
    vote: bool | None = None
    is_ballot_sent: bool = False

    def reset(self) -> None:
        """Forget the log and the vote, before another canvass. The time of the last message stays. Aeron: ClusterMember.reset."""
        self.leadership_term_id = NULL_VALUE
        self.log_position = NULL_POSITION
        self.is_following = False
        self.candidate_term_id = NULL_VALUE
        self.vote = None
        self.is_ballot_sent = False

    def update_log_position(self, leadership_term_id: int, log_position: int, now_ns: int, *, is_following: bool = False) -> None:
        """Take what the member has told of its log, as a follower of that term's leader or as one that looks for a leader."""
        self.is_following = is_following
        self.leadership_term_id = leadership_term_id
        self.log_position = log_position
        self.time_of_last_append_position_ns = now_ns

    def is_active(self, now_ns: int, timeout_ns: int) -> bool:
        """Whether the member was heard of within the timeout."""
        last_ns = self.time_of_last_append_position_ns
        return last_ns is not None and last_ns + timeout_ns > now_ns

    def will_vote_for(self, candidate: MemberState) -> bool:
        """Whether the member's log lets it vote for a candidate: it is known, and not ahead of the candidate's.

        Activity does not count: a member that has just died would keep the others from standing. Aeron: ClusterMember.willVoteFor.
        """
        return (
            self.log_position != NULL_POSITION
            and compare_log(self.leadership_term_id, self.log_position, candidate.leadership_term_id, candidate.log_position) <= 0
        )

    def has_reached_position(self, leadership_term_id: int, position: int, now_ns: int, timeout_ns: int) -> bool:
        """Whether the member follows the term's leader, and has recorded its log up to a position."""
        is_in_term = self.is_following and self.leadership_term_id == leadership_term_id
        return is_in_term and self.log_position >= position and self.is_active(now_ns, timeout_ns)


def compare_log(lhs_log_leadership_term_id: int, lhs_log_position: int, rhs_log_leadership_term_id: int, rhs_log_position: int) -> int:
    """Return 1, 0 or -1 as the left log is ahead of the right one, equal or behind: by term, then by position. Raft §5.4.1."""
    lhs = (lhs_log_leadership_term_id, lhs_log_position)
    rhs = (rhs_log_leadership_term_id, rhs_log_position)
    return (lhs > rhs) - (lhs < rhs)


def quorum_threshold(member_count: int) -> int:
    """Return how many members are a majority."""
    return (member_count >> 1) + 1


def has_active_quorum(members: Collection[MemberState], now_ns: int, timeout_ns: int) -> bool:
    """Whether a majority was heard of within the timeout."""
    return sum(member.is_active(now_ns, timeout_ns) for member in members) >= quorum_threshold(len(members))


def quorum_position(members: Collection[MemberState], leadership_term_id: int, now_ns: int, timeout_ns: int) -> int:
    """Return the highest position that a majority has recorded of the log of a term; 0 if there is none.

    Only a position that a member reported for this term counts: a log of an earlier term, which a canvass or a delayed message names, may
    differ from the leader's below that position (Raft §5.3), and Raft §5.4.2 forbids to commit entries of earlier terms by counting them.
    ClusterMember.quorumPosition counts both.
    """
    positions = [
        member.log_position if member.is_active(now_ns, timeout_ns) and member.leadership_term_id == leadership_term_id else 0
        for member in members
    ]
    return max(0, sorted(positions, reverse=True)[quorum_threshold(len(members)) - 1])


def quorum_position_bounded_by_leader_log(
    members: Collection[MemberState], leadership_term_id: int, leader_append_position: int, now_ns: int, timeout_ns: int
) -> int:
    """Return the quorum position, and at most what the leader's own archive has recorded: followers' archives may be faster."""
    return min(quorum_position(members, leadership_term_id, now_ns, timeout_ns), leader_append_position)


def has_quorum_at_position(members: Collection[MemberState], leadership_term_id: int, position: int, now_ns: int, timeout_ns: int) -> bool:
    """Whether a majority follows the term and has its log up to a position."""
    reached = sum(member.has_reached_position(leadership_term_id, position, now_ns, timeout_ns) for member in members)
    return reached >= quorum_threshold(len(members))


def is_unanimous_candidate(members: Collection[MemberState], candidate: MemberState, graceful_closed_leader_id: int) -> bool:
    """Whether all members, but a leader that closed gracefully, would vote for a candidate, and they are a majority of all."""
    voters = [member for member in members if member.member_id != graceful_closed_leader_id]
    return all(member.will_vote_for(candidate) for member in voters) and len(voters) >= quorum_threshold(len(members))


def is_quorum_candidate(members: Collection[MemberState], candidate: MemberState) -> bool:
    """Whether a majority would vote for a candidate."""
    return sum(member.will_vote_for(candidate) for member in members) >= quorum_threshold(len(members))


def become_candidate(members: Collection[MemberState], candidate_term_id: int, candidate_member_id: int) -> None:
    """Begin a ballot: the candidate votes for itself, and all others have not been asked."""
    for member in members:
        is_candidate = member.member_id == candidate_member_id
        member.vote = True if is_candidate else None
        member.candidate_term_id = candidate_term_id if is_candidate else NULL_VALUE
        member.is_ballot_sent = is_candidate


def is_unanimous_leader(members: Collection[MemberState], candidate_term_id: int, graceful_closed_leader_id: int) -> bool:
    """Whether all members, but a leader that closed gracefully, voted for the candidate, and they are a majority of all."""
    voters = [member for member in members if member.member_id != graceful_closed_leader_id]
    return all(_voted_for(member, candidate_term_id) for member in voters) and len(voters) >= quorum_threshold(len(members))


def is_quorum_leader(members: Collection[MemberState], candidate_term_id: int) -> bool:
    """Whether a majority voted for the candidate, and no member against it."""
    if any(member.candidate_term_id == candidate_term_id and member.vote is False for member in members):
        return False
    return has_majority(members, candidate_term_id)


def is_leader_of_present(members: Collection[MemberState], candidate_term_id: int) -> bool:
    """Whether a majority voted for the candidate, no member against it, and all that took part in the canvass have voted.

    A member that told nothing of its log since the canvass began is dead or cut off. ClusterMember has no such rule, so that an official
    candidate waits for such a member's vote as long as the election may last.
    """
    present = [member for member in members if member.log_position != NULL_POSITION]
    return is_quorum_leader(members, candidate_term_id) and all(_voted_for(member, candidate_term_id) for member in present)


def has_majority(members: Collection[MemberState], candidate_term_id: int) -> bool:
    """Whether a majority voted for the candidate, whatever the others did: enough to lead by Raft §5.2.

    An official candidate also needs to have no vote against it, so that one member that refuses all can keep a cluster from electing.
    """
    return sum(_voted_for(member, candidate_term_id) for member in members) >= quorum_threshold(len(members))


def _voted_for(member: MemberState, candidate_term_id: int) -> bool:
    return member.candidate_term_id == candidate_term_id and member.vote is True
