"""Recordings cut off, or purged as a whole. Aeron: ArchiveConductor.truncateRecording, purgeRecording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aerowire.archive.conductor.segment_files import is_frame_at, segment_names_between, segment_names_of
from aerowire.archive.control.refusals import RequestRefusedError
from aerowire.archive.files.truncation import cut_recording
from aerowire.codecs.flyweights.archive import RecordingState
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.geometry import is_frame_aligned
from aerowire.recordings.segment_names import segment_name

if TYPE_CHECKING:
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.deletions import Deletions
    from aerowire.archive.conductor.replays import Replays
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.codecs.flyweights import archive
    from aerowire.recordings.catalog_entry import RecordingEntry


class Truncation:
    """Operations that end a recording earlier than it was written. The conductor's thread."""

    def __init__(self, core: ArchiveCore, replays: Replays, deletions: Deletions) -> None:
        self._core = core
        self._replays = replays
        self._deletions = deletions

    def truncate(self, session: ControlSession, request: archive.TruncateRecordingRequest) -> None:
        """Cut a stopped recording off at a position, which must be a frame's. All is checked BEFORE anything is written."""
        entry, position = self._core.entry_of(request.recording_id), request.position
        _check_position(entry, position)
        self._deletions.check_none(entry.recording_id)
        base = entry.segment_of(position)
        is_cut = base < position < entry.stop_position and position != entry.start_position
        if is_cut:
            self._check_frame(entry, base, position)
        self._replays.abort(entry.recording_id, "truncate recording")
        if is_cut:
            cut_recording(self._core.catalog, entry, position, is_synced=self._core.context.file_sync_level > 0)
        else:
            self._core.catalog.set_stop_position(entry.recording_id, position)
        self._deletions.answer(
            session,
            request.correlation_id,
            entry.recording_id,
            self._files_behind(entry, base, position),
            is_replayed=lambda: self._replays.is_replayed(entry.recording_id),
        )

    def purge(self, session: ControlSession, request: archive.PurgeRecordingRequest) -> None:
        """Delete a stopped recording that is not replayed."""
        entry = self._core.entry_of(request.recording_id)
        if self._replays.is_replayed(entry.recording_id):
            raise RequestRefusedError(f"cannot purge recording with active replay {entry.recording_id}", ArchiveErrorCode.ACTIVE_RECORDING)
        if entry.is_active:
            raise RequestRefusedError(f"cannot purge active recording {entry.recording_id}", ArchiveErrorCode.ACTIVE_RECORDING)
        self._deletions.check_none(entry.recording_id)
        self._core.catalog.change_state(entry.recording_id, RecordingState.DELETED)
        self._deletions.answer(session, request.correlation_id, entry.recording_id, self._all_files(entry.recording_id))

    def _check_frame(self, entry: RecordingEntry, base: int, position: int) -> None:
        with self._core.ports.files.open(self._core.directory / segment_name(entry.recording_id, base)) as file:
            if not is_frame_at(file, entry, position - base, position):
                raise RequestRefusedError(f"{position} position not aligned to a data header")

    def _files_behind(self, entry: RecordingEntry, base: int, position: int) -> list[str]:
        if position == entry.start_position:
            return self._all_files(entry.recording_id)
        first = base if position == base else base + entry.segment_length
        return segment_names_between(self._core.ports.files, self._core.directory, entry, first, entry.stop_position + 1)

    def _all_files(self, recording_id: int) -> list[str]:
        return segment_names_of(self._core.ports.files, self._core.directory, recording_id)


def _check_position(entry: RecordingEntry, position: int) -> None:
    if entry.is_active:
        raise RequestRefusedError("cannot truncate active recording", ArchiveErrorCode.ACTIVE_RECORDING)
    if not entry.start_position <= position <= entry.stop_position or not is_frame_aligned(position):
        raise RequestRefusedError(
            f"invalid position {position}: start={entry.start_position} stop={entry.stop_position} alignment={FRAME_ALIGNMENT}",
            ArchiveErrorCode.INVALID_POSITION,
        )
