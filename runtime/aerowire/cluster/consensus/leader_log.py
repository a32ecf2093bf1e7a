"""The decision about a leader's NewLeadershipTerm: what a follower's log lacks, and what of it the leader's log does not have.

Log matching (Raft §5.3) by Aeron's messages: a leader tells where the term behind the follower's log term begins in its own log. What the
follower has beyond that is truncated; what it lacks is replicated, term by term, up to the base of the leader's term.

That is sound only if both have the follower's log term from the same leader. A leader that never had it fills it in as an empty term, and a
follower that did have it would then keep entries, and replicate behind them, that the leader's log has not got. So a follower of this kind
first asks for the term before its log term: the answer tells where its log term begins in the leader's log. Another base means another log
from there on. The official follower does not ask. A log term that a candidate told is no proof, because it may be a filled-in one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.codecs.flyweights.archive_files import NULL_POSITION

if TYPE_CHECKING:
    from aerowire.cluster.consensus.messages import NewLeadershipTerm
    from aerowire.cluster.consensus.term_table import TermTable


class Step(enum.Enum):
    """What a follower has to do next."""

    IGNORE = enum.auto()  # the message says nothing about this log
    CANVASS = enum.auto()  # tell the leader the log, so that it answers for that
    ASK = enum.auto()  # ask the leader for the term before the log term
    TRUNCATE = enum.auto()  # end the log at a position
    REPLICATE = enum.auto()  # replicate the leader's recording up to a position
    FOLLOW = enum.auto()  # replay what is committed, and join the leader's log


@dataclass(frozen=True, slots=True)
class Decision:
    """A step; a position to truncate to or to replicate up to; the term that the log is of afterwards, and where that begins."""

    step: Step
    reason: str = ""
    position: int = NULL_POSITION
    leadership_term_id: int = NULL_VALUE
    term_base_log_position: int = NULL_POSITION


class LeaderLog:
    """What is known of the log of one term's leader. Changed by `decide` and `on_replicated`.

    Invariant: `_verified_term_id` is a term of which the leader's log and this member's are the same.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self._leadership_term_id = NULL_VALUE
        self._verified_term_id = NULL_VALUE
        self._asking: NewLeadershipTerm | None = None

    def decide(self, message: NewLeadershipTerm, terms: TermTable, log_term_id: int, append_position: int, log_position: int) -> Decision:
        """Return the next step of a follower with that log. Truncation never goes below what is committed, the log position."""
        if message.leadership_term_id != self._leadership_term_id:
            self._leadership_term_id = message.leadership_term_id
            self._verified_term_id = NULL_VALUE
            self._asking = None
        if log_term_id > message.leadership_term_id:
            return Decision(Step.IGNORE, f"leader of term {message.leadership_term_id}, but this log is of term {log_term_id}")
        if self._is_answer(message, log_term_id):
            return self._verify(message, terms, log_position, append_position)
        if message.log_leadership_term_id != log_term_id:
            return Decision(Step.CANVASS, f"leader's log term {message.log_leadership_term_id}, but this log is of term {log_term_id}")
        if not self._is_verified(message, log_term_id, append_position):
            self._asking = message
            return Decision(Step.ASK, f"whether the leader has the log of term {log_term_id}")
        return self._next_step(message, log_term_id, append_position, log_position)

    def on_replicated(self, leadership_term_id: int) -> None:
        """The log has been continued from the leader's own recording, up to the end of a term."""
        self._verified_term_id = leadership_term_id

    def _is_answer(self, message: NewLeadershipTerm, log_term_id: int) -> bool:
        asking = self._asking
        return (
            asking is not None
            and asking.log_leadership_term_id == log_term_id
            and message.log_leadership_term_id == log_term_id - 1
            and message.leader_member_id == asking.leader_member_id
        )

    def _is_verified(self, message: NewLeadershipTerm, log_term_id: int, append_position: int) -> bool:
        """Whether nothing has to be asked: the logs are the same from their beginning, or the leader is known to have the term."""
        return (
            append_position == 0
            or log_term_id <= 0  # all logs begin term 0 at 0
            or log_term_id in {message.leadership_term_id, self._verified_term_id}
        )

    def _verify(self, message: NewLeadershipTerm, terms: TermTable, log_position: int, append_position: int) -> Decision:
        """Compare where the log term begins in both logs."""
        log_term_id = terms.last_term_id
        last, asking = terms.last, self._asking
        assert last is not None
        assert asking is not None
        base = last.term_base_log_position
        if message.next_leadership_term_id != log_term_id:
            return Decision(Step.IGNORE, f"leader does not know where term {log_term_id} begins")
        if message.next_term_base_log_position == base:
            self._verified_term_id = log_term_id
            return self._next_step(asking, log_term_id, append_position, log_position)
        position = min(message.next_term_base_log_position, base, append_position)
        return self._truncate(position, terms.surviving(log_term_id, position), log_position)

    def _next_step(self, message: NewLeadershipTerm, log_term_id: int, append_position: int, log_position: int) -> Decision:
        """Return the step for logs that are the same up to the shorter one's end, or up to the end of the log term in the leader's."""
        next_base = message.next_term_base_log_position
        # Within the leader's own term a follower's log is the beginning of the leader's: there is nothing to truncate, however old the
        # message may be.
        is_own_term = log_term_id == message.leadership_term_id
        if not is_own_term and next_base != NULL_POSITION and next_base < append_position:
            return self._truncate(next_base, log_term_id, log_position)
        base = message.term_base_log_position
        if append_position == base or (is_own_term and append_position > base):
            return Decision(Step.FOLLOW)
        if append_position > base or message.next_leadership_term_id == NULL_VALUE or next_base == NULL_POSITION:
            return Decision(Step.IGNORE, f"append position {append_position}, but the term begins at {base}, and no term is next")
        return self._replicate(message, log_term_id, append_position)

    def _replicate(self, message: NewLeadershipTerm, log_term_id: int, append_position: int) -> Decision:
        """Replicate the rest of the log term, or else the term behind it."""
        next_base = message.next_term_base_log_position
        if append_position < next_base:
            stop = min(next_base, message.term_base_log_position)
            return Decision(Step.REPLICATE, position=stop, leadership_term_id=log_term_id)
        if message.next_log_position < append_position or message.next_leadership_term_id >= message.leadership_term_id:
            return Decision(Step.IGNORE, f"nothing follows position {append_position}")
        return Decision(
            Step.REPLICATE,
            position=message.next_log_position,
            leadership_term_id=message.next_leadership_term_id,
            term_base_log_position=next_base,
        )

    def _truncate(self, position: int, leadership_term_id: int, log_position: int) -> Decision:
        if position < log_position:
            return Decision(Step.IGNORE, f"truncation to {position} would remove what is committed up to {log_position}")
        return Decision(Step.TRUNCATE, position=position, leadership_term_id=leadership_term_id)
