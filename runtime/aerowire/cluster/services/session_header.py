"""The header of session messages, as a service sends them. Aeron: SessionMessageHeaderEncoder, AeronCluster.SESSION_HEADER_LENGTH."""

from __future__ import annotations

from struct import Struct
from typing import Final

from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader, SessionMessageHeaderDecoder

_ENCODED = SessionMessageHeader(leadership_term_id=0, cluster_session_id=0, timestamp=0).encode()
_MESSAGE_HEADER = _ENCODED[: -SessionMessageHeaderDecoder.SBE_BLOCK_LENGTH]
_PACK = Struct(f"<{len(_MESSAGE_HEADER)}sqqq").pack
SESSION_HEADER_LENGTH: Final = len(_ENCODED)


class SessionHeader:
    """The header with the term that the service is in. Changed by the agent only."""

    __slots__ = ("leadership_term_id",)

    def __init__(self) -> None:
        self.leadership_term_id = -1

    def encode(self, session_id: int, timestamp: int) -> bytes:
        """Return the header of a message to, or of, a session."""
        return _PACK(_MESSAGE_HEADER, self.leadership_term_id, session_id, timestamp)
