"""Operations that copy recordings from one archive to another. Aeron: AeronArchive.replicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.archive.client.archive_commands import ArchiveCommands, blocking, done, nothing, number
from aerowire.archive.client.parameters import ReplicationParams
from aerowire.codecs.flyweights.archive.messages.replicate_request2 import ReplicateRequest2
from aerowire.codecs.flyweights.archive.messages.stop_replication_request import StopReplicationRequest
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending

_DEFAULTS = ReplicationParams()


class ReplicationCommands(ArchiveCommands):
    """Replication, into the archive of this session."""

    def async_replicate(
        self, src_recording_id: int, src_control_stream_id: int, src_control_channel: str, params: ReplicationParams = _DEFAULTS
    ) -> Pending[int]:
        """Copy a recording of the archive at `src_control_channel` into this one; the result is the id of the replication.

        The copy is under way when the result is there: the archive signals REPLICATE, EXTEND, SYNC or MERGE, and REPLICATE_END at the end,
        and reports errors without a request (`poll_for_error_response`). Refused with UNKNOWN_RECORDING, ACTIVE_RECORDING for the
        recording that is to hold the copy.
        """
        return self._replicate(src_recording_id, src_control_stream_id, src_control_channel, params, number)

    replicate = blocking(async_replicate)

    def async_stop_replication(self, replication_id: int) -> Pending[None]:
        """Stop a replication. Refused with UNKNOWN_REPLICATION."""
        return self._ask(StopReplicationRequest, f"stop replication {replication_id}", nothing, replication_id=replication_id)

    stop_replication = blocking(async_stop_replication)

    def async_try_stop_replication(self, replication_id: int) -> Pending[bool]:
        """Stop a replication; the result is whether it was going on."""
        refusals = {ArchiveErrorCode.UNKNOWN_REPLICATION.value: False}
        return self._ask(StopReplicationRequest, f"stop replication {replication_id}", done, refusals, replication_id=replication_id)

    try_stop_replication = blocking(async_try_stop_replication)

    # ---- below: helpers

    def _replicate(
        self, src_recording_id: int, stream_id: int, channel: str, params: ReplicationParams, answer: Callable[[int], int]
    ) -> Pending[int]:
        """Send the request; `answer` gets the replication's id as soon as it comes."""
        return self._ask(
            ReplicateRequest2,
            f"replicate recording {src_recording_id} of {channel} stream {stream_id}",
            answer,
            src_recording_id=src_recording_id,
            dst_recording_id=params.dst_recording_id,
            stop_position=params.stop_position,
            channel_tag_id=params.channel_tag_id,
            subscription_tag_id=params.subscription_tag_id,
            src_control_stream_id=stream_id,
            file_io_max_length=params.file_io_max_length,
            replication_session_id=params.replication_session_id,
            src_control_channel=channel,
            live_destination=params.live_destination,
            replication_channel=params.replication_channel,
            encoded_credentials=params.encoded_credentials,
            src_response_channel=params.src_response_channel,
        )
