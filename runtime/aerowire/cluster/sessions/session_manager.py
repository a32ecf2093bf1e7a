"""All sessions of a member: an input and a time give effects. Aeron: SessionManager, and the parts of ConsensusModuleAgent that use it.

A leader connects, authenticates, opens and closes sessions of clients; a follower redirects clients, and takes over what the log says.
Both answer backups and standbys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from aerowire.base.units import NULL_VALUE
from aerowire.cluster.sessions import inputs
from aerowire.cluster.sessions.admin_requests import AdminRequests
from aerowire.cluster.sessions.authentication import Authentication
from aerowire.cluster.sessions.cluster_session import NO_RESPONSE, SessionState
from aerowire.cluster.sessions.core import SessionCore
from aerowire.cluster.sessions.effects import ForwardChallengeResponse, ReportEvent
from aerowire.cluster.sessions.open_sessions import OpenSessions
from aerowire.cluster.sessions.pending_sessions import PendingSessions
from aerowire.cluster.sessions.refusals import Refusals
from aerowire.cluster.sessions.standby_snapshots import StandbySnapshots
from aerowire.codecs.flyweights.cluster.enums import CloseReason

if TYPE_CHECKING:
    from aerowire.cluster.sessions.cluster_session import ClusterSession
    from aerowire.cluster.sessions.effects import Effect
    from aerowire.cluster.sessions.inputs import Input
    from aerowire.cluster.sessions.session_options import SessionOptions
    from aerowire.cluster.snapshots.consensus_module_snapshot import ClusterSessionRecord
    from aerowire.security.authentication import Authenticator
    from aerowire.security.authorisation import AuthorisationService

RESPONSE_FAILED: Final = "failed to connect session response publication"


class SessionManager:
    """One member's sessions. Changed by `handle` and `tick`, which return effects to be carried out in their order, and by `load`.

    Invariant: each request to connect that was not dropped is answered once, or its session has timed out; after its CLOSED event, a
    session sends nothing more.
    """

    def __init__(self, options: SessionOptions, authenticator: Authenticator, authorisation: AuthorisationService) -> None:
        """Start without sessions, in an election, with a member that is not active."""
        self._core = core = SessionCore(options)
        self._refusals = refusals = Refusals(core)
        self._opened = opened = OpenSessions(core)
        self._standby_snapshots = StandbySnapshots(core)
        self._authentication = authentication = Authentication(core, refusals, authenticator)
        self._pending = PendingSessions(core, refusals, authentication, authorisation, opened, self._standby_snapshots)
        self._admin = AdminRequests(core, opened, authorisation)
        self._handlers: dict[type, Callable[[Any], None]] = {
            inputs.Connect: self._pending.connect,
            inputs.Close: self._on_close,
            inputs.KeepAlive: self._on_keep_alive,
            inputs.ChallengeResponse: self._on_challenge_response,
            inputs.BackupChallengeResponse: self._on_backup_challenge_response,
            inputs.AdminRequested: self._on_admin_requested,
            inputs.BackupRequest: self._on_backup_request,
            inputs.SessionActive: self._on_session_active,
            inputs.ImageUnavailable: self._on_image_unavailable,
            inputs.ServiceClosed: self._on_service_closed,
            inputs.OpenReplayed: opened.on_open_replayed,
            inputs.CloseReplayed: opened.on_close_replayed,
            inputs.LeadershipBegun: self._on_leadership_begun,
            inputs.FollowingBegun: self._on_following_begun,
            inputs.LeadershipEnded: self._on_leadership_ended,
            inputs.ActivityChanged: self._on_activity_changed,
            inputs.Committed: self._on_committed,
            inputs.ResponseAdded: self._on_response_added,
            inputs.ResponseFailed: self._on_response_failed,
            inputs.ResponseConnected: self._on_response_connected,
            inputs.OpenAppended: lambda result: self._pending.on_open_appended(result.cluster_session_id, result.position),
            inputs.CloseAppended: lambda result: opened.on_close_appended(result.cluster_session_id, result.position),
            inputs.AppendRefused: self._on_append_refused,
            inputs.Sent: self._on_sent,
            inputs.NotSent: self._on_not_sent,
            inputs.SnapshotRequested: self._admin.on_snapshot_requested,
        }

    # What the agent, its counters and its snapshots ask

    @property
    def next_committed_session_id(self) -> int:
        """The id after that of the last session whose open event is committed, which a snapshot keeps."""
        return self._opened.next_committed_session_id

    @property
    def open_session_ids(self) -> tuple[int, ...]:
        """The sessions whose clients may send."""
        return tuple(session.session_id for session in self._opened.sessions if session.is_open)

    @property
    def dropped_requests(self) -> int:
        """Requests that got no session, and no answer: repeated ones, and those beyond what can be kept."""
        return self._pending.dropped_requests

    @property
    def session_count(self) -> int:
        """Sessions of all kinds, in any state."""
        waiting = len(self._pending.clients) + len(self._pending.backups) + len(self._refusals.sessions)
        return self._opened.count + waiting

    def principal_of(self, session_id: int) -> bytes | None:
        """Return the encoded principal of an open session; None for one that is not open."""
        session = self._opened.get(session_id)
        return session.encoded_principal if session is not None and session.is_open else None

    def response_key_of(self, session_id: int) -> int | None:
        """Return the key of the response publication of an open session; None of a session without one."""
        session = self._opened.get(session_id)
        return session.key if session is not None and session.is_open and session.key != NO_RESPONSE else None

    def records(self) -> tuple[ClusterSessionRecord, ...]:
        """Return what a snapshot keeps of the sessions, in the order of their ids."""
        return self._opened.records()

    def next_deadline_ns(self) -> int | None:
        """Return when `tick` is due if nothing is handled before; None if nothing waits."""
        deadlines = [
            self._refusals.next_deadline_ns(),
            self._pending.next_deadline_ns(),
            self._standby_snapshots.next_deadline_ns(),
            self._opened.next_deadline_ns() if self._core.is_serving else None,
        ]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    # Inputs

    def load(self, next_session_id: int, records: Iterable[ClusterSessionRecord], now_ns: int) -> tuple[Effect, ...]:
        """Go on from the sessions of a snapshot."""
        self._core.now_ns = now_ns
        self._opened.load(next_session_id, records)
        return self._core.take_effects()

    def handle(self, given: Input, now_ns: int, epoch_ms: int) -> tuple[Effect, ...]:
        """Take an input."""
        self._core.now_ns, self._core.now_ms = now_ns, epoch_ms
        self._handlers[type(given)](given)
        return self._core.take_effects()

    def tick(self, now_ns: int, epoch_ms: int) -> tuple[Effect, ...]:
        """Do what is due at a time. Aeron: ConsensusModuleAgent.slowTickWork."""
        core = self._core
        core.now_ns, core.now_ms = now_ns, epoch_ms
        self._refusals.tick()
        self._pending.tick()
        if core.is_serving:
            self._opened.tick()
        self._standby_snapshots.tick()
        return core.take_effects()

    def update_time_of_last_activity(self, now_ns: int) -> None:
        """Take all clients to be there, after a time in which the member did not listen to them: a snapshot, a suspension."""
        self._core.now_ns = now_ns
        self._opened.update_time_of_last_activity()

    def close(self) -> tuple[Effect, ...]:
        """Give back what all sessions have, at the end of the node."""
        for part in (self._pending, self._refusals, self._opened):
            part.close("Cluster node terminated")
        return self._core.take_effects()

    # Requests

    def _current(self, leadership_term_id: int, session_id: int) -> ClusterSession | None:
        """Return the open session that a client's message of this term is for."""
        if not self._core.is_leader or leadership_term_id != self._core.leadership_term_id:
            return None
        session = self._opened.get(session_id)
        return session if session is not None and session.is_open else None

    def _on_close(self, request: inputs.Close) -> None:
        session = self._current(request.leadership_term_id, request.cluster_session_id)
        if session is not None:
            self._opened.close_by(session, CloseReason.CLIENT_ACTION)

    def _on_keep_alive(self, message: inputs.KeepAlive) -> None:
        session = self._current(message.leadership_term_id, message.cluster_session_id)
        if session is not None:
            self._opened.on_activity(session, self._core.now_ns, message.image_id)

    def _on_admin_requested(self, request: inputs.AdminRequested) -> None:
        session = self._current(request.leadership_term_id, request.cluster_session_id)
        if session is not None:
            self._admin.on_request(session, request)

    def _on_challenge_response(self, response: inputs.ChallengeResponse) -> None:
        if self._core.is_leader:
            self._answer_challenge(response)
        else:
            self._core.emit(ForwardChallengeResponse(response.correlation_id, response.cluster_session_id, response.encoded_credentials))

    def _on_backup_challenge_response(self, response: inputs.BackupChallengeResponse) -> None:
        self._answer_challenge(response)

    def _answer_challenge(self, response: inputs.ChallengeResponse | inputs.BackupChallengeResponse) -> None:
        self._pending.on_challenge_response(response.cluster_session_id, response.correlation_id, response.encoded_credentials)

    def _on_backup_request(self, request: inputs.BackupRequest) -> None:
        if not self._core.is_in_election:
            self._pending.request_backup(request)

    # Open sessions

    def _on_session_active(self, fact: inputs.SessionActive) -> None:
        session = self._opened.get(fact.cluster_session_id)
        if session is not None and session.is_open:
            self._opened.on_activity(session, fact.time_ns, fact.image_id)

    def _on_image_unavailable(self, fact: inputs.ImageUnavailable) -> None:
        if self._core.is_leader and self._core.is_active and fact.image_id != NULL_VALUE:
            self._opened.on_image_unavailable(fact.image_id)

    def _on_service_closed(self, fact: inputs.ServiceClosed) -> None:
        session = self._opened.get(fact.cluster_session_id)
        if session is not None:
            self._opened.close_by(session, CloseReason.SERVICE_ACTION)

    # The member's role and state

    def _on_leadership_begun(self, begun: inputs.LeadershipBegun) -> None:
        core = self._core
        core.is_leader, core.is_in_election = True, False
        core.leadership_term_id, core.leader_member_id = begun.leadership_term_id, core.options.member_id
        self._opened.begin_term(is_startup=begun.is_startup)

    def _on_following_begun(self, begun: inputs.FollowingBegun) -> None:
        core = self._core
        core.is_leader = core.is_in_election = False
        core.leadership_term_id, core.leader_member_id = begun.leadership_term_id, begun.leader_member_id

    def _on_leadership_ended(self, ended: inputs.LeadershipEnded) -> None:
        self._core.is_leader, self._core.is_in_election = False, True
        self._opened.end_term(ended.log_position)
        self._pending.close_clients("election")

    def _on_activity_changed(self, changed: inputs.ActivityChanged) -> None:
        self._core.is_active = changed.is_active

    def _on_committed(self, committed: inputs.Committed) -> None:
        self._opened.on_commit_position(committed.position)
        self._standby_snapshots.on_commit_position(committed.position)

    # Results

    def _on_response_added(self, result: inputs.ResponseAdded) -> None:
        session = self._core.session_of(result.key)
        if session is not None and session.state in {SessionState.INIT, SessionState.REJECTED}:
            session.time_of_last_activity_ns = self._core.now_ns
            self._core.change_state(session, SessionState.CONNECTING, "connecting")

    def _on_response_failed(self, result: inputs.ResponseFailed) -> None:
        session = self._core.session_of(result.key)
        if session is None:
            return
        self._core.emit(ReportEvent(RESPONSE_FAILED, f"{RESPONSE_FAILED}: id={session.session_id}, {result.reason}"))
        self._core.close_response(session)
        if session.state in {SessionState.INIT, SessionState.REJECTED}:
            self._core.change_state(session, SessionState.INVALID, "responsePublication is null")

    def _on_response_connected(self, result: inputs.ResponseConnected) -> None:
        session = self._core.session_of(result.key)
        if session is not None:
            session.is_connected = result.is_connected
            if result.is_connected:
                self._advance(session)

    def _advance(self, session: ClusterSession) -> None:
        """Do for a client that has come what the next cycle would do."""
        self._refusals.advance(session)
        self._pending.advance(session)
        if self._core.is_serving:
            self._opened.advance(session)

    def _on_append_refused(self, result: inputs.AppendRefused) -> None:
        self._pending.on_append_refused(result.cluster_session_id)
        self._opened.on_append_refused(result.cluster_session_id)

    def _on_sent(self, result: inputs.Sent) -> None:
        session = self._finished(result)
        if session is None or self._refusals.on_sent(session, result.message) or self._pending.on_sent(session, result.message):
            return
        self._opened.on_sent(session, result.message)

    def _on_not_sent(self, result: inputs.NotSent) -> None:
        self._finished(result)

    def _finished(self, result: inputs.Sent | inputs.NotSent) -> ClusterSession | None:
        """Return the session whose awaited message the result is about; None for a message that is not awaited."""
        session = self._core.session_of(result.key)
        if session is None or session.sending is None or session.sending != result.message:
            return None
        session.sending = None
        return session
