"""The events of a log beside messages: timers, sessions that open and close, actions of the cluster, terms. Aeron: BoundedLogAdapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aerowire.base.errors import ClusterServiceError
from aerowire.cluster.services.clustered_service import LeadershipTerm
from aerowire.cluster.services.core import ContainerTermination
from aerowire.cluster.services.snapshots import check_app_version
from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord
from aerowire.codecs.flyweights.cluster.enums import ClusterAction, ClusterTimeUnit
from aerowire.codecs.flyweights.cluster.messages.cluster_action_request import ClusterActionRequest, ClusterActionRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.new_leadership_term_event import NewLeadershipTermEvent, NewLeadershipTermEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_close_event import SessionCloseEvent, SessionCloseEventDecoder
from aerowire.codecs.flyweights.cluster.messages.session_open_event import SessionOpenEvent, SessionOpenEventDecoder
from aerowire.codecs.flyweights.cluster.messages.timer_event import TimerEvent, TimerEventDecoder
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.cluster.services.client_session import ClientSession
    from aerowire.cluster.services.client_sessions import ClientSessions
    from aerowire.cluster.services.cluster import Cluster
    from aerowire.cluster.services.core import ContainerCore
    from aerowire.cluster.services.log_adapter import BoundedLogAdapter
    from aerowire.cluster.services.snapshots import Operation, Snapshots

# Flags of an action that say which nodes carry it out. Aeron: ConsensusModule.CLUSTER_ACTION_FLAGS_DEFAULT, …_STANDBY_SNAPSHOT.
ACTION_FLAGS_DEFAULT = 0
ACTION_FLAGS_STANDBY_SNAPSHOT = 1


class LogEvents:
    """Applies events in the order of the log. What one cannot do at once becomes an operation, before whose end nothing more is read.

    The agent's thread.
    """

    def __init__(
        self,
        core: ContainerCore,
        log: BoundedLogAdapter,
        sessions: ClientSessions,
        cluster: Cluster,
        snapshots: Snapshots,
        begin: Callable[[str, Operation], object],
    ) -> None:
        """`begin` is called with what an operation is, and its steps."""
        self._core = core
        self._log = log
        self._sessions = sessions
        self._cluster = cluster
        self._snapshots = snapshots
        self._begin = begin
        self.is_standby = False
        self._kinds: dict[int, tuple[Any, Callable[[Any, int], bool]]] = {
            TimerEventDecoder.SBE_TEMPLATE_ID: (TimerEvent, self._on_timer),
            SessionOpenEventDecoder.SBE_TEMPLATE_ID: (SessionOpenEvent, self._on_session_open),
            SessionCloseEventDecoder.SBE_TEMPLATE_ID: (SessionCloseEvent, self._on_session_close),
            ClusterActionRequestDecoder.SBE_TEMPLATE_ID: (ClusterActionRequest, self._on_action),
            NewLeadershipTermEventDecoder.SBE_TEMPLATE_ID: (NewLeadershipTermEvent, self._on_new_term),
        }

    def on_event(self, template_id: int, message: bytes, position: int) -> bool:
        """Apply an event; return whether an operation has begun. Templates that are not known pass: a later version may have more."""
        kind, apply = self._kinds.get(template_id, (None, None))
        if kind is None or apply is None:
            return False
        try:
            event = kind.decode(message)
        except SbeError as error:
            raise ClusterServiceError(
                "an event in the log is damaged", where=f"log position {position}", expected=f"a {kind.__name__}", actual=str(error)
            ) from None
        return apply(event, position)

    def _on_timer(self, event: TimerEvent, position: int) -> bool:
        self._log.advance(position, event.timestamp)
        self._core.calls.on_timer_event(event.correlation_id, event.timestamp)
        return False

    def _on_session_open(self, event: SessionOpenEvent, position: int) -> bool:
        self._log.advance(position, event.timestamp)
        session_id = event.cluster_session_id
        if self._sessions.get(session_id) is not None:
            raise ClusterServiceError(
                "a session opens that is open",
                where=f"log position {position}, term {event.leadership_term_id}",
                actual=f"session {session_id}",
            )
        record = ClientSessionRecord(session_id, event.response_stream_id, event.response_channel, bytes(event.encoded_principal))
        if not self._core.is_leader or not self._core.context.service_responder:
            self._core.calls.on_session_open(self._sessions.add(record), event.timestamp)
            return False
        session = self._sessions.add(record)
        self._begin(f"open session {session_id}", self._open(session, event.timestamp))
        return True

    def _open(self, session: ClientSession, at: int) -> Operation:
        yield from self._sessions.connect(session)
        self._core.calls.on_session_open(session, at)

    def _on_session_close(self, event: SessionCloseEvent, position: int) -> bool:
        self._log.advance(position, event.timestamp)
        session = self._sessions.remove(event.cluster_session_id)
        if session is None:
            self._core.errors.warn(
                f"unknown session close: session {event.cluster_session_id}, {event.close_reason.name}, log position {position}, "
                f"term {event.leadership_term_id}"
            )
        else:
            self._core.calls.on_session_close(session, event.timestamp, event.close_reason)
        return False

    def _on_action(self, event: ClusterActionRequest, _position: int) -> bool:
        self._log.advance(event.log_position, event.timestamp)
        flags = ACTION_FLAGS_DEFAULT if event.flags is None else event.flags
        is_ours = flags == ACTION_FLAGS_DEFAULT or (self.is_standby and flags & ACTION_FLAGS_STANDBY_SNAPSHOT)
        if event.action != ClusterAction.SNAPSHOT or not is_ours:
            return False
        self._begin(f"take a snapshot at {event.log_position}", self._snapshots.take(event.log_position, event.leadership_term_id))
        return True

    def _on_new_term(self, event: NewLeadershipTermEvent, _position: int) -> bool:
        core, app_version = self._core, event.app_version or 0
        try:
            check_app_version(core, app_version, "the leader's")
        except ClusterServiceError as error:
            raise ContainerTermination(str(error)) from error
        core.header.leadership_term_id = event.leadership_term_id
        core.time_unit = ClusterTimeUnit.MILLIS if event.time_unit is None else event.time_unit
        self._log.advance(event.log_position, event.timestamp)
        core.calls.on_new_leadership_term_event(
            LeadershipTerm(
                leadership_term_id=event.leadership_term_id,
                log_position=event.log_position,
                timestamp=event.timestamp,
                term_base_log_position=event.term_base_log_position,
                leader_member_id=event.leader_member_id,
                log_session_id=event.log_session_id,
                time_unit=core.time_unit,
                app_version=app_version,
            )
        )
        return False
