"""What a persistent subscription reads, and why one fails. Aeron: PersistentSubscription.Context, PersistentSubscriptionException."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from aerowire.archive.client.parameters import NULL_POSITION
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import ArchiveError, ConfigurationError
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor

# Where to begin: at the start of the recording, or with the live stream.
FROM_START: Final = NULL_POSITION
FROM_LIVE: Final = -2


class FailureReason(Enum):
    """Why a persistent subscription has failed for good. Aeron: PersistentSubscriptionException.Reason."""

    GENERIC = 0
    RECORDING_NOT_FOUND = 1
    STREAM_ID_MISMATCH = 2
    INVALID_START_POSITION = 3


class PersistentSubscriptionError(ArchiveError):
    """A persistent subscription has failed for good; `reason` says why."""

    reason = FailureReason.GENERIC

    @classmethod
    def of(cls, error: ArchiveError) -> PersistentSubscriptionError:
        """Return the failure that an archive's refusal means."""
        failure = cls(
            f"a persistent subscription has failed: {error.what}",
            where=error.where,
            actual=error.actual,
            error_code=error.error_code,
            request=error.request,
            correlation_id=error.correlation_id,
            recording_id=error.recording_id,
        )
        failure.reason = _REASONS.get(error.error_code, FailureReason.GENERIC)
        return failure


_REASONS: Final[dict[int | None, FailureReason]] = {
    ArchiveErrorCode.UNKNOWN_RECORDING.value: FailureReason.RECORDING_NOT_FOUND,
    ArchiveErrorCode.INVALID_POSITION.value: FailureReason.INVALID_START_POSITION,
}


@dataclass(frozen=True, kw_only=True)
class PersistentStream:
    """What a persistent subscription reads: a recording and the stream that it is of.

    `replay_channel` may have an endpoint with port 0, or be a response channel. `start_position` is a position that was read before, or
    FROM_START, or FROM_LIVE.
    """

    recording_id: int
    live_channel: str
    live_stream_id: int
    replay_channel: str
    replay_stream_id: int
    start_position: int = FROM_LIVE

    def __post_init__(self) -> None:
        if self.recording_id < 0 or self.start_position < FROM_LIVE:
            raise ConfigurationError(
                "a persistent subscription cannot begin there",
                where="PersistentStream",
                expected="a recording id from 0, and a position, FROM_START or FROM_LIVE",
                actual=f"recording {self.recording_id}, position {self.start_position}",
            )
        ChannelUri.parse(self.live_channel)
        ChannelUri.parse(self.replay_channel)

    def checked(self, found: list[RecordingDescriptor], position: int, last_live_position: int) -> RecordingDescriptor:
        """Return the recording's descriptor.

        Raises PersistentSubscriptionError where there is none, or it is of another stream, or it does not hold `position`, where the
        reading is to go on, or what was seen of the live stream.
        """
        if not found:
            raise self.failure(FailureReason.RECORDING_NOT_FOUND, f"there is no recording {self.recording_id}")
        (one,) = found
        if one.stream_id != self.live_stream_id:
            raise self.failure(
                FailureReason.STREAM_ID_MISMATCH,
                f"recording {self.recording_id} is of another stream",
                expected=f"stream {self.live_stream_id}",
                actual=f"stream {one.stream_id}",
            )
        is_past_end = not one.is_active and max(position, last_live_position) > one.stop_position
        if 0 <= position < one.start_position or is_past_end:
            raise self.failure(
                FailureReason.INVALID_START_POSITION,
                f"recording {self.recording_id} does not hold the position to go on at",
                expected=f"a position from {one.start_position} to {'its end' if one.is_active else one.stop_position}",
                actual=f"position {position}, with the live stream seen at {last_live_position}",
            )
        return one

    def failure(self, reason: FailureReason, what: str, **details: Any) -> PersistentSubscriptionError:
        """Return the failure of this stream's subscription for a reason."""
        where = f"{self.live_channel} stream {self.live_stream_id}, {self.replay_channel} stream {self.replay_stream_id}"
        made = PersistentSubscriptionError(what, where=where, recording_id=self.recording_id, **details)
        made.reason = reason
        return made
