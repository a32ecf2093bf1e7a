"""Requests that the protocol has in several forms, each as one value; and the forms by acting version.

The other requests are the generated messages themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aerowire.codecs.flyweights.archive import (
    BooleanType,
    BoundedReplayRequest,
    ExtendRecordingRequest,
    ExtendRecordingRequest2,
    ReplayRequest,
    ReplicateRequest,
    ReplicateRequest2,
    SourceLocation,
    StartRecordingRequest,
    StartRecordingRequest2,
    TaggedReplicateRequest,
)

# The value of a number that a request does not give, and of a field that its version does not have.
NULL_VALUE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRecording:
    """A request to record the images of a channel and stream."""

    correlation_id: int
    stream_id: int
    source_location: SourceLocation
    is_auto_stop: bool
    channel: str

    @classmethod
    def of(cls, message: StartRecordingRequest | StartRecordingRequest2) -> StartRecording:
        """Return the request that either message holds."""
        return cls(
            correlation_id=message.correlation_id,
            stream_id=message.stream_id,
            source_location=message.source_location,
            is_auto_stop=isinstance(message, StartRecordingRequest2) and message.auto_stop == BooleanType.TRUE,
            channel=message.channel,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendRecording:
    """A request to go on with a recording from the image of a channel and stream."""

    correlation_id: int
    recording_id: int
    stream_id: int
    source_location: SourceLocation
    is_auto_stop: bool
    channel: str

    @classmethod
    def of(cls, message: ExtendRecordingRequest | ExtendRecordingRequest2) -> ExtendRecording:
        """Return the request that either message holds."""
        return cls(
            correlation_id=message.correlation_id,
            recording_id=message.recording_id,
            stream_id=message.stream_id,
            source_location=message.source_location,
            is_auto_stop=isinstance(message, ExtendRecordingRequest2) and message.auto_stop == BooleanType.TRUE,
            channel=message.channel,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A request for a replay; `limit_counter_id` is None where no counter of the client's choice bounds it."""

    correlation_id: int
    recording_id: int
    position: int
    length: int
    limit_counter_id: int | None
    stream_id: int
    file_io_max_length: int
    replay_token: int
    channel: str

    @classmethod
    def of(cls, message: ReplayRequest | BoundedReplayRequest) -> Replay:
        """Return the request that either message holds."""
        return cls(
            correlation_id=message.correlation_id,
            recording_id=message.recording_id,
            position=message.position,
            length=message.length,
            limit_counter_id=message.limit_counter_id if isinstance(message, BoundedReplayRequest) else None,
            stream_id=message.replay_stream_id,
            file_io_max_length=_or_null(message.file_io_max_length),
            replay_token=_or_null(message.replay_token),
            channel=message.replay_channel,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicate:
    """A request to copy a recording of another archive."""

    correlation_id: int
    src_recording_id: int
    dst_recording_id: int
    stop_position: int = NULL_VALUE
    channel_tag_id: int = NULL_VALUE
    subscription_tag_id: int = NULL_VALUE
    src_control_stream_id: int
    file_io_max_length: int = NULL_VALUE
    replication_session_id: int = NULL_VALUE
    src_control_channel: str
    live_destination: str
    replication_channel: str = ""
    encoded_credentials: bytes = b""
    src_response_channel: str = ""

    @classmethod
    def of(cls, message: ReplicateRequest | TaggedReplicateRequest | ReplicateRequest2) -> Replicate:
        """Return the request that any of the messages holds."""
        request = cls(
            correlation_id=message.correlation_id,
            src_recording_id=message.src_recording_id,
            dst_recording_id=message.dst_recording_id,
            src_control_stream_id=message.src_control_stream_id,
            src_control_channel=message.src_control_channel,
            live_destination=message.live_destination,
        )
        if isinstance(message, TaggedReplicateRequest):
            return replace(request, channel_tag_id=message.channel_tag_id, subscription_tag_id=message.subscription_tag_id)
        if isinstance(message, ReplicateRequest2):
            return replace(
                request,
                stop_position=message.stop_position,
                channel_tag_id=message.channel_tag_id,
                subscription_tag_id=message.subscription_tag_id,
                file_io_max_length=_or_null(message.file_io_max_length),
                replication_session_id=_or_null(message.replication_session_id),
                replication_channel=message.replication_channel,
                encoded_credentials=message.encoded_credentials,
                src_response_channel=message.src_response_channel,
            )
        return request


def _or_null(value: int | None) -> int:
    return NULL_VALUE if value is None else value
