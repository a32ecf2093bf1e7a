"""Messages of a consensus module to its services: the log to join, the position to end or to acknowledge at. Aeron: ServiceAdapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from aerowire.base.errors import ClusterServiceError
from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.codecs.flyweights.cluster.header import HEADER
from aerowire.codecs.flyweights.cluster.messages.join_log import JoinLog, JoinLogDecoder
from aerowire.codecs.flyweights.cluster.messages.request_service_ack import RequestServiceAck, RequestServiceAckDecoder
from aerowire.codecs.flyweights.cluster.messages.service_termination_position import (
    ServiceTerminationPosition,
    ServiceTerminationPositionDecoder,
)
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.subscription import Subscription

ServiceMessage: TypeAlias = JoinLog | ServiceTerminationPosition | RequestServiceAck

# Answers to tools go by the same stream; they are not for services.
_KINDS: Final[dict[int, type[ServiceMessage]]] = {
    JoinLogDecoder.SBE_TEMPLATE_ID: JoinLog,
    ServiceTerminationPositionDecoder.SBE_TEMPLATE_ID: ServiceTerminationPosition,
    RequestServiceAckDecoder.SBE_TEMPLATE_ID: RequestServiceAck,
}
_SCHEMA_ID: Final = JoinLogDecoder.SBE_SCHEMA_ID
# One at a time, as officially: what a message asks for is done before the next is read.
_FRAGMENT_LIMIT: Final = 1


class ServiceAdapter:
    """The subscription to a consensus module. The agent's thread."""

    def __init__(self, subscription: Subscription, on_message: Callable[[ServiceMessage], object]) -> None:
        self._subscription = subscription
        self._on_message = on_message
        self._assembler = FragmentAssembler(self._on_fragment)

    @property
    def subscription(self) -> Subscription:
        """The subscription that is read."""
        return self._subscription

    def poll(self) -> int:
        """Hand over what has come, at most one message, and return how many fragments that was. Raises ClusterServiceError."""
        return self._subscription.poll(self._assembler, _FRAGMENT_LIMIT)

    def close(self) -> None:
        """Close the subscription."""
        self._subscription.close()

    def _on_fragment(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        if length < HEADER.size:
            raise self._wrong(f"{HEADER.size} bytes of header", f"{length} bytes")
        _, template_id, schema_id, _ = HEADER.unpack(buffer, offset)
        if schema_id != _SCHEMA_ID:
            raise self._wrong(f"schema {_SCHEMA_ID}", f"schema {schema_id}")
        kind = _KINDS.get(template_id)
        if kind is None:
            return
        try:
            message = kind.decode(bytes(buffer[offset : offset + length]))
        except SbeError as error:
            raise self._wrong(f"a {kind.__name__}", str(error)) from None
        self._on_message(message)

    def _wrong(self, expected: str, actual: str) -> ClusterServiceError:
        where = f"{self._subscription.channel} stream {self._subscription.stream_id}"
        return ClusterServiceError("a message to a service is damaged", where=where, expected=expected, actual=actual)
