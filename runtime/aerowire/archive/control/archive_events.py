"""The events of an archive, as its event log gets them: requests, responses, signals, changes of state. Without a log: nothing.

Aeron: ArchiveEventLogger, ArchiveLog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerowire.agents.state_events import StateEvents
from aerowire.codecs.flyweights import archive
from aerowire.codecs.flyweights.events import EVENT_TEXT_LENGTH_MAX, ArchiveEventCode, CommandEventEncoder

if TYPE_CHECKING:
    from aerowire.agents.event_log import EventLog

# The event of each message by its template; ArchiveIdRequest and UpdateChannelRequest, which came later, have none in Aeron.
EVENT_OF_TEMPLATE: Final = {
    message.SBE_TEMPLATE_ID: code
    for message, code in (
        (archive.CloseSessionRequestDecoder, ArchiveEventCode.CMD_IN_CLOSE_SESSION),
        (archive.StartRecordingRequestDecoder, ArchiveEventCode.CMD_IN_START_RECORDING),
        (archive.StopRecordingRequestDecoder, ArchiveEventCode.CMD_IN_STOP_RECORDING),
        (archive.ReplayRequestDecoder, ArchiveEventCode.CMD_IN_REPLAY),
        (archive.StopReplayRequestDecoder, ArchiveEventCode.CMD_IN_STOP_REPLAY),
        (archive.ListRecordingsRequestDecoder, ArchiveEventCode.CMD_IN_LIST_RECORDINGS),
        (archive.ListRecordingsForUriRequestDecoder, ArchiveEventCode.CMD_IN_LIST_RECORDINGS_FOR_URI),
        (archive.ListRecordingRequestDecoder, ArchiveEventCode.CMD_IN_LIST_RECORDING),
        (archive.ExtendRecordingRequestDecoder, ArchiveEventCode.CMD_IN_EXTEND_RECORDING),
        (archive.RecordingPositionRequestDecoder, ArchiveEventCode.CMD_IN_RECORDING_POSITION),
        (archive.TruncateRecordingRequestDecoder, ArchiveEventCode.CMD_IN_TRUNCATE_RECORDING),
        (archive.StopRecordingSubscriptionRequestDecoder, ArchiveEventCode.CMD_IN_STOP_RECORDING_SUBSCRIPTION),
        (archive.StopPositionRequestDecoder, ArchiveEventCode.CMD_IN_STOP_POSITION),
        (archive.FindLastMatchingRecordingRequestDecoder, ArchiveEventCode.CMD_IN_FIND_LAST_MATCHING_RECORD),
        (archive.ListRecordingSubscriptionsRequestDecoder, ArchiveEventCode.CMD_IN_LIST_RECORDING_SUBSCRIPTIONS),
        (archive.BoundedReplayRequestDecoder, ArchiveEventCode.CMD_IN_START_BOUNDED_REPLAY),
        (archive.StopAllReplaysRequestDecoder, ArchiveEventCode.CMD_IN_STOP_ALL_REPLAYS),
        (archive.ReplicateRequestDecoder, ArchiveEventCode.CMD_IN_REPLICATE),
        (archive.StopReplicationRequestDecoder, ArchiveEventCode.CMD_IN_STOP_REPLICATION),
        (archive.StartPositionRequestDecoder, ArchiveEventCode.CMD_IN_START_POSITION),
        (archive.DetachSegmentsRequestDecoder, ArchiveEventCode.CMD_IN_DETACH_SEGMENTS),
        (archive.DeleteDetachedSegmentsRequestDecoder, ArchiveEventCode.CMD_IN_DELETE_DETACHED_SEGMENTS),
        (archive.PurgeSegmentsRequestDecoder, ArchiveEventCode.CMD_IN_PURGE_SEGMENTS),
        (archive.AttachSegmentsRequestDecoder, ArchiveEventCode.CMD_IN_ATTACH_SEGMENTS),
        (archive.MigrateSegmentsRequestDecoder, ArchiveEventCode.CMD_IN_MIGRATE_SEGMENTS),
        (archive.AuthConnectRequestDecoder, ArchiveEventCode.CMD_IN_AUTH_CONNECT),
        (archive.KeepAliveRequestDecoder, ArchiveEventCode.CMD_IN_KEEP_ALIVE),
        (archive.TaggedReplicateRequestDecoder, ArchiveEventCode.CMD_IN_TAGGED_REPLICATE),
        (archive.StartRecordingRequest2Decoder, ArchiveEventCode.CMD_IN_START_RECORDING2),
        (archive.ExtendRecordingRequest2Decoder, ArchiveEventCode.CMD_IN_EXTEND_RECORDING2),
        (archive.StopRecordingByIdentityRequestDecoder, ArchiveEventCode.CMD_IN_STOP_RECORDING_BY_IDENTITY),
        (archive.PurgeRecordingRequestDecoder, ArchiveEventCode.CMD_IN_PURGE_RECORDING),
        (archive.ReplicateRequest2Decoder, ArchiveEventCode.CMD_IN_REPLICATE2),
        (archive.MaxRecordedPositionRequestDecoder, ArchiveEventCode.CMD_IN_MAX_RECORDED_POSITION),
        (archive.ReplayTokenRequestDecoder, ArchiveEventCode.CMD_IN_REQUEST_REPLAY_TOKEN),
        (archive.ControlResponseDecoder, ArchiveEventCode.CMD_OUT_RESPONSE),
        (archive.RecordingSignalEventDecoder, ArchiveEventCode.RECORDING_SIGNAL),
    )
}


class ArchiveEvents(StateEvents):
    """Writes to the event log, if there is one. Any thread."""

    __slots__ = ("is_on",)

    def __init__(self, log: EventLog | None = None) -> None:
        super().__init__(log)
        self.is_on: Final = log is not None
        """Whether there is a log."""

    def message(self, template_id: int, message: bytes | memoryview) -> None:
        """A request has come, or a response or a signal was sent; `message` is the whole of it."""
        if self.log is None:
            return
        code = EVENT_OF_TEMPLATE.get(template_id)
        if code is not None and self.log.has(code):
            kept = bytes(message[:EVENT_TEXT_LENGTH_MAX])
            self.log.note(code, CommandEventEncoder.encode(command_type=template_id, command_length=len(message), command=kept))
