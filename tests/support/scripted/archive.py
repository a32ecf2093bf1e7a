"""An archive that answers as a test says, in a simulated world or in real time. It speaks on real channels; it records nothing."""

from __future__ import annotations

from typing import Any

from aerowire.client import Header
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.archive.enums import ControlResponseCode
from aerowire.codecs.flyweights.archive.messages.auth_connect_request import AuthConnectRequest
from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse
from tests.support.scripted.peer import Answer, ScriptedHost, ScriptedPeer

PROTOCOL_VERSION = 1 << 16 | 12 << 8
ARCHIVE_ID = 4711
SESSION_ID = 2026


def ok(request: Any, relevant_id: int = 0, version: int = PROTOCOL_VERSION) -> ControlResponse:
    """Return an OK to a request."""
    return _response(request, relevant_id, ControlResponseCode.OK, "", version)


def error(request: Any, code: int, text: str, version: int = PROTOCOL_VERSION) -> ControlResponse:
    """Return an error to a request."""
    return _response(request, code, ControlResponseCode.ERROR, text, version)


def _response(request: Any, relevant_id: int, code: ControlResponseCode, text: str, version: int) -> ControlResponse:
    return ControlResponse(
        control_session_id=SESSION_ID,
        correlation_id=request.correlation_id,
        relevant_id=relevant_id,
        code=code,
        version=version,
        error_message=text,
    )


class ScriptedArchive(ScriptedPeer):
    """An archive's side of a control channel. A connect request opens the publication of responses."""

    def __init__(self, host: ScriptedHost, channel: str, stream_id: int = 10, *, version: int = PROTOCOL_VERSION) -> None:
        answers: dict[str, Answer] = {
            "AuthConnectRequest": lambda request: [ok(request, SESSION_ID, version)],
            "ArchiveIdRequest": lambda request: [ok(request, ARCHIVE_ID)],
        }
        super().__init__(host, channel, stream_id, answers)

    def _on_message(self, data: bytes, header: Header) -> None:
        request = archive.decode(data)
        self.requests.append(request)
        if isinstance(request, AuthConnectRequest):
            self._on_connect(request, header)
        self._answer(request)
