"""Faults planted in the consensus of all members of a world, each by replacing a method. Seeds of the world must find every one.

`official_log_term_not_asked` is what the official implementation does (commit 63c11a6914); a conversation shows why this one differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aerowire.cluster.consensus import canvass, leader_commit, leading, member_states
from aerowire.cluster.consensus.core import ConsensusCore
from aerowire.cluster.consensus.effects import NotifyCommit
from aerowire.cluster.consensus.follower_commit import FollowerCommit
from aerowire.cluster.consensus.following import Following
from aerowire.cluster.consensus.leader_log import Decision, LeaderLog, Step
from aerowire.cluster.consensus.machine import ConsensusMachine
from aerowire.cluster.consensus.messages import CommitPosition, NewLeadershipTerm
from tests.cluster.consensus.abstract_log import ENTRY_LENGTH

Plant = Callable[[pytest.MonkeyPatch], None]


def quorum_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """Half of the members are a majority."""
    patch.setattr(member_states, "quorum_threshold", lambda count: max(1, count >> 1))


def vote_not_persisted(patch: pytest.MonkeyPatch) -> None:
    """A vote is sent before its term is stored."""

    def store(self: ConsensusCore, candidate_term_id: int, then: Callable[[], None]) -> None:
        self.candidate_term_id = candidate_term_id
        then()

    patch.setattr(ConsensusCore, "store_candidate_term", store)


def term_not_adopted(patch: pytest.MonkeyPatch) -> None:
    """A member stays in its own term when it votes in a later one."""
    original = ConsensusCore.store_candidate_term

    def store(self: ConsensusCore, candidate_term_id: int, then: Callable[[], None]) -> None:
        before = self.candidate_term_id
        if candidate_term_id == before + 1 and self.state.name == "NOMINATE":
            original(self, candidate_term_id, then)
            return

        def forget() -> None:
            then()
            self.candidate_term_id = before

        original(self, candidate_term_id, forget)

    patch.setattr(ConsensusCore, "store_candidate_term", store)


def truncation_skipped(patch: pytest.MonkeyPatch) -> None:
    """A follower joins the leader's log with what it has beyond it."""

    patch.setattr(LeaderLog, "_truncate", lambda *_: Decision(Step.FOLLOW))


def truncation_too_far(patch: pytest.MonkeyPatch) -> None:
    """A truncation removes more than the leader's log lacks."""
    original = LeaderLog._truncate

    def truncate(self: LeaderLog, position: int, leadership_term_id: int, _: int) -> Decision:
        return original(self, max(0, position - 4 * ENTRY_LENGTH), leadership_term_id, 0)

    patch.setattr(LeaderLog, "_truncate", truncate)


def commit_from_own_position(patch: pytest.MonkeyPatch) -> None:
    """A leader commits what it has recorded itself."""
    for module in (leader_commit, leading):
        patch.setattr(module, "quorum_position_bounded_by_leader_log", lambda *given: given[2])


def stale_commit_believed(patch: pytest.MonkeyPatch) -> None:
    """A commit position is believed whoever tells it, of whatever term, and acted on at once."""

    def consider(self: ConsensusMachine, message: CommitPosition) -> None:
        self._core.notified_commit_position = max(self._core.notified_commit_position, message.log_position)
        if self._core.state.name == "CLOSED" and self._core.role.name == "FOLLOWER":
            self._follower_commit.on_leader_word(replace(message, leadership_term_id=self._core.leadership_term_id))

    patch.setattr(ConsensusMachine, "_on_commit_position", consider)
    patch.setattr(
        FollowerCommit,
        "on_leader_word",
        lambda self, message: self._core.emit(
            NotifyCommit(message.log_position if isinstance(message, CommitPosition) else message.commit_position)
        ),
    )
    original = Following._adopt

    def adopt(self: Following, message: NewLeadershipTerm) -> None:
        original(self, replace(message, commit_position=max(message.commit_position, message.log_position)))

    patch.setattr(Following, "_adopt", adopt)


def vote_given_twice(patch: pytest.MonkeyPatch) -> None:
    """A request of the term in which a vote was given gets one as well."""
    original = canvass.Canvass.on_request_vote

    def vote(self: Any, message: Any, refused: Any) -> None:
        if message.candidate_term_id == self._core.candidate_term_id:
            self._core.candidate_term_id -= 1
        original(self, message, refused)

    patch.setattr(canvass.Canvass, "on_request_vote", vote)


def position_before_term(patch: pytest.MonkeyPatch) -> None:
    """Logs are compared by their positions only."""
    patch.setattr(canvass, "compare_log", lambda _, lhs, __, rhs: (lhs > rhs) - (lhs < rhs))
    patch.setattr(member_states, "compare_log", lambda _, lhs, __, rhs: (lhs > rhs) - (lhs < rhs))


def commit_beyond_recorded(patch: pytest.MonkeyPatch) -> None:
    """A follower tells more than it has recorded."""
    original = FollowerCommit.tick

    def tick(self: FollowerCommit) -> None:
        self._core.append_position += ENTRY_LENGTH
        original(self)
        self._core.append_position -= ENTRY_LENGTH

    patch.setattr(FollowerCommit, "tick", tick)


def official_log_term_not_asked(patch: pytest.MonkeyPatch) -> None:
    """A follower takes the leader's log for its own up to the end of its log term. Election.onNewLeadershipTerm."""
    patch.setattr(LeaderLog, "_is_verified", lambda *_: True)


FAULTS: tuple[Plant, ...] = (
    quorum_off_by_one,
    vote_not_persisted,
    term_not_adopted,
    truncation_skipped,
    truncation_too_far,
    commit_from_own_position,
    stale_commit_believed,
    vote_given_twice,
    position_before_term,
    commit_beyond_recorded,
)
