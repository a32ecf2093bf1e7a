"""Sessions that the log has opened, until the log has closed them. Aeron: SessionManager.checkSessions, and what closes and restores.

A leader appends the events; what it has appended in vain, because the log of the next leader does not have it, is taken back.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.sessions.cluster_session import ClusterSession, SessionAction, SessionState
from aerowire.cluster.sessions.effects import AppendSessionClose, CountTimedOutClient, SessionClosed, SessionClosing, SessionOpened
from aerowire.cluster.snapshots.consensus_module_snapshot import ClusterSessionRecord
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.codecs.flyweights.cluster.enums import CloseReason, EventCode
from aerowire.codecs.flyweights.cluster.messages.new_leader_event import NewLeaderEvent
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aerowire.cluster.sessions.core import SessionCore
    from aerowire.cluster.sessions.effects import EgressMessage
    from aerowire.cluster.sessions.inputs import CloseReplayed, OpenReplayed

FIRST_SESSION_ID = 1


class OpenSessions:
    """Open and closing sessions by id, in the order of their ids. Changed by most methods.

    Invariant: an id that was taken, replayed or loaded is below `next_session_id`; those of open events that are committed are below
    `next_committed_session_id`, which a snapshot keeps. Open events beyond the commit are in `_uncommitted_opens`, sessions whose close
    event is beyond it in `_uncommitted_closed`, both by their positions.
    """

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._sessions: dict[int, ClusterSession] = {}
        self._uncommitted_closed: deque[ClusterSession] = deque()
        self._uncommitted_opens: deque[tuple[int, int]] = deque()
        self.next_session_id = FIRST_SESSION_ID
        self.next_committed_session_id = FIRST_SESSION_ID

    @property
    def sessions(self) -> Iterable[ClusterSession]:
        """The sessions, in the order of their ids."""
        return self._sessions.values()

    @property
    def count(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    def get(self, session_id: int) -> ClusterSession | None:
        """Return a session that is open or closing."""
        return self._sessions.get(session_id)

    def take_session_id(self) -> int:
        """Return the id of a new session."""
        session_id = self.next_session_id
        self.next_session_id += 1
        return session_id

    # A leader's appends

    def open(self, session: ClusterSession, position: int) -> None:
        """Take a session whose open event is in the log, and tell its client."""
        self._uncommitted_opens.append((position, session.session_id + 1))
        session.time_of_last_activity_ns = self._core.now_ns
        self._add_open(session, position)
        self._send_pending_event(session)

    def close_by(self, session: ClusterSession, reason: CloseReason) -> None:
        """Begin to close a session, unless that has been done; a leader appends the event, now or in a later cycle."""
        if session.is_open:
            session.close_reason = reason
            session.has_open_event_pending = session.has_new_leader_event_pending = False
            self._core.change_state(session, SessionState.CLOSING, reason.name)
            self._core.emit(SessionClosing(session.session_id))
            if reason == CloseReason.CLIENT_ACTION:
                self._core.close_response(session)
        if self._core.is_serving:
            self._append_close(session)

    def on_close_appended(self, session_id: int, position: int) -> None:
        """End a session whose close event is in the log, after a last word to a client that did not ask for it."""
        session = self._sessions.get(session_id)
        if session is None or not session.is_appending:
            return
        session.is_appending = False
        session.closed_log_position = position
        if session.close_reason != CloseReason.CLIENT_ACTION:
            self._core.send_once(session, self._core.event(session, EventCode.CLOSED, session.close_reason.name))
        if session.close_reason == CloseReason.TIMEOUT:
            self._core.emit(CountTimedOutClient())
        self._uncommitted_closed.append(session)
        self._remove(session)

    def on_append_refused(self, session_id: int) -> None:
        """Try again to append, in the next cycle."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.is_appending = False

    def tick(self) -> None:
        """Close sessions that have timed out, try again what could not be appended or sent."""
        for session in tuple(self._sessions.values()):
            if session.state is SessionState.CLOSING:
                self._append_close(session)
            elif self._core.has_timed_out(session):
                self.close_by(session, CloseReason.TIMEOUT)
            else:
                self._send_pending_event(session)

    def advance(self, session: ClusterSession) -> None:
        """Tell a client that is there what it does not know yet."""
        if session.is_open and self._sessions.get(session.session_id) is session:
            self._send_pending_event(session)

    def on_sent(self, session: ClusterSession, message: EgressMessage) -> None:
        """Note that the open event or the new leader event of a session was sent; send the other one, if it is due."""
        if isinstance(message, SessionEvent):
            session.has_open_event_pending = False
        elif isinstance(message, NewLeaderEvent):
            session.has_new_leader_event_pending = False
        self.advance(session)

    # The log of another leader, or of before

    def on_open_replayed(self, opened: OpenReplayed) -> None:
        """Take a session that the log opens, unless it is known."""
        if opened.cluster_session_id in self._sessions:
            return
        session = self._recovered(
            opened.cluster_session_id, opened.response_stream_id, opened.response_channel, opened.correlation_id, self._core.now_ns
        )
        session.encoded_principal = opened.encoded_principal
        self._add_open(session, opened.log_position)
        self.next_session_id = max(self.next_session_id, session.session_id + 1)
        self.next_committed_session_id = max(self.next_committed_session_id, session.session_id + 1)

    def on_close_replayed(self, closed: CloseReplayed) -> None:
        """Remove a session that the log closes."""
        session = self._sessions.get(closed.cluster_session_id)
        if session is not None:
            session.close_reason = closed.close_reason
            self._core.change_state(session, SessionState.CLOSING, closed.close_reason.name)
            self._remove(session)

    # Terms

    def begin_term(self, *, is_startup: bool) -> None:
        """Begin to lead: tell clients of the new leader, or close sessions whose clients are gone."""
        core = self._core
        for session in tuple(self._sessions.values()):
            if not session.is_open:
                continue
            if is_startup:
                self.close_by(session, CloseReason.TIMEOUT)
            else:
                core.open_response(session)
                session.time_of_last_activity_ns = core.now_ns
                session.has_new_leader_event_pending = True

    def end_term(self, log_position: int) -> None:
        """Give up sessions that the log does not have, take back those that it does not close, and close the response publications."""
        core = self._core
        for session in tuple(self._sessions.values()):
            session.is_appending = False
            session.image_id = NULL_VALUE
            if session.opened_log_position > log_position:
                core.send_once(session, core.event(session, EventCode.CLOSED, "election"))
                self._remove(session)
            else:
                core.close_response(session)
        while self._uncommitted_closed:
            session = self._uncommitted_closed.popleft()
            if session.closed_log_position > log_position >= session.opened_log_position:
                session.closed_log_position = NULL_POSITION
                core.change_state(session, SessionState.CLOSING, "uncommitted session")
                self._add(session)
        self.on_commit_position(log_position)
        self._uncommitted_opens.clear()

    def on_commit_position(self, position: int) -> None:
        """Forget what is committed for good."""
        while self._uncommitted_closed and self._uncommitted_closed[0].closed_log_position <= position:
            self._uncommitted_closed.popleft()
        while self._uncommitted_opens and self._uncommitted_opens[0][0] <= position:
            self.next_committed_session_id = max(self.next_committed_session_id, self._uncommitted_opens.popleft()[1])

    # Clients

    def on_activity(self, session: ClusterSession, time_ns: int, image_id: int) -> None:
        """Note that a client is there, and on which image."""
        session.time_of_last_activity_ns = max(session.time_of_last_activity_ns, time_ns)
        if session.image_id == NULL_VALUE:
            session.image_id = image_id

    def on_image_unavailable(self, image_id: int) -> None:
        """Close the open sessions whose messages came on an image that has gone."""
        for session in tuple(self._sessions.values()):
            if session.is_open and session.image_id == image_id:
                self.close_by(session, CloseReason.TIMEOUT)

    def update_time_of_last_activity(self) -> None:
        """Take all clients to be there: for some time, the member could not hear them."""
        for session in self._sessions.values():
            session.time_of_last_activity_ns = self._core.now_ns

    # Snapshots

    def records(self) -> tuple[ClusterSessionRecord, ...]:
        """Return what a snapshot keeps of the sessions."""
        return tuple(
            ClusterSessionRecord(
                session_id=session.session_id,
                correlation_id=session.correlation_id,
                opened_log_position=session.opened_log_position,
                response_stream_id=session.response_stream_id,
                response_channel=session.response_channel,
                close_reason=session.close_reason,
            )
            for session in self._sessions.values()
        )

    def load(self, next_session_id: int, records: Iterable[ClusterSessionRecord]) -> None:
        """Go on from the sessions of a snapshot."""
        self.next_session_id = self.next_committed_session_id = next_session_id
        for record in records:
            session = self._recovered(
                record.session_id, record.response_stream_id, record.response_channel, record.correlation_id, self._core.now_ns
            )
            session.opened_log_position = record.opened_log_position
            session.close_reason = record.close_reason
            is_open = record.close_reason == CloseReason.NULL_VALUE
            reason = f"openedLogPosition={record.opened_log_position}" if is_open else record.close_reason.name
            self._core.change_state(session, SessionState.OPEN if is_open else SessionState.CLOSING, reason)
            self._add(session)
            if record.session_id >= self.next_session_id:
                self.next_session_id = self.next_committed_session_id = record.session_id + 1

    def close(self, reason: str) -> None:
        """Give back what all sessions have."""
        for session in tuple(self._sessions.values()):
            self._core.close(session, reason)
        self._sessions.clear()

    def next_deadline_ns(self) -> int | None:
        """Return when a session times out, or something is to be tried again."""
        core = self._core
        deadlines = [
            core.next_tick_ns if self._is_waiting(session) else session.time_of_last_activity_ns + core.options.session_timeout_ns + 1
            for session in self._sessions.values()
        ]
        return min(deadlines, default=None)

    def _is_waiting(self, session: ClusterSession) -> bool:
        is_event_pending = session.has_open_event_pending or session.has_new_leader_event_pending
        return session.state is SessionState.CLOSING or (is_event_pending and session.is_connected)

    def _recovered(self, session_id: int, stream_id: int, channel: str, correlation_id: int, now_ns: int) -> ClusterSession:
        return ClusterSession(
            session_id,
            stream_id,
            channel,
            channel,
            correlation_id=correlation_id,
            time_of_last_activity_ns=now_ns,
            action=SessionAction.CLIENT,
        )

    def _add_open(self, session: ClusterSession, position: int) -> None:
        session.opened_log_position = position
        self._core.change_state(session, SessionState.OPEN, f"openedLogPosition={position}")
        self._add(session)
        self._core.emit(SessionOpened(session.session_id, position))

    def _add(self, session: ClusterSession) -> None:
        last_id = next(reversed(self._sessions), session.session_id)
        self._sessions[session.session_id] = session
        if last_id > session.session_id:
            self._sessions = dict(sorted(self._sessions.items()))

    def _remove(self, session: ClusterSession) -> None:
        del self._sessions[session.session_id]
        self._core.close(session, "closed")
        self._core.emit(SessionClosed(session.session_id, session.close_reason))

    def _append_close(self, session: ClusterSession) -> None:
        if not session.is_appending:
            session.is_appending = True
            self._core.emit(AppendSessionClose(session.session_id, self._core.leadership_term_id, session.close_reason))

    def _send_pending_event(self, session: ClusterSession) -> None:
        core = self._core
        if session.has_open_event_pending:
            core.send(session, core.event(session, EventCode.OK, ""))
        elif session.has_new_leader_event_pending:
            message = NewLeaderEvent(
                leadership_term_id=core.leadership_term_id,
                cluster_session_id=session.session_id,
                leader_member_id=core.leader_member_id,
                ingress_endpoints=core.options.ingress_endpoints,
            )
            core.send(session, message)
