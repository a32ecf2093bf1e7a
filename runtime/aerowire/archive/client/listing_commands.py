"""Operations that ask what an archive holds: descriptors, positions, the last recording that matches. Aeron: AeronArchive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.client.archive_commands import ArchiveCommands, blocking, number
from aerowire.archive.client.descriptors import RecordingDescriptor, RecordingSubscriptionDescriptor
from aerowire.base import units
from aerowire.codecs.flyweights.archive.enums import BooleanType
from aerowire.codecs.flyweights.archive.messages.find_last_matching_recording_request import FindLastMatchingRecordingRequest
from aerowire.codecs.flyweights.archive.messages.list_recording_request import ListRecordingRequest
from aerowire.codecs.flyweights.archive.messages.list_recording_subscriptions_request import ListRecordingSubscriptionsRequest
from aerowire.codecs.flyweights.archive.messages.list_recordings_for_uri_request import ListRecordingsForUriRequest
from aerowire.codecs.flyweights.archive.messages.list_recordings_request import ListRecordingsRequest
from aerowire.codecs.flyweights.archive.messages.max_recorded_position_request import MaxRecordedPositionRequest
from aerowire.codecs.flyweights.archive.messages.recording_position_request import RecordingPositionRequest
from aerowire.codecs.flyweights.archive.messages.start_position_request import StartPositionRequest
from aerowire.codecs.flyweights.archive.messages.stop_position_request import StopPositionRequest

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending

# As many as a request can ask for: all.
COUNT_MAX = units.INT32_MAX


class ListingCommands(ArchiveCommands):
    """Questions about recordings. An archive answers one listing of recordings at a time: a second is refused with ACTIVE_LISTING."""

    def async_list_recordings(self, from_recording_id: int = 0, count: int = COUNT_MAX) -> Pending[list[RecordingDescriptor]]:
        """List recordings from an id on, at most `count`, by ascending id; the result is a list of descriptors."""
        what = f"list recordings from {from_recording_id}"
        return self._list(ListRecordingsRequest, what, RecordingDescriptor, count, from_recording_id=from_recording_id, record_count=count)

    list_recordings = blocking(async_list_recordings)

    def async_list_recordings_for_uri(
        self, channel_fragment: str, stream_id: int, *, from_recording_id: int = 0, count: int = COUNT_MAX
    ) -> Pending[list[RecordingDescriptor]]:
        """List recordings of a stream id whose stripped channel holds `channel_fragment`; the result is a list of descriptors."""
        return self._list(
            ListRecordingsForUriRequest,
            f"list recordings of {channel_fragment} stream {stream_id} from {from_recording_id}",
            RecordingDescriptor,
            count,
            from_recording_id=from_recording_id,
            record_count=count,
            channel=channel_fragment,
            stream_id=stream_id,
        )

    list_recordings_for_uri = blocking(async_list_recordings_for_uri)

    def async_list_recording(self, recording_id: int) -> Pending[list[RecordingDescriptor]]:
        """Describe one recording; the result is a list of its descriptor, or an empty one where there is no such recording."""
        return self._list(ListRecordingRequest, f"list recording {recording_id}", RecordingDescriptor, 1, recording_id=recording_id)

    list_recording = blocking(async_list_recording)

    def async_list_recording_subscriptions(
        self,
        channel_fragment: str = "",
        stream_id: int = 0,
        *,
        apply_stream_id: bool = False,
        pseudo_index: int = 0,
        count: int = COUNT_MAX,
    ) -> Pending[list[RecordingSubscriptionDescriptor]]:
        """List the subscriptions by which the archive records, from the `pseudo_index`-th on, at most `count`.

        Only those whose channel holds `channel_fragment`, and with `apply_stream_id` only those of `stream_id`.
        """
        return self._list(
            ListRecordingSubscriptionsRequest,
            f"list recording subscriptions of {channel_fragment!r}",
            RecordingSubscriptionDescriptor,
            count,
            pseudo_index=pseudo_index,
            subscription_count=count,
            apply_stream_id=BooleanType.TRUE if apply_stream_id else BooleanType.FALSE,
            stream_id=stream_id,
            channel=channel_fragment,
        )

    list_recording_subscriptions = blocking(async_list_recording_subscriptions)

    def async_find_last_matching_recording(
        self, min_recording_id: int, channel_fragment: str, stream_id: int, session_id: int
    ) -> Pending[int]:
        """Find the last recording of a stream and session from an id on; the result is its id, or -1 where there is none."""
        return self._ask(
            FindLastMatchingRecordingRequest,
            f"find the last recording of {channel_fragment} stream {stream_id} session {session_id} from {min_recording_id}",
            number,
            min_recording_id=min_recording_id,
            channel=channel_fragment,
            stream_id=stream_id,
            session_id=session_id,
        )

    find_last_matching_recording = blocking(async_find_last_matching_recording)

    def async_get_start_position(self, recording_id: int) -> Pending[int]:
        """Get the position at which a recording begins. Refused with UNKNOWN_RECORDING."""
        return self._ask(StartPositionRequest, f"get the start position of recording {recording_id}", number, recording_id=recording_id)

    get_start_position = blocking(async_get_start_position)

    def async_get_recording_position(self, recording_id: int) -> Pending[int]:
        """Get how far a recording that goes on has come; -1 for one that has stopped. Refused with UNKNOWN_RECORDING."""
        return self._ask(
            RecordingPositionRequest, f"get the recording position of recording {recording_id}", number, recording_id=recording_id
        )

    get_recording_position = blocking(async_get_recording_position)

    def async_get_stop_position(self, recording_id: int) -> Pending[int]:
        """Get the position at which a recording has stopped; -1 for one that goes on. Refused with UNKNOWN_RECORDING."""
        return self._ask(StopPositionRequest, f"get the stop position of recording {recording_id}", number, recording_id=recording_id)

    get_stop_position = blocking(async_get_stop_position)

    def async_get_max_recorded_position(self, recording_id: int) -> Pending[int]:
        """Get how far a recording has come, whether it goes on or has stopped. Refused with UNKNOWN_RECORDING."""
        return self._ask(
            MaxRecordedPositionRequest, f"get the max recorded position of recording {recording_id}", number, recording_id=recording_id
        )

    get_max_recorded_position = blocking(async_get_max_recorded_position)
