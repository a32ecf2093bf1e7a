"""Requests to an archive as messages on the control publication. Aeron: ArchiveProxy.

A request is a data class of the generated codecs, which encodes itself. Knows nothing of answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aerowire.base.errors import ArchiveConnectionError, ConfigurationError, PublicationClosedError
from aerowire.client.publications.publication import ADMIN_ACTION, BACK_PRESSURED, CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.client.publications.publication import ExclusivePublication

# What keeps a request from being sent that will keep each later one from it too.
_ENDS = {
    CLOSED: "the publication of requests is closed",
    NOT_CONNECTED: "the archive does not listen to requests any more",
    MAX_POSITION_EXCEEDED: "the publication of requests has reached its last position",
}


class Message(Protocol):
    """A request that can be encoded."""

    def encode(self) -> bytes:
        """Return the bytes of the message with its header."""
        ...


class ArchiveProxy:
    """Sends requests on one control publication. Belongs to one control session, which calls it under its lock."""

    def __init__(self, publication: ExclusivePublication) -> None:
        self.publication = publication

    def offer(self, message: bytes) -> bool:
        """Send an encoded request, and return whether there was room for it. Raises ArchiveConnectionError when it can never be sent."""
        try:
            result = self.publication.offer(message)
        except PublicationClosedError:
            result = CLOSED
        if result >= 0:
            return True
        if result in (BACK_PRESSURED, ADMIN_ACTION):
            return False
        raise ArchiveConnectionError(
            _ENDS.get(result, f"a request cannot be sent: {result}"),
            where=f"{self.publication.channel}, stream {self.publication.stream_id}",
            expected="a control publication that is connected to an archive",
        )


def encode(request: Message) -> bytes:
    """Return a request as bytes. Raises ConfigurationError for a value that its field cannot have."""
    try:
        return request.encode()
    except SbeError as error:
        raise ConfigurationError(f"a request cannot be encoded: {error}") from None
