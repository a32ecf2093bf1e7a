"""Which message a template id means, and which operation serves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from aerowire.archive.control.requests import ExtendRecording, Replay, Replicate, StartRecording
from aerowire.codecs.flyweights import archive


class Route(NamedTuple):
    """How a request of a session is served: its message, the method of ArchiveOperations, and what the message becomes for it."""

    message: Any
    operation: str
    request_of: Callable[[Any], Any] | None


_OPERATIONS: dict[str, tuple[str, Callable[[Any], Any] | None]] = {
    "StartRecordingRequest": ("start_recording", StartRecording.of),
    "StartRecordingRequest2": ("start_recording", StartRecording.of),
    "ExtendRecordingRequest": ("extend_recording", ExtendRecording.of),
    "ExtendRecordingRequest2": ("extend_recording", ExtendRecording.of),
    "StopRecordingRequest": ("stop_recording", None),
    "StopRecordingSubscriptionRequest": ("stop_recording_subscription", None),
    "StopRecordingByIdentityRequest": ("stop_recording_by_identity", None),
    "ReplayRequest": ("start_replay", Replay.of),
    "BoundedReplayRequest": ("start_replay", Replay.of),
    "StopReplayRequest": ("stop_replay", None),
    "StopAllReplaysRequest": ("stop_all_replays", None),
    "ReplayTokenRequest": ("replay_token", None),
    "ListRecordingsRequest": ("list_recordings", None),
    "ListRecordingsForUriRequest": ("list_recordings_for_uri", None),
    "ListRecordingRequest": ("list_recording", None),
    "ListRecordingSubscriptionsRequest": ("list_recording_subscriptions", None),
    "FindLastMatchingRecordingRequest": ("find_last_matching_recording", None),
    "RecordingPositionRequest": ("recording_position", None),
    "StartPositionRequest": ("start_position", None),
    "StopPositionRequest": ("stop_position", None),
    "MaxRecordedPositionRequest": ("max_recorded_position", None),
    "ArchiveIdRequest": ("archive_id", None),
    "UpdateChannelRequest": ("update_channel", None),
    "TruncateRecordingRequest": ("truncate_recording", None),
    "PurgeRecordingRequest": ("purge_recording", None),
    "DetachSegmentsRequest": ("detach_segments", None),
    "DeleteDetachedSegmentsRequest": ("delete_detached_segments", None),
    "PurgeSegmentsRequest": ("purge_segments", None),
    "AttachSegmentsRequest": ("attach_segments", None),
    "MigrateSegmentsRequest": ("migrate_segments", None),
    "ReplicateRequest": ("replicate", Replicate.of),
    "TaggedReplicateRequest": ("replicate", Replicate.of),
    "ReplicateRequest2": ("replicate", Replicate.of),
    "StopReplicationRequest": ("stop_replication", None),
}


def _template_id(message: str) -> int:
    found: int = getattr(archive, f"{message}Decoder").SBE_TEMPLATE_ID
    return found


# The requests of a session by template, but for those about the session itself.
ROUTES: Final = {
    _template_id(message): Route(getattr(archive, message), operation, request_of)
    for message, (operation, request_of) in _OPERATIONS.items()
}
AUTH_CONNECT: Final = _template_id("AuthConnectRequest")
CLOSE_SESSION: Final = _template_id("CloseSessionRequest")
CHALLENGE_RESPONSE: Final = _template_id("ChallengeResponse")
KEEP_ALIVE: Final = _template_id("KeepAliveRequest")
