"""A client's session as a service sees it, and the way of messages to the client. Aeron: ClientSession, ContainerClientSession."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from aerowire.base.errors import MessageTooLongError
from aerowire.client.publications.publication import NOT_CONNECTED
from aerowire.cluster.services.message_claim import MessageClaim
from aerowire.cluster.services.session_header import SESSION_HEADER_LENGTH
from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord
from aerowire.codecs.flyweights.transport import MAX_UDP_PAYLOAD, DataHeaderDecoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.publications.publication import Publication
    from aerowire.cluster.services.call_guard import CallGuard
    from aerowire.cluster.services.session_header import SessionHeader

# What an offer returns at a member that does not lead: the message goes nowhere. Aeron: ClientSession.MOCKED_OFFER.
MOCKED_OFFER: Final = 1
_CLAIM_LENGTH_MAX = MAX_UDP_PAYLOAD - DataHeaderDecoder.ENCODED_LENGTH - SESSION_HEADER_LENGTH


class SessionOwner(Protocol):
    """What sessions need of the container that they belong to."""

    @property
    def guard(self) -> CallGuard:
        """What knows whether something may be sent now."""
        ...

    @property
    def header(self) -> SessionHeader:
        """The header of messages to clients."""
        ...

    @property
    def is_leader(self) -> bool:
        """Whether the member leads, so that messages go to clients."""
        ...

    @property
    def time(self) -> int:
        """The cluster's time, which goes with each message."""
        ...

    def get_session(self, session_id: int, /) -> ClientSession | None:
        """Return an open session."""
        ...

    def close_client_session(self, session_id: int, /) -> bool:
        """Ask the consensus module to close a session."""
        ...


class ClientSession:
    """An open session of a client. Made by the container, which gives it to `on_session_open`; the service's thread.

    Its id is the same on all members. Messages reach the client from the leader; on the other members an offer returns MOCKED_OFFER.
    """

    __slots__ = ("_is_closing", "_owner", "_publication", "_record")

    def __init__(self, record: ClientSessionRecord, owner: SessionOwner) -> None:
        self._record = record
        self._owner = owner
        self._publication: Publication | None = None
        self._is_closing = False

    @property
    def id(self) -> int:
        """Number of the session, never used again in the cluster."""
        return self._record.session_id

    @property
    def response_stream_id(self) -> int:
        """Stream that the client listens to."""
        return self._record.response_stream_id

    @property
    def response_channel(self) -> str:
        """Channel that the client listens to."""
        return self._record.response_channel

    @property
    def encoded_principal(self) -> bytes:
        """Who the client is, as the authenticator has found."""
        return self._record.encoded_principal

    @property
    def is_closing(self) -> bool:
        """Whether the service has asked for its end."""
        return self._is_closing

    @property
    def record(self) -> ClientSessionRecord:
        """The session as a snapshot has it."""
        return self._record

    def offer(self, buffer: Buffer, offset: int = 0, length: int | None = None) -> int:
        """Send a message to the client: a positive result, or BACK_PRESSURED, NOT_CONNECTED, ADMIN_ACTION, as a publication's offer.

        Raises ServiceCallError from on_start, on_role_change, on_terminate and do_background_work.
        """
        if offset or length is not None:
            view = memoryview(buffer).cast("B")
            buffer = view[offset : len(view) if length is None else offset + length]
        return self.offer_parts(buffer)

    def offer_parts(self, *buffers: Buffer) -> int:
        """Send one message that lies in several buffers, as `offer`."""
        owner = self._owner
        owner.guard.check()
        if not owner.is_leader:
            return MOCKED_OFFER
        if self._publication is None:
            return NOT_CONNECTED
        return self._publication.offer_parts(owner.header.encode(self._record.session_id, owner.time), *buffers)

    def try_claim(self, length: int) -> MessageClaim:
        """Claim space for a message to the client. Raises MessageTooLongError, and ServiceCallError as `offer`."""
        owner = self._owner
        owner.guard.check()
        if not owner.is_leader:
            if not 0 <= length <= _CLAIM_LENGTH_MAX:
                raise MessageTooLongError("a claim is too long", expected=f"0 to {_CLAIM_LENGTH_MAX} bytes", actual=length)
            return MessageClaim(MOCKED_OFFER, bytearray(length))
        if self._publication is None:
            return MessageClaim(NOT_CONNECTED)
        claim = self._publication.try_claim(SESSION_HEADER_LENGTH + length)
        if not claim:
            return MessageClaim(claim.result)
        return MessageClaim(claim.result, claim=claim, header=owner.header.encode(self._record.session_id, owner.time))

    def close(self) -> None:
        """Ask for the end of the session, which comes by the log; nothing if it has ended."""
        if self._owner.get_session(self.id) is not None:
            self._owner.close_client_session(self.id)

    def __repr__(self) -> str:
        return (
            f"ClientSession(id={self.id}, response_channel={self.response_channel!r}, response_stream_id={self.response_stream_id}, "
            f"is_closing={self._is_closing})"
        )

    # ---- for the container

    @property
    def publication(self) -> Publication | None:
        """The publication to the client, at the leader."""
        return self._publication

    def connect(self, publication: Publication) -> None:
        """Send by this publication from now on."""
        self._publication = publication

    def disconnect(self) -> None:
        """Close the publication."""
        publication, self._publication = self._publication, None
        if publication is not None:
            publication.close()

    def mark_closing(self, *, is_closing: bool) -> None:
        """Note whether its end was asked for."""
        self._is_closing = is_closing
