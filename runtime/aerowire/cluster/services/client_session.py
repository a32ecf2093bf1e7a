"""A client's session as a service sees it, and the way of messages to the client. Aeron: ClientSession, ContainerClientSession."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.base.errors import MessageTooLongError
from aerowire.client.publications.publication import NOT_CONNECTED
from aerowire.cluster.services.message_claim import MessageClaim
from aerowire.cluster.services.session_header import SESSION_HEADER_LENGTH
from aerowire.cluster.snapshots.service_snapshot import ClientSessionRecord
from aerowire.codecs.flyweights.transport import MAX_UDP_PAYLOAD, DataHeaderDecoder

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from aerowire.client.publications.publication import Publication
    from aerowire.cluster.services.core import ContainerCore

# What an offer returns at a member that does not lead: the message goes nowhere. Aeron: ClientSession.MOCKED_OFFER.
MOCKED_OFFER: Final = 1
_CLOSE_ATTEMPTS: Final = 3  # as officially
_CLAIM_LENGTH_MAX: Final = MAX_UDP_PAYLOAD - DataHeaderDecoder.ENCODED_LENGTH - SESSION_HEADER_LENGTH


class ClientSession:
    """An open session of a client. Made by the container, which gives it to `on_session_open`; the service's thread.

    Its id is the same on all members. Messages reach the client from the leader; on the other members an offer returns MOCKED_OFFER.
    """

    __slots__ = ("_core", "_is_closing", "_publication", "_record", "_session_id")

    def __init__(self, record: ClientSessionRecord, core: ContainerCore) -> None:
        self._record = record
        self._core = core
        self._session_id = record.session_id
        self._publication: Publication | None = None
        self._is_closing = False

    @property
    def id(self) -> int:
        """Number of the session, never used again in the cluster."""
        return self._session_id

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
        """Identity of the client, which the authenticator has found."""
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
        core = self._core
        if core.guard.callback is not None:
            core.guard.check()
        if not core.is_leader:
            return MOCKED_OFFER
        if self._publication is None:
            return NOT_CONNECTED
        header = core.header.encode(self._session_id, core.log.cluster_time)
        return self._publication.offer_parts(header, part_of(buffer, offset, length) if offset or length is not None else buffer)

    def offer_parts(self, *buffers: Buffer) -> int:
        """Send one message that lies in several buffers, as `offer`."""
        core = self._core
        core.guard.check()
        if not core.is_leader:
            return MOCKED_OFFER
        if self._publication is None:
            return NOT_CONNECTED
        return self._publication.offer_parts(core.header.encode(self._session_id, core.log.cluster_time), *buffers)

    def try_claim(self, length: int) -> MessageClaim:
        """Claim space for a message to the client. Raises MessageTooLongError, and ServiceCallError as `offer`."""
        core = self._core
        core.guard.check()
        if not core.is_leader:
            if not 0 <= length <= _CLAIM_LENGTH_MAX:
                raise MessageTooLongError("a claim is too long", expected=f"0 to {_CLAIM_LENGTH_MAX} bytes", actual=length)
            return MessageClaim(MOCKED_OFFER, bytearray(length))
        if self._publication is None:
            return MessageClaim(NOT_CONNECTED)
        claim = self._publication.try_claim(SESSION_HEADER_LENGTH + length)
        if not claim:
            return MessageClaim(claim.result)
        return MessageClaim(claim.result, claim=claim, header=core.header.encode(self._session_id, core.log.cluster_time))

    def close(self) -> bool:
        """Ask for the end of the session, which comes by the log; return whether there was room for that.

        Nothing is asked, and it returns True, where the session has ended or its end was asked for. Raises ServiceCallError as `offer`.
        """
        core = self._core
        core.guard.check()
        if self._is_closing or core.log.sessions.get(self._session_id) is not self:
            return True
        self._is_closing = any(core.proxy.close_session(self._session_id) for _ in range(_CLOSE_ATTEMPTS))
        return self._is_closing

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


def part_of(buffer: Buffer, offset: int, length: int | None) -> memoryview:
    """Return `length` bytes of a buffer from an offset on; None: all that are there."""
    view = memoryview(buffer).cast("B")
    return view[offset : len(view) if length is None else offset + length]
