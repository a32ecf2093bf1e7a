"""Descriptors of recordings and of their subscriptions, and recording signals, as an archive sends them. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.archive.client.parameters import NULL_POSITION
from aerowire.codecs.flyweights.archive.enums import RecordingSignal

if TYPE_CHECKING:
    from aerowire.codecs.flyweights.archive.messages import recording_descriptor as wire
    from aerowire.codecs.flyweights.archive.messages import recording_signal_event as wire_signal
    from aerowire.codecs.flyweights.archive.messages import recording_subscription_descriptor as wire_subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingDescriptor:
    """What an archive knows of a recording. Times are milliseconds of its clock; stop time and position are -1 while it goes on."""

    recording_id: int
    start_timestamp: int
    stop_timestamp: int
    start_position: int
    stop_position: int
    initial_term_id: int
    segment_file_length: int
    term_buffer_length: int
    mtu_length: int
    session_id: int
    stream_id: int
    stripped_channel: str
    original_channel: str
    source_identity: str

    @property
    def is_active(self) -> bool:
        """Whether the recording went on when it was described."""
        return self.stop_position == NULL_POSITION

    @classmethod
    def of(cls, found: wire.RecordingDescriptor) -> RecordingDescriptor:
        """Return the descriptor that a message carries."""
        return cls(**{name: getattr(found, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSubscriptionDescriptor:
    """A subscription by which an archive records."""

    subscription_id: int
    stream_id: int
    stripped_channel: str

    @classmethod
    def of(cls, found: wire_subscription.RecordingSubscriptionDescriptor) -> RecordingSubscriptionDescriptor:
        """Return the descriptor that a message carries."""
        return cls(**{name: getattr(found, name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSignalEvent:
    """Something that happened to a recording. Ids and position are -1 where the signal has none."""

    control_session_id: int
    correlation_id: int
    recording_id: int
    subscription_id: int
    position: int
    signal: RecordingSignal

    @classmethod
    def of(cls, found: wire_signal.RecordingSignalEvent) -> RecordingSignalEvent:
        """Return the event that a message carries."""
        return cls(**{name: getattr(found, name) for name in cls.__slots__})
