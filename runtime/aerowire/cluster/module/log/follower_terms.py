"""The terms in which this member follows a leader, as its native agent takes part in them. Aeron: ConsensusModuleAgent, as a follower.

The agent tells the leader what is recorded, consumes the log up to the leader's commit position, and says when the leader is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.cluster.agents.agent_events import TermFault
from aerowire.cluster.agents.events import TermEnded, TermFaulted
from aerowire.cluster.agents.follower_commit import FollowerCommit
from aerowire.cluster.agents.terms import FollowerTerm
from aerowire.cluster.consensus.inputs import EffectFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.effects import ElectionComplete
    from aerowire.cluster.consensus.inputs import Result
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_recording import LogRecording


class FollowerTerms:
    """At most one term that the agent has. Changed by all methods, and by events of the agent.

    `leader_heard_ns` is when the leader of the last term that has ended was heard of last, by the time of the agent.

    That a recording has stopped is no fault of a term here: LogRecording finds out in elections too.
    """

    def __init__(self, core: ModuleCore, recording: LogRecording, give: Callable[[Result], object]) -> None:
        """Start without a term. `give` gets the fault that ends one."""
        self._core = core
        self._recording = recording
        self._give = give
        self._term: FollowerTerm | None = None
        self._is_ending = False
        self.leader_heard_ns: int | None = None
        core.log_agent.listen(TermFaulted, self._on_faulted)
        core.log_agent.listen(TermEnded, self._on_ended)

    @property
    def has_term(self) -> bool:
        """Whether the agent has a term, from `begin` until it has left that."""
        return self._term is not None

    def begin(self, effect: ElectionComplete) -> None:
        """Let the agent follow the leader of an election. Raises ConsensusModuleError where the log is not recorded any more."""
        context = self._core.context
        commit = FollowerCommit(
            leadership_term_id=effect.leadership_term_id,
            leader_id=effect.leader_member_id,
            append_position=effect.log_position,  # the log is recorded further: the agent sends that position to the leader at once
            notified_commit_position=effect.log_position,
            heartbeat_interval_ns=context.leader_heartbeat_interval_ns,
            heartbeat_timeout_ns=context.leader_heartbeat_timeout_ns,
            now_ns=self._core.ports.clock.now_ns(),
        )
        self._term, self._is_ending = FollowerTerm(self._recording.position_bound(), commit), False
        self._core.log_agent.proxy.follow(self._term)

    def notify_commit(self, log_position: int) -> None:
        """Take a commit position that the leader has told the conductor."""
        self._core.log_agent.proxy.notify_commit(log_position)

    def terminate(self) -> None:
        """Let the leader be silent from now on: it has said where members end."""
        self._core.log_agent.proxy.terminate()

    def end(self) -> None:
        """End the term, if there is one; its faults are not told any more."""
        if self._term is not None and not self._is_ending:
            self._is_ending = True
            self._core.log_agent.proxy.end_term()

    def _on_faulted(self, event: TermFaulted) -> None:
        if event.term is self._term and not self._is_ending and event.fault is TermFault.SILENT_LEADER:
            self._give(EffectFailed("leader heartbeat timeout"))

    def _on_ended(self, event: TermEnded) -> None:
        if event.term is self._term:
            self.leader_heard_ns = self._term.commit.time_of_last_log_update_ns
            self._term = None
