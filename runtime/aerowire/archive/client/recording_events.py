"""What an archive publishes of its recordings: start, progress and end of each. Aeron: RecordingEventsAdapter.

Messages of other schemas, of unknown templates, and damaged ones are counted and dropped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aerowire.client.subscriptions.assembler import FragmentAssembler
from aerowire.codecs.flyweights.archive.messages import recording_progress as progress
from aerowire.codecs.flyweights.archive.messages import recording_started as started
from aerowire.codecs.flyweights.archive.messages import recording_stopped as stopped
from aerowire.codecs.support.errors import SbeError

if TYPE_CHECKING:
    from aerowire.client.subscriptions.header import Header
    from aerowire.client.subscriptions.subscription import Subscription

_HEADER: Final = Struct("<HHHH")
_SCHEMA_ID: Final = started.RecordingStartedDecoder.SBE_SCHEMA_ID


@dataclass(frozen=True, slots=True)
class RecordingStarted:
    """A recording has begun at `start_position`, or goes on from there after it was stopped."""

    recording_id: int
    start_position: int
    session_id: int
    stream_id: int
    channel: str
    source_identity: str


@dataclass(frozen=True, slots=True)
class RecordingProgress:
    """A recording that began, or went on, at `start_position` is written up to `position`."""

    recording_id: int
    start_position: int
    position: int


@dataclass(frozen=True, slots=True)
class RecordingStopped:
    """A recording that began, or went on, at `start_position` has stopped."""

    recording_id: int
    start_position: int
    stop_position: int


RecordingEvent: TypeAlias = RecordingStarted | RecordingProgress | RecordingStopped


class RecordingEventsPoller:
    """Reads the events of a subscription to an archive's recording events. Belongs to one thread; the subscription is the caller's."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.dropped = 0
        self._events: deque[RecordingEvent] = deque()
        self._assembler = FragmentAssembler(self._on_message)

    def poll(self, fragment_limit: int = 10) -> list[RecordingEvent]:
        """Return the events that have come, of at most `fragment_limit` fragments."""
        self.subscription.poll(self._assembler, fragment_limit)
        events = list(self._events)
        self._events.clear()
        return events

    def _on_message(self, buffer: memoryview, offset: int, length: int, _header: Header) -> None:
        event = decode_recording_event(bytes(buffer[offset : offset + length]))
        if event is None:
            self.dropped += 1
        else:
            self._events.append(event)


def decode_recording_event(message: bytes) -> RecordingEvent | None:
    """Return the event of a message; None where it is of another schema, no event, or damaged."""
    if len(message) < _HEADER.size:
        return None
    _, template_id, schema_id, _ = _HEADER.unpack_from(message)
    if schema_id != _SCHEMA_ID or template_id not in _KINDS:
        return None
    record, event = _KINDS[template_id]
    try:
        found = record.decode(message)
    except SbeError:
        return None
    return event(**{name: getattr(found, name) for name in event.__slots__})


_KINDS: Final[dict[int, tuple[Any, type[RecordingEvent]]]] = {
    started.RecordingStartedDecoder.SBE_TEMPLATE_ID: (started.RecordingStarted, RecordingStarted),
    progress.RecordingProgressDecoder.SBE_TEMPLATE_ID: (progress.RecordingProgress, RecordingProgress),
    stopped.RecordingStoppedDecoder.SBE_TEMPLATE_ID: (stopped.RecordingStopped, RecordingStopped),
}
