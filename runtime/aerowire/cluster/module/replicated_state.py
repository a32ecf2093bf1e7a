"""What the log builds, alike at every member: sessions of clients, timers, pending messages of services.

A leader changes it as it appends, and takes back what was not committed; a follower changes it as it reads. Aeron: ConsensusModuleAgent.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from aerowire.cluster.module.cluster_clock import NANOSECONDS_OF
from aerowire.cluster.module.node_services.service_codec import ServiceMessage
from aerowire.cluster.module.uncommitted import UncommittedStates
from aerowire.cluster.service_messages.pending_service_message_tracker import PendingServiceMessageTracker
from aerowire.cluster.service_messages.service_session_ids import service_id_of_log_message, service_id_of_service_message
from aerowire.cluster.sessions import inputs
from aerowire.cluster.snapshots.consensus_module_snapshot import ConsensusModuleRecord, ConsensusModuleState
from aerowire.cluster.timers.cluster_timers import ClusterTimers
from aerowire.cluster.timers.suppliers import timer_service_named
from aerowire.codecs.flyweights.cluster.messages.cancel_timer import CancelTimer
from aerowire.codecs.flyweights.cluster.messages.close_session import CloseSession
from aerowire.codecs.flyweights.cluster.messages.schedule_timer import ScheduleTimer
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent
from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent
from aerowire.codecs.tables.cluster_options import OPTIONS

if TYPE_CHECKING:
    from aerowire.cluster.module.clients.client_sessions import ClientSessions
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_publisher import Appended, LogPublisher
    from aerowire.codecs.flyweights.cnc import ConsensusModuleState as State


class ReplicatedState:
    """The state that snapshots keep. Changed by the log, by services, and by a leader's appends.

    Invariant: what `uncommitted_states` holds is beyond the commit position of the last `sweep`.
    """

    def __init__(self, core: ModuleCore, sessions: ClientSessions) -> None:
        """Start with nothing."""
        self._core = core
        self._log_publisher: LogPublisher | None = None
        self._leadership_term_id = -1
        self.sessions = sessions
        self.uncommitted_states = UncommittedStates()
        self._trackers = [PendingServiceMessageTracker(service_id) for service_id in range(core.context.service_count)]
        make_timers = partial(
            timer_service_named,
            str(core.context.options["timer_service_supplier"]),
            OPTIONS["timer_service_supplier"].property,
            nanoseconds_per_unit=NANOSECONDS_OF[core.cluster_clock.time_unit],
            tick_resolution_ns=core.context.wheel_tick_resolution_ns,
            ticks_per_wheel=core.context.ticks_per_wheel,
        )
        self._timers = ClusterTimers(make_timers, self._append_timer)

    # Snapshots

    def load(self, state: ConsensusModuleState) -> None:
        """Go on from a snapshot. Raises ClusterSnapshotError."""
        self.sessions.load(state.numbers.next_session_id, state.sessions)
        self._timers.load(state.timers)
        for pending in state.pending_messages:
            self._trackers[pending.service_id].load(pending)
        self._timers.current_time(self._core.cluster_clock.time())

    def state(self) -> ConsensusModuleState:
        """Return what a snapshot keeps."""
        pending = tuple(tracker.record() for tracker in self._trackers)
        first = pending[0] if pending else None
        return ConsensusModuleState(
            numbers=ConsensusModuleRecord(
                next_session_id=self.sessions.next_committed_session_id,
                next_service_session_id=0 if first is None else first.next_service_session_id,
                log_service_session_id=0 if first is None else first.log_service_session_id,
                pending_message_capacity=0 if first is None else first.capacity,
            ),
            sessions=self.sessions.records(),
            timers=self._timers.snapshot(),
            pending_messages=pending,
        )

    # Terms

    def begin_leading(self, log_publisher: LogPublisher, leadership_term_id: int) -> None:
        """Append to the leader's log from now on."""
        self._log_publisher, self._leadership_term_id = log_publisher, leadership_term_id
        self._timers.current_time(self._core.cluster_clock.time())

    def end_term(self, commit_position: int) -> State | None:
        """Take back what was not committed; return the member's state before what it has appended in vain, None for the present one."""
        self._log_publisher = None
        self._timers.end_term(commit_position)
        for tracker in self._trackers:
            tracker.restore_uncommitted_messages(commit_position)
        self.sessions.give(inputs.LeadershipEnded(commit_position))
        return self.uncommitted_states.restore(commit_position)

    def append_due(self) -> int:
        """Append timers that have expired, and messages of services; return how many were taken for the log."""
        appended = self._timers.poll(self._core.cluster_clock.time())
        for tracker in self._trackers:
            appended += tracker.poll(partial(self._append_service_message, tracker))
        return appended

    def sweep(self, commit_position: int) -> None:
        """Take note that the leader's log is committed up to a position."""
        self.uncommitted_states.sweep(commit_position)
        self._timers.on_commit_position(commit_position)
        for tracker in self._trackers:
            tracker.sweep_leader_messages(commit_position)

    # The log of another leader, or of before

    def on_service_message(self, cluster_session_id: int) -> None:
        """Take note of the session id of the latest message of a service of this node."""
        self._trackers[service_id_of_log_message(cluster_session_id)].sweep_follower_messages(cluster_session_id)

    def on_log_event(self, event: Any, log_position: int) -> bool:
        """Take an event of the log; return whether it is of this state."""
        if isinstance(event, TimerEvent):
            self._timers.on_timer_replayed(event.correlation_id)
        elif isinstance(event, SessionOpenEvent):
            self.sessions.give(
                inputs.OpenReplayed(
                    log_position,
                    event.correlation_id,
                    event.cluster_session_id,
                    event.response_stream_id,
                    event.response_channel,
                    bytes(event.encoded_principal),
                )
            )
        elif isinstance(event, SessionCloseEvent):
            self.sessions.give(inputs.CloseReplayed(event.cluster_session_id, event.close_reason))
        else:
            return False
        return True

    # Services

    def on_service_word(self, word: object) -> None:
        """Take a message of a service that concerns timers, sessions, or other services."""
        if isinstance(word, ServiceMessage):
            service_id = service_id_of_service_message(word.cluster_session_id)
            if 0 <= service_id < len(self._trackers) and not self._trackers[service_id].enqueue_message(word.message):
                self._core.errors.record(f"no room for messages of service {service_id}", key="no room for messages of a service")
        elif isinstance(word, ScheduleTimer):
            self._timers.on_schedule_timer(word.correlation_id, word.deadline)
        elif isinstance(word, CancelTimer):
            self._timers.on_cancel_timer(word.correlation_id)
        elif isinstance(word, CloseSession):
            self.sessions.give(inputs.ServiceClosed(word.cluster_session_id))

    # Appends

    def _append_timer(self, correlation_id: int) -> bool:
        if self._log_publisher is None:
            return False
        event = TimerEvent(leadership_term_id=self._leadership_term_id, correlation_id=correlation_id, timestamp=0)
        return self._log_publisher.append(event.encode(), partial(_tell_result, self._timers))

    def _append_service_message(self, tracker: PendingServiceMessageTracker, cluster_session_id: int, message: memoryview) -> bool:
        if self._log_publisher is None:
            return False
        header = SessionMessageHeader(leadership_term_id=self._leadership_term_id, cluster_session_id=cluster_session_id, timestamp=0)
        return self._log_publisher.append(header.encode() + message, partial(_tell_result, tracker))


def _tell_result(owner: ClusterTimers | PendingServiceMessageTracker, appended: Appended) -> None:
    if appended.is_refused:
        owner.on_append_refused()
    else:
        owner.on_appended(appended.position)
