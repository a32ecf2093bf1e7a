"""Sessions that are being connected and authenticated, until they are opened, answered, refused or given up.

Aeron: SessionManager.processPendingSessions. Those of backups and standbys have ids of their own, below any client's, so that their
authenticator can tell them apart; the official ones share an id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.sessions.cluster_session import ClusterSession, SessionAction, SessionState
from aerowire.cluster.sessions.effects import AppendSessionOpen, BackupResponse, CountTimedOutClient, Send
from aerowire.cluster.sessions.session_options import PROTOCOL_VERSION
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.backup_query import BackupQueryDecoder
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.heartbeat_request import HeartbeatRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.heartbeat_response import HeartbeatResponse
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent
from aerowire.codecs.flyweights.cluster.messages.standby_snapshot import StandbySnapshotDecoder
from aerowire.recordings.versions import major_version, version_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aerowire.cluster.sessions.authentication import Authentication
    from aerowire.cluster.sessions.core import SessionCore
    from aerowire.cluster.sessions.inputs import BackupRequest, Connect, IngressImage
    from aerowire.cluster.sessions.open_sessions import OpenSessions
    from aerowire.cluster.sessions.refusals import Refusals
    from aerowire.cluster.sessions.standby_snapshots import StandbySnapshots
    from aerowire.security.authorisation import AuthorisationService

SESSION_LIMIT: Final = "concurrent session limit"
INVALID_VERSION: Final = "invalid client version"
# Requests of backups and standbys at a time: there are few of them in a cluster, and each has a response publication.
BACKUP_SESSIONS_MAX: Final = 64
# No channel is that long, and one stays with its session.
RESPONSE_CHANNEL_LENGTH_MAX: Final = 4 * 1024

_TEMPLATES: Final = {
    SessionAction.BACKUP: (BackupQueryDecoder.SBE_TEMPLATE_ID, "BackupQuery"),
    SessionAction.HEARTBEAT: (HeartbeatRequestDecoder.SBE_TEMPLATE_ID, "Heartbeat"),
    SessionAction.STANDBY_SNAPSHOT: (StandbySnapshotDecoder.SBE_TEMPLATE_ID, "StandbySnapshot"),
}
_SCHEMA_ID: Final = BackupQueryDecoder.SBE_SCHEMA_ID
_BEFORE_CONNECTED: Final = frozenset({SessionState.INIT, SessionState.CONNECTING})
_UNDECIDED: Final = frozenset({SessionState.CONNECTED, SessionState.CHALLENGED})


def _info(prefix: str, image: IngressImage) -> str:
    """Return what the label of a session's counter says of its client."""
    source = f"sourceIdentity={image.source_identity} sessionId={image.session_id}"
    return f"{prefix} {source}" if prefix else source


