"""Positions of recordings, and the archive's id. Aeron: ArchiveConductor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.archive_files import NULL_POSITION

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.codecs.flyweights import archive


class Positions:
    """What clients ask about one recording. The conductor's thread."""

    def __init__(self, core: ArchiveCore, recordings: Recordings) -> None:
        self._core = core
        self._recordings = recordings

    def recording_position(self, session: ControlSession, request: archive.RecordingPositionRequest) -> None:
        """Respond with how far a recording is written; -1 for one that is not being written."""
        self._core.require_recording(request.recording_id)
        recording = self._recordings.active(request.recording_id)
        session.send_ok(request.correlation_id, NULL_POSITION if recording is None else recording.position)

    def start_position(self, session: ControlSession, request: archive.StartPositionRequest) -> None:
        """Respond with where a recording begins."""
        session.send_ok(request.correlation_id, self._core.entry_of(request.recording_id).start_position)

    def stop_position(self, session: ControlSession, request: archive.StopPositionRequest) -> None:
        """Respond with where a recording ends; -1 for one that is being written."""
        self._core.require_recording(request.recording_id)
        session.send_ok(request.correlation_id, self._core.catalog.stop_position(request.recording_id))

    def max_recorded_position(self, session: ControlSession, request: archive.MaxRecordedPositionRequest) -> None:
        """Respond with how far a recording is, or was, written."""
        self._core.require_recording(request.recording_id)
        recording = self._recordings.active(request.recording_id)
        position = self._core.catalog.stop_position(request.recording_id) if recording is None else recording.position
        session.send_ok(request.correlation_id, position)

    def archive_id(self, session: ControlSession, request: archive.ArchiveIdRequest) -> None:
        """Respond with the archive's id."""
        session.send_ok(request.correlation_id, self._core.archive_id)
