"""INIT, and the ways there: an election begins, what was open of an earlier log ends, a failure is waited for. Aeron: Election.init."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.consensus.effects import ElectionStarted, ReportFailure, StopLog
from aerowire.cluster.consensus.options import NULL_MEMBER_ID
from aerowire.codecs.flyweights.cnc import ClusterRole, ElectionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.cluster.consensus.core import ConsensusCore
    from aerowire.cluster.consensus.inputs import LogStopped
    from aerowire.cluster.consensus.messages import RequestVote

_DOUBLINGS_MAX = 16


class Initiation:
    """The beginning of each attempt. Invariant: the canvass begins after `LogStopped`, so that the append position is final."""

    def __init__(
        self,
        core: ConsensusCore,
        forget_log: Callable[[], None],
        begin_canvass: Callable[[RequestVote | None], None],
        lead_alone: Callable[[], None],
    ) -> None:
        """`forget_log` is called as a log is left; one of the others once the next attempt begins."""
        self._core = core
        self._forget_log = forget_log
        self._begin_canvass = begin_canvass
        self._lead_alone = lead_alone
        self._held: RequestVote | None = None
        self._is_log_stopped = True
        self._is_stop_due = False
        self._retry_deadline_ns = 0
        self._failures = 0

    def init(self) -> None:
        """INIT: once nothing of an earlier log is open, and a failure's delay is over, take part in a canvass."""
        core = self._core
        if core.state is not ElectionState.INIT or core.now_ns < self._retry_deadline_ns:
            return
        if not self._is_log_stopped:
            if self._is_stop_due:
                self._is_stop_due = False
                core.emit(StopLog(core.log_position))
            return
        core.notified_commit_position = 0
        if len(core.members) == 1:
            core.leader_id = core.member_id
            core.store_candidate_term(max(core.candidate_term_id, core.leadership_term_id) + 1, self._lead_alone)
            return
        held, self._held = self._held, None
        self._begin_canvass(held)

    def enter_election(self, reason: str, graceful_closed_leader_id: int = NULL_MEMBER_ID) -> None:
        """Begin an election out of a term that had a leader. Aeron: ConsensusModuleAgent.enterElection."""
        core = self._core
        core.is_node_startup = False
        core.graceful_closed_leader_id = graceful_closed_leader_id
        core.emit(ElectionStarted(reason))
        self.begin_again(reason)

    def begin_again(self, reason: str) -> None:
        """Leave what was under way for another attempt, because the protocol asks for it."""
        core = self._core
        core.change_role(ClusterRole.FOLLOWER)
        core.catchups.stop_all()
        self._forget_log()
        core.enter(ElectionState.INIT, reason)
        core.leader_id = NULL_MEMBER_ID
        core.log_session_id = None
        self._retry_deadline_ns = core.now_ns
        self._is_log_stopped = self._is_stop_due = False
        core.emit(StopLog(core.log_position))

    def fail(self, reason: str) -> None:
        """Begin again after a failure, each time later, so that a permanent one does not keep the cluster in elections.

        The longest delay is one that a leader without another follower outlasts. The official member begins again at once, for ever.
        """
        core = self._core
        longest_ns = core.options.leader_heartbeat_timeout_ns >> 2
        delay_ns = min(core.options.election_status_interval_ns << min(self._failures, _DOUBLINGS_MAX), longest_ns)
        self._failures += 1
        core.emit(ReportFailure(reason, delay_ns))
        if core.state is ElectionState.INIT:  # the log could not be stopped, or a single member's term not be stored: later once more
            self._is_log_stopped = False
            self._is_stop_due = True
        else:
            self.begin_again(reason)
        self._retry_deadline_ns = core.now_ns + delay_ns

    def end_failures(self) -> None:
        """Forget failures: an election has ended well."""
        self._failures = 0

    def hold(self, message: RequestVote) -> None:
        """Keep the request that ends a term until it can be answered. An official member leaves it to the candidate's next ballot."""
        self._held = message

    def on_log_stopped(self, result: LogStopped) -> None:
        """Go on: all of an earlier log is closed."""
        core = self._core
        if core.state is ElectionState.INIT and not self._is_log_stopped:
            self._is_log_stopped = True
            # A recording that no term was stored for is not this member's log: after a crash it would not be found either.
            if core.terms.last is None:
                core.log_recording_id = NULL_VALUE
            core.append_position = 0 if core.log_recording_id == NULL_VALUE else result.append_position
            core.log_position = max(core.log_position, result.log_position)
            if result.leader_heard_ns is not None:
                core.time_of_last_leader_update_ns = max(core.time_of_last_leader_update_ns or 0, result.leader_heard_ns)
            self.init()