class PendingSessions:
    """Sessions before they are open. Changed by all methods but `next_deadline_ns`.

    Invariant: sessions of clients, pending and open, are never more than the maximum; those of backups never more than theirs.
    """

    def __init__(
        self,
        core: SessionCore,
        refusals: Refusals,
        authentication: Authentication,
        authorisation: AuthorisationService,
        opened: OpenSessions,
        standby_snapshots: StandbySnapshots,
    ) -> None:
        self._core = core
        self._refusals = refusals
        self._authentication = authentication
        self._authorisation = authorisation
        self._opened = opened
        self._standby_snapshots = standby_snapshots
        self._next_backup_id = NULL_VALUE - 1
        self._clients: list[ClusterSession] = []
        self._backups: list[ClusterSession] = []
        self.dropped_requests = 0

    @property
    def clients(self) -> tuple[ClusterSession, ...]:
        """Sessions of clients, in the order of their requests."""
        return tuple(self._clients)

    @property
    def backups(self) -> tuple[ClusterSession, ...]:
        """Sessions of backups and standbys, in the order of their requests."""
        return tuple(self._backups)

    # Requests

    def connect(self, request: Connect) -> None:
        """Begin a session of a client; as a follower, tell it where the leader may be. A repeated request is dropped."""
        core = self._core
        reason = self._why_refused(request) if core.is_leader else ""
        if self._is_too_much(request, is_refused=not core.is_leader or reason != "") or self._is_repeated(request):
            self.dropped_requests += 1
            return
        session = ClusterSession(
            self._opened.take_session_id() if core.is_leader else NULL_VALUE,
            request.response_stream_id,
            request.response_channel,
            _info(request.client_info, request.image),
            correlation_id=request.correlation_id,
            time_of_last_activity_ns=core.now_ns,
        )
        session.image_id = request.image.image_id
        core.open_response(session)
        if not core.is_leader:
            self._refusals.redirect(session, core.options.ingress_endpoints)
        elif reason:
            kind = SESSION_LIMIT if reason == SESSION_LIMIT else INVALID_VERSION
            self._refusals.reject(session, EventCode.ERROR, reason, kind=kind)
        else:
            self._begin(self._clients, session, request.encoded_credentials)

    def request_backup(self, request: BackupRequest) -> None:
        """Begin a session of a backup or standby, which ends with the answer to its request."""
        core = self._core
        is_valid = major_version(request.version) == major_version(PROTOCOL_VERSION)
        if self._is_too_much(request, is_refused=not is_valid) or len(self._backups) >= BACKUP_SESSIONS_MAX:
            self.dropped_requests += 1
            return
        session = ClusterSession(
            self._next_backup_id,
            request.response_stream_id,
            request.response_channel,
            _info(request.action.name, request.image),
            correlation_id=request.correlation_id,
            time_of_last_activity_ns=core.now_ns,
            action=request.action,
        )
        self._next_backup_id -= 1
        session.log_position = request.log_position
        session.standby_snapshots = request.standby_snapshots
        core.open_response(session)
        if not is_valid:
            ours = version_text(PROTOCOL_VERSION)
            detail = f"{INVALID_VERSION} {version_text(request.version)}, cluster={ours}"
            self._refusals.reject(session, EventCode.ERROR, detail, kind=INVALID_VERSION)
        else:
            self._begin(self._backups, session, request.encoded_credentials)

    def on_challenge_response(self, session_id: int, correlation_id: int, encoded_credentials: bytes) -> None:
        """Take the answer of a challenged client, backup or standby; one that was not challenged has no answer to give."""
        for session in (*self._clients, *self._backups):
            if session.session_id == session_id and session.state is SessionState.CHALLENGED:
                session.correlation_id = correlation_id
                session.time_of_last_activity_ns = self._core.now_ns
                if self._authentication.on_challenge_response(session, encoded_credentials):
                    self.advance(session)
                else:
                    self._leave(session)

    # Cycles and results

    def tick(self) -> None:
        """Go on with sessions that wait, and give up those that have waited for too long."""
        core = self._core
        for session in self._served():
            if session.state is SessionState.INVALID:
                self._give_up(session, "invalid session")
            elif core.has_timed_out(session) and not session.is_appending:
                self._give_up(session, "session timed out")
                core.emit(CountTimedOutClient())
            else:
                self.advance(session)

    def advance(self, session: ClusterSession) -> None:
        """Go on with a session as far as it comes without waiting."""
        if session not in self._served():
            return
        if session.is_connected and session.sending is None:
            if session.state in _BEFORE_CONNECTED:
                self._core.change_state(session, SessionState.CONNECTED, "connected")
            if session.state in _UNDECIDED and not self._authentication.decide(session):
                self._leave(session)
        if session.state is SessionState.AUTHENTICATED and session.sending is None:
            if session.action is SessionAction.CLIENT:
                self._append_open(session)
            else:
                self._answer(session)

    def on_sent(self, session: ClusterSession, message: object) -> bool:
        """Go on with a session whose challenge, answer or open event was sent; return whether it is one of these."""
        if session not in self._clients and session not in self._backups:
            return False
        if isinstance(message, SessionEvent):
            session.has_open_event_pending = False
        elif isinstance(message, Challenge):
            self._core.change_state(session, SessionState.CHALLENGED, "challenged")
        else:
            self._give_up(session, "done")
        return True

    def on_open_appended(self, session_id: int, position: int) -> None:
        """Move a session to the open ones: the log has it."""
        for session in self.clients:
            if session.session_id == session_id and session.is_appending:
                session.is_appending = False
                self._leave(session)
                self._opened.open(session, position)

    def on_append_refused(self, session_id: int) -> None:
        """Try again to append, in the next cycle."""
        for session in self._clients:
            if session.session_id == session_id:
                session.is_appending = False
                session.sending = None

    def close_clients(self, reason: str) -> None:
        """End sessions of clients: the member leads no more."""
        for session in self.clients:
            self._core.send_once(session, self._core.event(session, EventCode.CLOSED, reason))
            self._give_up(session, reason)

    def close(self, reason: str) -> None:
        """End all of them without a word."""
        for session in (*self._clients, *self._backups):
            self._give_up(session, reason)

    def next_deadline_ns(self) -> int | None:
        """Return when a session is to be gone on with, or is given up."""
        core = self._core
        served = tuple(self._served())
        deadlines = [session.time_of_last_activity_ns + core.options.session_timeout_ns + 1 for session in served]
        if any(session.is_connected or session.state is SessionState.INVALID for session in served):
            deadlines.append(core.next_tick_ns)
        return min(deadlines, default=None)

    def _begin(self, sessions: list[ClusterSession], session: ClusterSession, encoded_credentials: bytes) -> None:
        if self._authentication.on_connect_request(session, encoded_credentials):
            sessions.append(session)
        else:
            self._authentication.forget(session)

    def _served(self) -> Iterator[ClusterSession]:
        """Yield the sessions that are gone on with: those of clients by a leader, those of backups outside of elections."""
        core = self._core
        if core.is_serving:
            yield from self.clients
        if core.is_active and not core.is_in_election:
            yield from self.backups

    def _is_too_much(self, request: Connect | BackupRequest, *, is_refused: bool) -> bool:
        """Whether a request has no channel that can be, or cannot even be refused."""
        return len(request.response_channel) > RESPONSE_CHANNEL_LENGTH_MAX or (is_refused and self._refusals.is_full)

    def _why_refused(self, request: Connect) -> str:
        if major_version(request.version) != major_version(PROTOCOL_VERSION):
            return f"{INVALID_VERSION} {version_text(request.version)}, cluster is {version_text(PROTOCOL_VERSION)}"
        if len(self._clients) + self._opened.count >= self._core.options.max_sessions:
            return SESSION_LIMIT
        return ""

    def _is_repeated(self, request: Connect) -> bool:
        """Whether the same client has asked the same already, with an answer still to come or its session open."""
        return any(
            session.correlation_id == request.correlation_id
            and session.image_id == request.image.image_id
            and session.response_stream_id == request.response_stream_id
            and session.response_channel == request.response_channel
            for session in (*self._clients, *self._refusals.sessions, *self._opened.sessions)
        )

    def _append_open(self, session: ClusterSession) -> None:
        if session.is_connected and not session.is_appending:
            session.is_appending = True
            if session.has_open_event_pending:
                session.sending = self._core.event(session, EventCode.OK, "")
            self._core.emit(
                AppendSessionOpen(
                    None if session.sending is None else Send(session.key, session.sending),
                    session.session_id,
                    self._core.leadership_term_id,
                    session.correlation_id,
                    session.response_stream_id,
                    session.response_channel,
                    session.encoded_principal,
                )
            )

    def _answer(self, session: ClusterSession) -> None:
        """Answer the request of a backup or standby, if it is permitted."""
        template_id, name = _TEMPLATES[session.action]
        if session.action is SessionAction.STANDBY_SNAPSHOT and not self._core.options.accept_standby_snapshots:
            self._refuse(session, EventCode.ERROR, "Not configured to accept StandbySnapshot")
        elif not self._authorisation.is_authorised(_SCHEMA_ID, template_id, None, session.encoded_principal):
            self._refuse(session, EventCode.AUTHENTICATION_REJECTED, f"Not authorised for {name}")
        elif session.action is SessionAction.STANDBY_SNAPSHOT:
            self._standby_snapshots.add(session.standby_snapshots)
            self._give_up(session, "done")
        elif session.action is SessionAction.HEARTBEAT:
            self._core.send(session, HeartbeatResponse(correlation_id=session.correlation_id))
        else:
            self._core.send(session, BackupResponse(session.correlation_id, session.log_position, self._core.leader_member_id))

    def _refuse(self, session: ClusterSession, code: EventCode, detail: str) -> None:
        self._leave(session)
        self._refusals.reject(session, code, detail, kind=detail)

    def _give_up(self, session: ClusterSession, reason: str) -> None:
        self._leave(session)
        self._core.close(session, reason)

    def _leave(self, session: ClusterSession) -> None:
        for sessions in (self._clients, self._backups):
            if session in sessions:
                sessions.remove(session)
        self._authentication.forget(session)
