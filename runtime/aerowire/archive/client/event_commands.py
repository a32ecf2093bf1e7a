"""The operation that subscribes to what an archive publishes of its recordings."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from aerowire.archive.client.archive_commands import ArchiveCommands, blocking
from aerowire.archive.client.recording_events import RecordingEventsPoller
from aerowire.base.errors import ConfigurationError

if TYPE_CHECKING:
    from aerowire.client.handles.waiting import Pending


class EventCommands(ArchiveCommands):
    """Recording events, on a stream beside the control session."""

    def async_add_recording_events(self, channel: str | None = None, stream_id: int | None = None) -> Pending[RecordingEventsPoller]:
        """Subscribe to recording events; the result reads them. Channel and stream are the context's unless they are given.

        The archive publishes events only where its option `recording_events_enabled` is set.
        """
        context = self._session.context
        channel = context.recording_events_channel if channel is None else channel
        if not channel:
            raise ConfigurationError(
                "the channel of recording events is not set",
                where="recording_events_channel",
                expected="the channel on which the archive publishes them",
            )
        stream_id = context.recording_events_stream_id if stream_id is None else stream_id
        return self._steps(f"subscribe to recording events of {channel}", self._subscribe_to_events(channel, stream_id))

    add_recording_events = blocking(async_add_recording_events)

    def _subscribe_to_events(self, channel: str, stream_id: int) -> Generator[Pending[Any] | None, Any, RecordingEventsPoller]:
        return RecordingEventsPoller((yield self._aeron.async_add_subscription(channel, stream_id)))
