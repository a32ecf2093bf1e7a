"""Operations that make and end recordings, and that shorten or delete them. Aeron: AeronArchive."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeAlias

from aerowire.archive.client.archive_commands import ArchiveCommands, blocking, done, nothing, number, truth
from aerowire.base import arguments
from aerowire.base.channel_uri import ChannelUri
from aerowire.base.errors import AerowireError, ConfigurationError
from aerowire.client.publications.publication import ExclusivePublication, Publication
from aerowire.codecs.flyweights.archive.enums import BooleanType, SourceLocation
from aerowire.codecs.flyweights.archive.messages.extend_recording_request import ExtendRecordingRequest
from aerowire.codecs.flyweights.archive.messages.extend_recording_request2 import ExtendRecordingRequest2
from aerowire.codecs.flyweights.archive.messages.purge_recording_request import PurgeRecordingRequest
from aerowire.codecs.flyweights.archive.messages.start_recording_request import StartRecordingRequest
from aerowire.codecs.flyweights.archive.messages.start_recording_request2 import StartRecordingRequest2
from aerowire.codecs.flyweights.archive.messages.stop_recording_by_identity_request import StopRecordingByIdentityRequest
from aerowire.codecs.flyweights.archive.messages.stop_recording_request import StopRecordingRequest
from aerowire.codecs.flyweights.archive.messages.stop_recording_subscription_request import StopRecordingSubscriptionRequest
from aerowire.codecs.flyweights.archive.messages.truncate_recording_request import TruncateRecordingRequest
from aerowire.codecs.flyweights.archive.messages.update_channel_request import UpdateChannelRequest
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from aerowire.archive.client.archive_proxy import Message
    from aerowire.client.handles.waiting import Pending

# What says which recording is meant: the id of the recording's subscription, a channel (with a stream id), or a publication.
Recorded: TypeAlias = "int | str | Publication | ExclusivePublication"


class RecordingCommands(ArchiveCommands):
    """Recording, from its start to its deletion."""

    def async_start_recording(
        self, channel: str, stream_id: int, source_location: SourceLocation = SourceLocation.LOCAL, *, auto_stop: bool = False
    ) -> Pending[int]:
        """Record every stream of a channel; the result is the id of the archive's subscription.

        With `SourceLocation.LOCAL` the publication is on the archive's own driver. With `auto_stop` the subscription ends with its first
        recording. Refused with ACTIVE_SUBSCRIPTION where the channel and stream are recorded already, MAX_RECORDINGS, STORAGE_SPACE.
        """
        what = f"start recording {channel} stream {stream_id}"
        fields: dict[str, Any] = {"channel": channel, "stream_id": stream_id, "source_location": source_location}
        if auto_stop:
            return self._ask(StartRecordingRequest2, what, number, auto_stop=BooleanType.TRUE, **fields)
        return self._ask(StartRecordingRequest, what, number, **fields)

    start_recording = blocking(async_start_recording)

    def async_extend_recording(
        self,
        recording_id: int,
        channel: str,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.LOCAL,
        *,
        auto_stop: bool = False,
    ) -> Pending[int]:
        """Go on with a recording that has stopped; the result is the id of the archive's subscription.

        The stream must begin at the recording's stop position, with its initial term id, term length and MTU
        (`aerowire.client.initial_position`). Refused with UNKNOWN_RECORDING, ACTIVE_RECORDING, INVALID_EXTENSION.
        """
        what = f"extend recording {recording_id} by {channel} stream {stream_id}"
        fields: dict[str, Any] = {
            "recording_id": recording_id,
            "channel": channel,
            "stream_id": stream_id,
            "source_location": source_location,
        }
        if auto_stop:
            return self._ask(ExtendRecordingRequest2, what, number, auto_stop=BooleanType.TRUE, **fields)
        return self._ask(ExtendRecordingRequest, what, number, **fields)

    extend_recording = blocking(async_extend_recording)

    def async_stop_recording(self, recorded: Recorded, stream_id: int | None = None) -> Pending[None]:
        """Stop recording: by the id of the archive's subscription, by channel and stream id as they were started, or by publication.

        Refused with UNKNOWN_SUBSCRIPTION.
        """
        kind, what, fields = _recorded(recorded, stream_id)
        return self._ask(kind, what, nothing, **fields)

    stop_recording = blocking(async_stop_recording)

    def async_try_stop_recording(self, recorded: Recorded, stream_id: int | None = None) -> Pending[bool]:
        """Stop recording, as `stop_recording`; the result is whether there was such a subscription."""
        kind, what, fields = _recorded(recorded, stream_id)
        return self._ask(kind, what, done, {ArchiveErrorCode.UNKNOWN_SUBSCRIPTION.value: False}, **fields)

    try_stop_recording = blocking(async_try_stop_recording)

    def async_try_stop_recording_by_identity(self, recording_id: int) -> Pending[bool]:
        """Stop a recording by its own id; the result is whether it was going on."""
        return self._ask(StopRecordingByIdentityRequest, f"stop recording {recording_id}", truth, recording_id=recording_id)

    try_stop_recording_by_identity = blocking(async_try_stop_recording_by_identity)

    def async_add_recorded_publication(self, channel: str, stream_id: int) -> Pending[Publication]:
        """Add a publication to this client and record its session alone; the result is the publication.

        Fails where the client has the publication already: the archive would record what was not sent from its start on.
        """
        return self._steps(f"add recorded publication {channel} stream {stream_id}", self._recorded_publication(channel, stream_id))

    add_recorded_publication = blocking(async_add_recorded_publication)

    def async_add_recorded_exclusive_publication(self, channel: str, stream_id: int) -> Pending[ExclusivePublication]:
        """Add an exclusive publication to this client and record its session alone; the result is the publication."""
        return self._steps(
            f"add recorded exclusive publication {channel} stream {stream_id}", self._recorded_exclusive_publication(channel, stream_id)
        )

    add_recorded_exclusive_publication = blocking(async_add_recorded_exclusive_publication)

    def async_truncate_recording(self, recording_id: int, position: int) -> Pending[int]:
        """Cut a stopped recording off at a position; the result is the number of segment files that are deleted.

        The archive signals DELETE when they are. Refused with UNKNOWN_RECORDING, ACTIVE_RECORDING, INVALID_POSITION.
        """
        what = f"truncate recording {recording_id} to {position}"
        return self._ask(TruncateRecordingRequest, what, number, recording_id=recording_id, position=position)

    truncate_recording = blocking(async_truncate_recording)

    def async_purge_recording(self, recording_id: int) -> Pending[int]:
        """Delete a stopped recording and its files; the result is the number of segment files that are deleted.

        The archive signals DELETE when they are. Refused with UNKNOWN_RECORDING, ACTIVE_RECORDING.
        """
        return self._ask(PurgeRecordingRequest, f"purge recording {recording_id}", number, recording_id=recording_id)

    purge_recording = blocking(async_purge_recording)

    def async_update_channel(self, recording_id: int, channel: str) -> Pending[None]:
        """Change the channel that a recording's descriptor shows. Refused with UNKNOWN_RECORDING."""
        what = f"update the channel of recording {recording_id} to {channel}"
        return self._ask(UpdateChannelRequest, what, nothing, recording_id=recording_id, channel=channel)

    update_channel = blocking(async_update_channel)

    # ---- below: helpers

    def _recorded_publication(self, channel: str, stream_id: int) -> Generator[Pending[Any] | None, Any, Publication]:
        publication: Publication = yield self._aeron.async_add_publication(channel, stream_id)
        try:
            if not publication.is_original:
                raise AerowireError(
                    "the publication is there already",
                    where=f"{channel}, stream {stream_id}, session {publication.session_id}",
                    expected="a publication that this call adds",
                    hint="use an exclusive publication, or start_recording for all sessions of the channel",
                )
            yield self.async_start_recording(with_session(channel, publication.session_id), stream_id)
        except BaseException:
            publication.close()
            raise
        return publication

    def _recorded_exclusive_publication(self, channel: str, stream_id: int) -> Generator[Pending[Any] | None, Any, ExclusivePublication]:
        publication: ExclusivePublication = yield self._aeron.async_add_exclusive_publication(channel, stream_id)
        try:
            yield self.async_start_recording(with_session(channel, publication.session_id), stream_id)
        except BaseException:
            publication.close()
            raise
        return publication


def with_session(channel: str, session_id: int) -> str:
    """Return a channel that names one session."""
    uri = ChannelUri.parse(channel)
    uri.parameters["session-id"] = str(session_id)
    return str(uri)


def _recorded(recorded: Recorded, stream_id: int | None) -> tuple[type[Message], str, dict[str, Any]]:
    """Return the request that stops a recording: its message, in words, and its fields."""
    if isinstance(recorded, Publication | ExclusivePublication):
        return _recorded(with_session(recorded.channel, recorded.session_id), recorded.stream_id)
    if isinstance(recorded, str):
        if stream_id is None:
            raise ConfigurationError("a channel alone names no recording", where="stop_recording", expected="a channel and a stream id")
        fields: dict[str, Any] = {"channel": recorded, "stream_id": stream_id}
        return StopRecordingRequest, f"stop recording {recorded} stream {stream_id}", fields
    if isinstance(recorded, bool) or not isinstance(recorded, int):
        raise arguments.wrong_type("recorded", recorded, "a subscription's id, a channel, or a publication")
    return StopRecordingSubscriptionRequest, f"stop recording subscription {recorded}", {"subscription_id": recorded}
