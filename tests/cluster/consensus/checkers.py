"""The rules of Raft, checked at every step of a world of members, by the names that Raft gives them (figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

from aerowire.cluster.consensus.effects import ChangeRole, Effect, NotifyCommit, Send, StoreCandidateTerm, TruncateLog
from aerowire.cluster.consensus.messages import AppendPosition, RequestVote, Vote
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState
from tests.cluster.consensus.abstract_log import ENTRY_LENGTH
from tests.cluster.consensus.abstract_member import AbstractMember

ELECTION_SAFETY = "Election Safety"
LEADER_APPEND_ONLY = "Leader Append-Only"
LOG_MATCHING = "Log Matching"
LEADER_COMPLETENESS = "Leader Completeness"
STATE_MACHINE_SAFETY = "State Machine Safety"
NO_STEP_BACK = "commit and term never step back"
STORED_BEFORE_SENT = "stored before sent"
COMMITTED_BEFORE_APPLIED = "committed before applied"
COMMITTED_STAYS = "what is committed is not truncated"
COMMITTED_BY_MAJORITY = "what is committed is in the log of a majority"
ELECTED_BY_MAJORITY = "a leader has the votes of a majority"
TERM_ADOPTED = "a member votes in terms later than its own"
STALE_LEADER_REFUSED = "a member follows no leader of a term before its vote"
LEADS_BY_MAJORITY = "a leader without a majority gives up"
PROGRESS = "progress after healing"
LEADS_BY_MAJORITY_SLACK_NS = 300_000_000  # what waits while a term is stored is heard later


class ViolationError(AssertionError):
    """A rule does not hold."""

    def __init__(self, rule: str, told: str) -> None:
        """Say which, and how."""
        super().__init__(f"{rule}: {told}")
        self.rule = rule


class Checkers:
    """What all members have done so far. Changed by every effect and every entry."""

    def __init__(self, members: Sequence[AbstractMember] = ()) -> None:
        """Know nothing. `members` are all of a cluster; without them, what a majority of them has done is not checked."""
        self._members = members
        self._heard_ns: dict[tuple[int, int], int] = {}
        self._clocks_ns: dict[int, int] = {}
        self._leaders: dict[int, tuple[int, list[int]]] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._given: dict[int, int] = {}  # by member, the latest term in which it has voted for another one
        self._chains: dict[tuple[int, int], int] = {}
        self.committed: list[int] = []
        self._applied: list[int] = []
        self._lives: dict[int, tuple[int, int, int, int]] = {}
        self._candidate_terms: dict[int, int] = {}

    def effect(self, member: AbstractMember, effect: Effect) -> None:
        """Check an effect."""
        machine = member.machine
        if isinstance(effect, Send):
            self._message(member, effect)
        elif isinstance(effect, ChangeRole) and effect.role is ClusterRole.LEADER:
            self._elected(member, machine.leadership_term_id)
        elif isinstance(effect, NotifyCommit) and machine.role is ClusterRole.LEADER:
            self._committed(member, effect.position)
        elif isinstance(effect, TruncateLog):
            self._truncated(member, effect)
        elif isinstance(effect, StoreCandidateTerm):
            before = self._candidate_terms.get(member.member_id, -1)
            if effect.candidate_term_id <= before and member.disk.candidate_term_id >= effect.candidate_term_id:
                raise ViolationError(NO_STEP_BACK, f"member {member.member_id}: candidate term {effect.candidate_term_id} after {before}")
            self._candidate_terms[member.member_id] = effect.candidate_term_id
        self._life(member)

    def recorded(self, member: AbstractMember) -> None:
        """Check an entry that was recorded: an index and a term stand for one log."""
        entry = member.disk.log[-1]
        key = (len(member.disk.log), entry.term_id)
        if self._chains.setdefault(key, entry.chain) != entry.chain:
            raise ViolationError(LOG_MATCHING, f"member {member.member_id} differs at entry {key[0]} of term {key[1]}")

    def heard(self, member: AbstractMember, sender_id: int) -> None:
        """Note that a member has received a message of another one."""
        self._heard_ns[member.member_id, sender_id] = self._time_of(member)

    def ticked(self, member: AbstractMember) -> None:
        """Check that a leader has heard of a majority of late, by its own clock, which stands still where it was set back."""
        now_ns = self._time_of(member)
        if member.is_leader:
            limit_ns = member.options.leader_heartbeat_timeout_ns + LEADS_BY_MAJORITY_SLACK_NS
            others = (self._heard_ns.get((member.member_id, other.member_id)) for other in self._members if other is not member)
            active = 1 + sum(heard_ns is not None and now_ns - heard_ns < limit_ns for heard_ns in others)
            if 2 * active <= len(self._members):
                raise ViolationError(LEADS_BY_MAJORITY, f"leader {member.member_id} has heard of {active - 1} others in {limit_ns} ns")

    def applied(self, member: AbstractMember, index: int) -> None:
        """Check an entry that services consume."""
        chain = member.disk.log[index].chain
        if index >= len(self.committed):
            raise ViolationError(COMMITTED_BEFORE_APPLIED, f"member {member.member_id} applies entry {index} of {len(self.committed)}")
        if index == len(self._applied):
            self._applied.append(chain)
        elif self._applied[index] != chain:
            raise ViolationError(STATE_MACHINE_SAFETY, f"member {member.member_id} applies another entry {index}")

    def _truncated(self, member: AbstractMember, effect: TruncateLog) -> None:
        if member.machine.role is ClusterRole.LEADER:
            raise ViolationError(LEADER_APPEND_ONLY, f"leader {member.member_id} truncates to {effect.position}")
        count, log = effect.position // ENTRY_LENGTH, member.disk.log
        if count < min(len(self.committed), len(log)) and log[count].chain == self.committed[count]:
            raise ViolationError(COMMITTED_STAYS, f"member {member.member_id} truncates {count} entries of {len(self.committed)}")

    def _message(self, member: AbstractMember, effect: Send) -> None:
        message = effect.message
        if isinstance(message, Vote) and message.vote:
            self._vote(member, message.candidate_term_id, message.candidate_member_id)
            self._given[member.member_id] = message.candidate_term_id
        elif isinstance(message, RequestVote):
            self._vote(member, message.candidate_term_id, member.member_id)
        elif isinstance(message, AppendPosition) and message.leadership_term_id < self._given.get(member.member_id, -1):
            told = f"member {member.member_id} follows term {message.leadership_term_id} after its vote in {self._given[member.member_id]}"
            raise ViolationError(STALE_LEADER_REFUSED, told)

    def _vote(self, member: AbstractMember, term_id: int, candidate_id: int) -> None:
        if member.disk.candidate_term_id < term_id:
            raise ViolationError(STORED_BEFORE_SENT, f"member {member.member_id} votes in term {term_id}, which is not stored")
        if term_id <= member.term_before:
            raise ViolationError(TERM_ADOPTED, f"member {member.member_id} of term {member.term_before} votes in term {term_id}")
        if self._votes.setdefault((term_id, member.member_id), candidate_id) != candidate_id:
            raise ViolationError(ELECTION_SAFETY, f"member {member.member_id} votes twice in term {term_id}")

    def _elected(self, member: AbstractMember, term_id: int) -> None:
        chains = [entry.chain for entry in member.disk.log]
        if term_id in self._leaders:
            raise ViolationError(ELECTION_SAFETY, f"members {self._leaders[term_id][0]} and {member.member_id} lead term {term_id}")
        self._leaders[term_id] = (member.member_id, chains)
        votes = [voter for (voted_id, voter), elected_id in self._votes.items() if (voted_id, elected_id) == (term_id, member.member_id)]
        if len(self._members) > 1 and 2 * len(votes) <= len(self._members):
            raise ViolationError(ELECTED_BY_MAJORITY, f"member {member.member_id} leads term {term_id} by the votes of {votes}")
        if chains[: len(self.committed)] != self.committed:
            raise ViolationError(
                LEADER_COMPLETENESS, f"leader {member.member_id} of term {term_id} lacks committed entries: {len(self.committed)}"
            )

    def _committed(self, member: AbstractMember, position: int) -> None:
        log = member.disk.log
        count = position // ENTRY_LENGTH
        if count > len(log):
            raise ViolationError(COMMITTED_BEFORE_APPLIED, f"leader {member.member_id} commits {count} entries of {len(log)}")
        if count and len(self.committed) >= count:
            if self.committed[count - 1] != log[count - 1].chain:
                raise ViolationError(STATE_MACHINE_SAFETY, f"leader {member.member_id} commits another entry {count - 1}")
            return
        if self.committed and log[len(self.committed) - 1].chain != self.committed[-1]:
            raise ViolationError(STATE_MACHINE_SAFETY, f"leader {member.member_id} commits another log below {len(self.committed)}")
        term_id = member.machine.leadership_term_id
        holders = [one.member_id for one in self._members if self._holds(one, count, log[count - 1].chain, term_id)]
        if self._members and 2 * len(holders) <= len(self._members):
            told = f"leader {member.member_id} of term {term_id} commits {count} entries, which {holders} have in that term"
            raise ViolationError(COMMITTED_BY_MAJORITY, told)
        self.committed.extend(entry.chain for entry in log[len(self.committed) : count])
        for later, (leader_id, chains) in self._leaders.items():
            if later > term_id and chains[:count] != self.committed[:count]:
                raise ViolationError(
                    LEADER_COMPLETENESS, f"leader {leader_id} of term {later} lacks what term {term_id} commits: {count} entries"
                )

    def _holds(self, member: AbstractMember, count: int, chain: int, term_id: int) -> bool:
        """Whether a member has a log up to an entry, and will not vote for one that lacks it: it has stored the term (Raft, figure 8)."""
        log = member.disk.log
        return len(log) >= count and log[count - 1].chain == chain and member.disk.terms.last_term_id >= term_id

    def _time_of(self, member: AbstractMember) -> int:
        """Return a member's time, which never goes back."""
        now_ns = self._clocks_ns[member.member_id] = max(self._clocks_ns.get(member.member_id, 0), member.now_ns)
        return now_ns

    def _life(self, member: AbstractMember) -> None:
        machine = member.machine
        seen = (member.life, machine.log_position, machine.leadership_term_id, machine.candidate_term_id)
        before = self._lives.get(member.member_id)
        if seen != before:
            if before is not None and before[0] == member.life and any(now < then for now, then in zip(seen, before, strict=True)):
                raise ViolationError(NO_STEP_BACK, f"member {member.member_id}: (life, commit, term, candidate term) {before} -> {seen}")
            self._lives[member.member_id] = seen
        if machine.state is ElectionState.CLOSED and machine.log_position > machine.append_position:
            raise ViolationError(NO_STEP_BACK, f"member {member.member_id}: commit {machine.log_position} beyond {machine.append_position}")
