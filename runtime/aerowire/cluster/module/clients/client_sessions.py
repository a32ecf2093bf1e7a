"""The sessions of clients, carried out: responses on publications, events in the log, counters. Aeron: SessionManager, EgressPublisher."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aerowire.cluster.consensus.members import ingress_endpoints
from aerowire.cluster.module.clients.backup_response import backup_response
from aerowire.cluster.module.clients.response_publications import ResponsePublications
from aerowire.cluster.module.clients.session_activity import SessionActivity
from aerowire.cluster.sessions import effects, inputs
from aerowire.cluster.sessions.session_manager import SessionManager
from aerowire.cluster.sessions.session_options import SessionOptions
from aerowire.codecs.flyweights.cluster.messages.challenge_response import ChallengeResponse
from aerowire.codecs.flyweights.cnc import ClusterControlToggle
from aerowire.codecs.flyweights.events import ClusterEventCode
from aerowire.codecs.tables.counters import CounterType

if TYPE_CHECKING:
    from aerowire.cluster.agents.session_table import OpenSession
    from aerowire.cluster.module.core import ModuleCore
    from aerowire.cluster.module.log.log_publisher import Appended, LogPublisher
    from aerowire.cluster.snapshots.consensus_module_snapshot import ClusterSessionRecord
    from aerowire.codecs.flyweights.cluster.enums import CloseReason


class ClientSessions:
    """One member's sessions. Changed by `give`, `tick` and `load`. Invariant: a leader's agent has the sessions whose clients may send.

    Inputs that come while effects are carried out wait until all of them are.
    """

    def __init__(self, core: ModuleCore) -> None:
        """Start without sessions."""
        context = core.context
        options = SessionOptions(
            member_id=context.cluster_member_id,
            ingress_endpoints=ingress_endpoints(context.members),
            max_sessions=context.max_sessions,
            session_timeout_ns=context.session_timeout_ns,
            leader_heartbeat_timeout_ns=context.leader_heartbeat_timeout_ns,
            accept_standby_snapshots=context.accept_standby_snapshots,
            standby_snapshot_notification_processing_delay_ns=context.standby_snapshot_notification_processing_delay_ns,
        )
        self._core = core
        self._manager = SessionManager(options, context.authenticator, context.authorisation)
        self._inbox: deque[inputs.Input] = deque()
        self._is_handling = False
        self._responses = ResponsePublications(core, self.give)
        self._log_publisher: LogPublisher | None = None
        self._send_to_leader: Callable[[bytes], object] = lambda _: None
        self._on_opened: Callable[[int], object] = lambda _: None
        self._on_closed: Callable[[int, CloseReason], object] = lambda _, __: None
        self._activity = SessionActivity(core.log_agent.proxy, context.session_timeout_ns)
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            effects.OpenResponse: self._responses.open,
            effects.CloseResponse: lambda effect: self._responses.close(effect.key),
            effects.Send: self._send,
            effects.AppendSessionOpen: self._append_open,
            effects.AppendSessionClose: self._append_close,
            effects.SessionOpened: self._note_opened,
            effects.SessionClosing: lambda effect: self._activity.close(effect.cluster_session_id),
            effects.SessionClosed: self._note_closed,
            effects.ForwardChallengeResponse: self._forward,
            effects.RequestSnapshot: self._request_snapshot,
            effects.StoreStandbySnapshot: self._store_standby_snapshot,
            effects.ChangeState: self._note_state,
            effects.CountTimedOutClient: lambda _: core.increment(CounterType.CLUSTER_CLIENT_TIMEOUT_COUNT),
            effects.ReportEvent: lambda effect: core.errors.record(effect.text, key=effect.kind),
        }

    def listen(self, on_opened: Callable[[int], object], on_closed: Callable[[int, CloseReason], object]) -> None:
        """Call functions with each session that opens, and each that has closed, and why."""
        self._on_opened, self._on_closed = on_opened, on_closed

    @property
    def next_committed_session_id(self) -> int:
        """The id after that of the last session whose open event is committed."""
        return self._manager.next_committed_session_id

    def principal_of(self, cluster_session_id: int) -> bytes | None:
        """Return the principal of an open session; None of one that is not open."""
        return self._manager.principal_of(cluster_session_id)

    def send(self, cluster_session_id: int, message: bytes) -> bool:
        """Send a message to the client of an open session; return whether there was a connection and room."""
        key = self._manager.response_key_of(cluster_session_id)
        return key is not None and self._responses.send(key, message)

    def records(self) -> tuple[ClusterSessionRecord, ...]:
        """Return what a snapshot keeps."""
        return self._manager.records()

    def load(self, next_session_id: int, records: Iterable[ClusterSessionRecord]) -> None:
        """Go on from the sessions of a snapshot."""
        self._carry_out(self._manager.load(next_session_id, records, self._core.ports.clock.now_ns()))
        self._drain()

    def begin_leading(self, log_publisher: LogPublisher) -> None:
        """Append events to the leader's log from now on, and let the native agent append messages of open sessions."""
        self._log_publisher = log_publisher
        self._activity.begin_leading(self._manager.open_session_ids, self._core.ports.clock.now_ns())

    def end_leading(self) -> None:
        """Let no session append any more."""
        self._activity.end_leading()

    def begin_following(self, send_to_leader: Callable[[bytes], object]) -> None:
        """Pass on what only the leader can answer."""
        self._log_publisher, self._send_to_leader = None, send_to_leader

    def give(self, given: inputs.Input) -> None:
        """Hand an input over."""
        self._inbox.append(given)
        self._drain()

    def tick(self) -> None:
        """Do what is due."""
        clock = self._core.ports.clock
        self._tell_activity()
        self._carry_out(self._manager.tick(clock.now_ns(), clock.now_ms()))
        self._drain()

    def on_image_returned(self, image_id: int) -> None:
        """Take the end of an image of ingress."""
        self._tell_activity()
        self.give(inputs.ImageUnavailable(image_id))

    def poll(self) -> int:
        """Look at publications; return how many have changed."""
        return self._responses.poll()

    def update_time_of_last_activity(self) -> None:
        """Take all clients to be there."""
        self._manager.update_time_of_last_activity(self._core.ports.clock.now_ns())

    def close(self) -> None:
        """Give back what all sessions have."""
        self._carry_out(self._manager.close())

    def _tell_activity(self) -> None:
        for active in self._activity.look(self._core.ports.clock.now_ns()):
            self.give(active)

    def _drain(self) -> None:
        if self._is_handling:
            return
        self._is_handling = True
        clock = self._core.ports.clock
        try:
            while self._inbox:
                self._carry_out(self._manager.handle(self._inbox.popleft(), clock.now_ns(), clock.now_ms()))
        finally:
            self._is_handling = False

    def _carry_out(self, decided: tuple[effects.Effect, ...]) -> None:
        was_handling, self._is_handling = self._is_handling, True
        for effect in decided:
            self._handlers[type(effect)](effect)
        self._is_handling = was_handling

    # Effects

    def _note_opened(self, effect: effects.SessionOpened) -> None:
        self._on_opened(effect.cluster_session_id)

    def _note_closed(self, effect: effects.SessionClosed) -> None:
        self._activity.close(effect.cluster_session_id)
        self._on_closed(effect.cluster_session_id, effect.close_reason)

    def _send(self, effect: effects.Send) -> None:
        message = effect.message
        encoded = backup_response(self._core, message) if isinstance(message, effects.BackupResponse) else message.encode()
        is_sent = encoded is not None and self._responses.send(effect.key, encoded)
        self.give(inputs.Sent(effect.key, message) if is_sent else inputs.NotSent(effect.key, message))

    def _append_open(self, effect: effects.AppendSessionOpen) -> None:
        log, session_id = self._log_publisher, effect.cluster_session_id
        if log is None or not log.has_room or not self._activity.is_leading:
            self.give(inputs.AppendRefused(session_id))
            return
        # The client may answer the event at once, and a service may speak as soon as the log has the session: this order is right for both.
        session = self._activity.expect(session_id, self._core.ports.clock.now_ns())
        if effect.opened is not None:
            self._send(effect.opened)
        self._append(effect, ClusterEventCode.APPEND_SESSION_OPEN, inputs.OpenAppended, session)

    def _append_close(self, effect: effects.AppendSessionClose) -> None:
        self._append(effect, ClusterEventCode.APPEND_SESSION_CLOSE, inputs.CloseAppended)

    def _append(
        self,
        effect: effects.AppendSessionOpen | effects.AppendSessionClose,
        code: ClusterEventCode,
        result_of: Callable[[int, int], inputs.Input],
        session: OpenSession | None = None,
    ) -> None:
        session_id = effect.cluster_session_id

        def on_result(appended: Appended) -> None:
            if appended.is_refused:
                if session is not None:
                    self._activity.forget(session)
                self.give(inputs.AppendRefused(session_id))
                return
            self._core.events.tell(
                code,
                session_id=session_id,
                leadership_term_id=effect.leadership_term_id,
                log_position=appended.position,
                timestamp=appended.timestamp,
            )
            self.give(result_of(session_id, appended.position))

        if self._log_publisher is None or not self._log_publisher.append(effect.encode(timestamp=0), on_result, session):
            self.give(inputs.AppendRefused(session_id))

    def _note_state(self, effect: effects.ChangeState) -> None:
        self._core.events.tell(
            ClusterEventCode.CLUSTER_SESSION_STATE_CHANGE,
            session_id=effect.cluster_session_id,
            action=effect.action.name,
            old_state=effect.old.name,
            new_state=effect.new.name,
            reason=effect.reason,
        )

    def _forward(self, effect: effects.ForwardChallengeResponse) -> None:
        message = ChallengeResponse(
            correlation_id=effect.correlation_id,
            cluster_session_id=effect.cluster_session_id,
            encoded_credentials=effect.encoded_credentials,
        )
        self._send_to_leader(message.encode())

    def _request_snapshot(self, effect: effects.RequestSnapshot) -> None:
        toggle = self._core.counters[CounterType.CLUSTER_CONTROL_TOGGLE]
        is_accepted = not toggle.is_closed and toggle.compare_and_set(ClusterControlToggle.NEUTRAL, ClusterControlToggle.SNAPSHOT)
        self.give(inputs.SnapshotRequested(effect.cluster_session_id, effect.correlation_id, is_accepted))

    def _store_standby_snapshot(self, effect: effects.StoreStandbySnapshot) -> None:
        log = self._core.recording_log
        for entry in effect.entries:
            log.append_standby_snapshot(
                entry.recording_id,
                entry.leadership_term_id,
                entry.term_base_log_position,
                entry.log_position,
                entry.timestamp,
                entry.service_id,
                entry.archive_endpoint,
            )
            self._core.events.tell(
                ClusterEventCode.STANDBY_SNAPSHOT_NOTIFICATION,
                recording_id=entry.recording_id,
                log_position=entry.log_position,
                service_id=entry.service_id,
                archive_endpoint=entry.archive_endpoint,
            )
        log.force()
        self._core.increment(CounterType.CLUSTER_STANDBY_SNAPSHOT)
