"""Authentication and authorisation of an archive: what tests/interop/java/Guards.java gives the official one."""

from __future__ import annotations

from aerowire.archive import Authenticator, AuthorisationRule, SessionProxy, SimpleAuthorisationService
from aerowire.codecs.flyweights.archive.dispatch import SCHEMA_ID
from aerowire.codecs.flyweights.archive.messages.archive_id_request import ArchiveIdRequestDecoder
from aerowire.codecs.flyweights.archive.messages.list_recordings_request import ListRecordingsRequestDecoder
from tests.interop.harness import Side

ADMIN, READER = b"admin", b"reader"
PRINCIPALS = {b"admin:secret": ADMIN, b"reader:secret": READER}
GREETING, CHALLENGE, SECRET = b"hello", b"who-are-you", b"secret"

# A client asks for the archive's id when it connects.
READERS_ACTIONS = ArchiveIdRequestDecoder.SBE_TEMPLATE_ID, ListRecordingsRequestDecoder.SBE_TEMPLATE_ID


class Users(Authenticator):
    """Accepts known credentials at once, challenges a greeting, and rejects all others."""

    def __init__(self) -> None:
        self._said: dict[int, bytes] = {}

    def on_connect_request(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        self._said[session_id] = encoded_credentials

    def on_challenge_response(self, session_id: int, encoded_credentials: bytes, _now_ms: int, /) -> None:
        self._said[session_id] = encoded_credentials

    def on_connected_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        said = self._said[session.session_id]
        if said == GREETING:
            session.challenge(CHALLENGE)
        elif said in PRINCIPALS:
            session.authenticate(PRINCIPALS[said])
        else:
            session.reject()

    def on_challenged_session(self, session: SessionProxy, _now_ms: int, /) -> None:
        said = self._said[session.session_id]
        if said == SECRET:
            session.authenticate(ADMIN)
        elif said != GREETING:
            session.reject()


def rules() -> SimpleAuthorisationService:
    """Return rules by which the admin may do all, and the reader connect and list recordings."""
    return SimpleAuthorisationService(
        [
            AuthorisationRule(protocol_id=SCHEMA_ID, is_allowed=True, principal=ADMIN),
            *(AuthorisationRule(protocol_id=SCHEMA_ID, is_allowed=True, action_id=action, principal=READER) for action in READERS_ACTIONS),
        ]
    )


def guarded(side: Side) -> dict[str, str]:
    """Return the properties of an archive with this authentication and authorisation."""
    names = ("Guards$Authentication", "Guards$Authorisation") if side == "official" else (f"{__name__}:Users", f"{__name__}:rules")
    return dict(zip(("aeron.archive.authenticator.supplier", "aeron.archive.authorisation.service.supplier"), names, strict=True))
