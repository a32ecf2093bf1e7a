"""The log of a term that this member leads: begun here, then handed to the native agent until the term ends.

From `hand_over` on the agent appends, commits, and tells followers of it, whatever this thread does meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

from aerowire.base.errors import ConsensusModuleError
from aerowire.base.units import INT64_MAX
from aerowire.cluster.agents.agent_events import TermFault
from aerowire.cluster.agents.events import TermEnded, TermFaulted
from aerowire.cluster.agents.leader_commit import LeaderCommit
from aerowire.cluster.agents.member_positions import MemberPositions
from aerowire.cluster.agents.terms import LeaderTerm
from aerowire.cluster.consensus.inputs import EffectFailed, LogCommitted, LogJoined, Result, TermEventAppended
from aerowire.cluster.consensus.messages import flaw_of
from aerowire.cluster.module.log.catchup_replays import CatchupReplays
from aerowire.codecs.flyweights.archive.enums import SourceLocation
from aerowire.codecs.flyweights.cnc import ClusterRole
from aerowire.codecs.flyweights.events import ClusterEventCode

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.agents.member_positions import ReportedPosition
    from aerowire.cluster.consensus.effects import AppendTermEvent, JoinLogAsLeader, StartCatchup, StopCatchupReplay
    from aerowire.cluster.consensus.messages import CanvassPosition
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_publisher import LogPublisher
    from aerowire.cluster.module.log.log_recording import LogRecording
    from aerowire.cluster.module.node_services.service_control import ServiceControl

# Faults that another election mends. That the recording has stopped is noticed where its position is read.
_REASONS: Final[Mapping[TermFault, str]] = {
    TermFault.INACTIVE_QUORUM: "inactive follower quorum",
    TermFault.LOG_CLOSED: "log publication is closed",
}


class LeaderLog:
    """One log at a time. Changed by all methods, and by events of the agent.

    Invariant: `_term` is there from `hand_over` until the agent has ended it; the publication is closed after that.
    """

    def __init__(
        self,
        core: ModuleCore,
        recording: LogRecording,
        publisher: LogPublisher,
        services: ServiceControl,
        give: Callable[[Result], object],
    ) -> None:
        """`give` gets the faults of a term, and how far it is committed."""
        self._core = core
        self._recording = recording
        self._publisher = publisher
        self._services = services
        self._give = give
        self._catchups = CatchupReplays(core)
        self._term: LeaderTerm | None = None
        self._is_leaving = False
        self._committed_position = 0  # of the term that has ended
        self._told_position = 0
        self.has_joined = False
        core.log_agent.listen(TermFaulted, self._on_term_faulted)
        core.log_agent.listen(TermEnded, self._on_term_ended)

    # An election

    def join(self, effect: JoinLogAsLeader) -> Generator[Pending[Any] | None, Any, LogJoined]:
        """Record the log and have services join it, in steps."""
        publisher, session_id = self._publisher, effect.log_session_id
        yield from self._recording.record(publisher.recording_channel(session_id), session_id, SourceLocation.LOCAL)
        yield from self._services.join_log(
            log_position=effect.position,
            max_log_position=INT64_MAX,
            log_session_id=session_id,
            log_stream_id=self._core.context.log_stream_id,
            is_startup=effect.is_startup,
            role=ClusterRole.LEADER,
            log_channel=publisher.services_channel(session_id),
        )
        publication = publisher.publication
        term_buffer_length = 0 if publication is None else publication.term_buffer_length
        self.has_joined = True
        return LogJoined(effect.position, self._recording.recording_id, term_buffer_length)

    def append_term_event(self, effect: AppendTermEvent) -> Generator[None, None, TermEventAppended]:
        """Append the event that begins the term, in steps."""
        offer = self._publisher.offer_new_leadership_term_event
        while (position := offer(effect.leadership_term_id, effect.term_base_log_position, effect.log_session_id)) is None:
            yield
        return TermEventAppended(position)

    # The term

    @property
    def has_term(self) -> bool:
        """Whether the agent has the term."""
        return self._term is not None

    @property
    def committed_position(self) -> int:
        """How far the agent has committed the log of the term, or of the last one."""
        return self._committed_position if self._term is None else self._term.commit.commit_position

    @property
    def is_settled(self) -> bool:
        """Whether the agent has nothing of the log, and each append has its result."""
        return self._term is None and self._publisher.is_settled

    @property
    def reported_positions(self) -> list[ReportedPosition]:
        """What members have told the leader of its log; nothing unless the agent has the term."""
        return [] if self._term is None else self._term.commit.positions.reported()

    def hand_over(self, leadership_term_id: int, commit_position: int) -> None:
        """Let the agent lead the term. Raises ConsensusModuleError where the log is not recorded any more."""
        core, context = self._core, self._core.context
        commit = LeaderCommit(
            context.cluster_member_id,
            MemberPositions([member.member_id for member in context.members]),
            leadership_term_id=leadership_term_id,
            commit_position=commit_position,
            heartbeat_interval_ns=context.leader_heartbeat_interval_ns,
            heartbeat_timeout_ns=context.leader_heartbeat_timeout_ns,
        )
        append_position = self._recording.position_bound()
        self._told_position = commit_position
        self._term = LeaderTerm(self._publisher.lend(), append_position, commit)
        self._is_leaving = False
        if self._watches_all:
            for member in context.members:
                core.log_agent.proxy.watch_member(member.member_id, is_watched=True)
        core.log_agent.proxy.lead(self._term)

    def poll(self) -> int:
        """Proceed with destinations and catch-ups; return how much was done."""
        self._catchups.poll()
        return self._publisher.poll()

    def tell_committed(self, position: int) -> int:
        """Tell how far the agent has committed the log, if that is further than before; return whether it is."""
        if self._term is None or position <= self._told_position:
            return 0
        self._told_position = position
        self._give(LogCommitted(position))
        return 1

    def on_canvass_position(self, message: CanvassPosition) -> None:
        """Count a member that looks for a leader as heard of."""
        if self._term is not None and flaw_of(message) is None:
            is_of_term = message.log_leadership_term_id == self._term.commit.leadership_term_id
            self._core.log_agent.proxy.update_member(message.follower_member_id, message.log_position, is_of_term=is_of_term)

    def start_catchup(self, effect: StartCatchup) -> None:
        """Replay the log to a follower, whose positions are the consensus machine's meanwhile too."""
        self._core.log_agent.proxy.watch_member(effect.member_id, is_watched=True)
        self._catchups.start(effect, self._recording.recording_id)

    def stop_catchup(self, effect: StopCatchupReplay) -> None:
        """End the replay to a follower."""
        self._core.log_agent.proxy.watch_member(effect.member_id, is_watched=self._watches_all)
        self._catchups.stop(effect.member_id)

    def leave(self) -> None:
        """End the term, and close the log once the agent has given it back: `is_settled` then."""
        self.has_joined = False
        self._catchups.stop_all()
        if self._term is None:
            self._publisher.close()
        elif not self._is_leaving:
            self._is_leaving = True
            self._core.log_agent.proxy.end_term()

    def close(self) -> None:
        """Leave the log as a member that ends: without waiting."""
        self.leave()
        self._publisher.close()

    @property
    def _watches_all(self) -> bool:
        """Whether the positions of all followers are to be noted as events."""
        return ClusterEventCode.APPEND_POSITION in self._core.context.event_codes

    def _on_term_faulted(self, event: TermFaulted) -> None:
        if event.term is not self._term or self._is_leaving:
            return
        if event.fault is TermFault.MAX_POSITION_EXCEEDED:
            raise ConsensusModuleError("log publication at max position", where=f"position {self._publisher.position}")
        if event.fault in _REASONS:
            self._give(EffectFailed(_REASONS[event.fault]))

    def _on_term_ended(self, event: TermEnded) -> None:
        if event.term is self._term and self._term is not None:
            self._committed_position = self._term.commit.commit_position
            self._term = None
            self._publisher.close()
