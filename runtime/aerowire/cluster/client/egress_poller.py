"""The egress of a connection that has no session yet, read up to the answer to one request. Aeron: EgressPoller."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.controlled_assembler import ControlledFragmentAssembler
from aerowire.cluster.client.egress_events import decode_event
from aerowire.codecs.flyweights.cluster.enums import EventCode
from aerowire.codecs.flyweights.cluster.messages.challenge import Challenge
from aerowire.codecs.flyweights.cluster.messages.session_event import SessionEvent, SessionEventDecoder

if TYPE_CHECKING:
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.image import Image
    from aerowire.client.subscriptions.subscription import Subscription

_SCHEMA_ID: Final = SessionEventDecoder.SBE_SCHEMA_ID
_HEADER: Final = Struct("<HHHH")
FRAGMENT_LIMIT: Final = 10


class EgressPoller:
    """Reads up to the answer. Messages behind it, which a service may send when the session opens, are left for the client's own polls."""

    def __init__(self, subscription: Subscription) -> None:
        self.image: Image | None = None  # in which the last answer came
        self._subscription = subscription
        self._assembler = ControlledFragmentAssembler(self._on_message)
        self._correlation_id = -1
        self._answer: SessionEvent | Challenge | None = None

    def poll(self, correlation_id: int) -> SessionEvent | Challenge | None:
        """Read what has come, and return the answer to a request; None while there is none."""
        self._correlation_id = correlation_id
        self._answer = None
        self._subscription.controlled_poll(self._assembler, FRAGMENT_LIMIT)
        return self._answer

    def _on_message(self, buffer: memoryview, offset: int, length: int, header: Header) -> Action:
        if self._answer is not None:
            return Action.ABORT
        if length < _HEADER.size:
            return Action.CONTINUE
        _, template_id, schema_id, _ = _HEADER.unpack_from(buffer, offset)
        if schema_id != _SCHEMA_ID:
            return Action.CONTINUE
        event = decode_event(template_id, bytes(buffer[offset : offset + length]))
        if not isinstance(event, SessionEvent | Challenge) or event.correlation_id != self._correlation_id:
            return Action.CONTINUE
        if isinstance(event, SessionEvent) and event.code == EventCode.CLOSED:
            return Action.CONTINUE
        self._answer = event
        self.image = header.context
        return Action.BREAK
