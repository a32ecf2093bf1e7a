"""Requests of clients for an administrator's actions, of which there is one: a snapshot. Aeron: ConsensusModuleAgent.onAdminRequest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.cluster.sessions.effects import RequestSnapshot
from aerowire.codecs.flyweights.cluster.enums import AdminRequestType, AdminResponseCode
from aerowire.codecs.flyweights.cluster.messages.admin_request import AdminRequestDecoder
from aerowire.codecs.flyweights.cluster.messages.admin_response import AdminResponse

if TYPE_CHECKING:
    from aerowire.cluster.sessions.cluster_session import ClusterSession
    from aerowire.cluster.sessions.core import SessionCore
    from aerowire.cluster.sessions.inputs import AdminRequested, SnapshotRequested
    from aerowire.cluster.sessions.open_sessions import OpenSessions
    from aerowire.security.authorisation import AuthorisationService

SNAPSHOT_FAILED: Final = "Failed to switch ClusterControl to the ToggleState.SNAPSHOT state"


def _text(request_type: AdminRequestType) -> str:
    """Return a type as the official messages name it."""
    return "NULL_VAL" if request_type == AdminRequestType.NULL_VALUE else request_type.name


class AdminRequests:
    """Answers requests, each once: an answer that cannot be sent is lost, as the official one."""

    def __init__(self, core: SessionCore, opened: OpenSessions, authorisation: AuthorisationService) -> None:
        self._core = core
        self._opened = opened
        self._authorisation = authorisation

    def on_request(self, session: ClusterSession, request: AdminRequested) -> None:
        """Take a request of an open session; the client of any other gets no answer."""
        kind = request.request_type
        schema_id, template_id = AdminRequestDecoder.SBE_SCHEMA_ID, AdminRequestDecoder.SBE_TEMPLATE_ID
        if not self._authorisation.is_authorised(schema_id, template_id, kind, session.encoded_principal):
            text = f"Execution of the {_text(kind)} request was not authorised"
            self._answer(session, request.correlation_id, kind, AdminResponseCode.UNAUTHORISED_ACCESS, text)
        elif kind == AdminRequestType.SNAPSHOT:
            self._core.emit(RequestSnapshot(session.session_id, request.correlation_id))
        else:
            self._answer(session, request.correlation_id, kind, AdminResponseCode.ERROR, f"Unknown request type: {_text(kind)}")

    def on_snapshot_requested(self, result: SnapshotRequested) -> None:
        """Tell a client whether a snapshot is taken."""
        session = self._opened.get(result.cluster_session_id)
        if session is not None and session.is_open:
            code, text = (AdminResponseCode.OK, "") if result.is_accepted else (AdminResponseCode.ERROR, SNAPSHOT_FAILED)
            self._answer(session, result.correlation_id, AdminRequestType.SNAPSHOT, code, text)

    def _answer(
        self, session: ClusterSession, correlation_id: int, request_type: AdminRequestType, code: AdminResponseCode, message: str
    ) -> None:
        response = AdminResponse(
            cluster_session_id=session.session_id,
            correlation_id=correlation_id,
            request_type=request_type,
            response_code=code,
            message=message,
        )
        self._core.send_once(session, response)
