"""Messages of an archive to its client, read from the response channel. Aeron: ControlResponsePoller, RecordingDescriptorPoller.

Messages of other schemas, of unknown templates, and damaged ones are counted and dropped. Knows nothing of requests.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.codecs.flyweights.archive.messages.challenge import Challenge, ChallengeDecoder
from aerowire.codecs.flyweights.archive.messages.control_response import ControlResponse, ControlResponseDecoder
from aerowire.codecs.flyweights.archive.messages.ping import Ping, PingDecoder
from aerowire.codecs.flyweights.archive.messages.recording_descriptor import RecordingDescriptor, RecordingDescriptorDecoder
from aerowire.codecs.flyweights.archive.messages.recording_signal_event import RecordingSignalEvent, RecordingSignalEventDecoder
from aerowire.codecs.flyweights.archive.messages.recording_subscription_descriptor import (
    RecordingSubscriptionDescriptor,
    RecordingSubscriptionDescriptorDecoder,
)
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.subscription import Subscription

Response: TypeAlias = ControlResponse | Challenge | Ping | RecordingDescriptor | RecordingSignalEvent | RecordingSubscriptionDescriptor

_SCHEMA_ID: Final = ControlResponseDecoder.SBE_SCHEMA_ID
_KINDS: Final[dict[int, type[Response]]] = {
    ControlResponseDecoder.SBE_TEMPLATE_ID: ControlResponse,
    ChallengeDecoder.SBE_TEMPLATE_ID: Challenge,
    PingDecoder.SBE_TEMPLATE_ID: Ping,
    RecordingDescriptorDecoder.SBE_TEMPLATE_ID: RecordingDescriptor,
    RecordingSignalEventDecoder.SBE_TEMPLATE_ID: RecordingSignalEvent,
    RecordingSubscriptionDescriptorDecoder.SBE_TEMPLATE_ID: RecordingSubscriptionDescriptor,
}
_HEADER: Final = Struct("<HHHH")

# As many as the official client reads at a time: a handler that waits for its turn does so for microseconds.
FRAGMENT_LIMIT = 10


def decode_response(message: bytes) -> Response | None:
    """Return what a message of a response channel says; None where it is of another schema, unknown or damaged."""
    if len(message) < _HEADER.size:
        return None
    _, template_id, schema_id, _ = _HEADER.unpack_from(message)
    kind = _KINDS.get(template_id)
    if schema_id != _SCHEMA_ID or kind is None:
        return None
    try:
        return kind.decode(message)
    except SbeError:
        return None


class ControlResponsePoller:
    """Reads the subscription to a response channel. Belongs to one control session, which calls it under its lock.

    Changed by `poll`: `responses` are those that were read and are not taken yet, `dropped` counts the messages that none of them came of.
    """

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.responses: deque[Response] = deque()
        self.dropped = 0
        self._assembler = FragmentAssembler(self._on_message)

    def poll(self) -> int:
        """Read what has come, at most FRAGMENT_LIMIT fragments, and return how many there were."""
        return self.subscription.poll(self._assembler, FRAGMENT_LIMIT)

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        response = decode_response(bytes(buffer[offset : offset + length]))
        if response is None:
            self.dropped += 1
        else:
            self.responses.append(response)
