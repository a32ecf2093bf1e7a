"""Events of recordings, published to all who subscribe to them. Aeron: RecordingEventsProxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.client.publications.publication import CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED
from aerowire.codecs.flyweights.archive import RecordingProgress, RecordingStarted, RecordingStopped

if TYPE_CHECKING:
    from aerowire.client.publications.publication import ExclusivePublication

SEND_ATTEMPTS = 3


class RecordingEventsProxy:
    """Publishes start, progress and stop of recordings. What cannot be sent is dropped, but for the progress, which is sent later."""

    def __init__(self, publication: ExclusivePublication) -> None:
        self._publication = publication

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be published any more."""
        return self._publication.is_closed

    def started(
        self, recording_id: int, start_position: int, *, session_id: int, stream_id: int, channel: str, source_identity: str
    ) -> None:
        """A recording has begun, or goes on, at a position."""
        self._send(
            RecordingStarted(
                recording_id=recording_id,
                start_position=start_position,
                session_id=session_id,
                stream_id=stream_id,
                channel=channel,
                source_identity=source_identity,
            ).encode()
        )

    def progress(self, recording_id: int, start_position: int, position: int) -> bool:
        """A recording has come to a position. Returns whether that was sent."""
        message = RecordingProgress(recording_id=recording_id, start_position=start_position, position=position).encode()
        return self._publication.offer(message) > 0

    def stopped(self, recording_id: int, start_position: int, stop_position: int) -> None:
        """A recording has ended at a position."""
        self._send(RecordingStopped(recording_id=recording_id, start_position=start_position, stop_position=stop_position).encode())

    def close(self) -> None:
        """Give the publication back."""
        self._publication.close()

    def _send(self, message: bytes) -> None:
        for _ in range(SEND_ATTEMPTS):
            position = self._publication.offer(message)
            if position > 0 or position in {NOT_CONNECTED, CLOSED, MAX_POSITION_EXCEEDED}:
                return
