"""Everything that the operations of an archive share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.archive.control.refusals import RequestRefusedError, unknown_recording
from aerowire.archive.files.segments import clear_tail
from aerowire.archive.files.surplus_segments import give_up_behind, segments_behind
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode

if TYPE_CHECKING:
    from pathlib import Path

    from aerowire.agents.error_recorder import ErrorRecorder
    from aerowire.archive.agents.agent_events import AgentEvents
    from aerowire.archive.agents.agent_proxies import RecorderProxy, ReplayerProxy
    from aerowire.archive.agents.position_answers import PositionAnswers
    from aerowire.archive.agents.recording_settings import RecordingSettings
    from aerowire.archive.agents.transfer_settings import TransferSettings
    from aerowire.archive.conductor.recording_events_proxy import RecordingEventsProxy
    from aerowire.archive.conductor.sessions import SessionList
    from aerowire.archive.context import ArchiveContext
    from aerowire.archive.control.archive_events import ArchiveEvents
    from aerowire.archive.control.cycle_time import CycleTime
    from aerowire.archive.files.catalog import Catalog
    from aerowire.client.aeron import Aeron
    from aerowire.client.handles.counter import Counter
    from aerowire.recordings.catalog_entry import RecordingEntry
    from aerowire.system.ports import Ports


@dataclass(slots=True, kw_only=True)
class ArchiveCore:
    """The parts of one archive that its operations work with. The conductor's thread."""

    context: ArchiveContext
    ports: Ports
    aeron: Aeron
    archive_id: int
    catalog: Catalog
    errors: ErrorRecorder
    events: ArchiveEvents
    time: CycleTime
    sessions: SessionList
    agent_events: AgentEvents
    position_answers: PositionAnswers
    recorder: RecorderProxy
    replayer: ReplayerProxy
    recording_settings: RecordingSettings
    replay_settings: TransferSettings
    recording_events: RecordingEventsProxy | None
    control_sessions: Counter
    recording_sessions: Counter
    replay_sessions: Counter

    @property
    def directory(self) -> Path:
        """The directory of the catalog and the segments."""
        return self.context.archive_path

    def count(self, counter: Counter, by: int) -> None:
        """Change a counter, which may have gone with the client."""
        if not counter.is_closed:
            counter.get_and_add(by)

    def entry_of(self, recording_id: int) -> RecordingEntry:
        """Return a recording that a request is about. Raises RequestRefusedError for one that there is not."""
        entry = self.catalog.entry(recording_id)
        if entry is None:
            raise unknown_recording(recording_id)
        return entry

    def clear_tail(self, entry: RecordingEntry, position: int) -> None:
        """Let nothing follow a position in its segment, which is the end of the recording. Raises FileError."""
        clear_tail(self.ports.files, self.directory, entry, position, is_synced=self.context.file_sync_level > 0)

    def give_up_behind(self, entry: RecordingEntry) -> None:
        """Give up the segment files behind the end of a stopped recording, and record which were set aside. Raises FileError."""
        files, end = self.ports.files, entry.stop_position
        behind = list(segments_behind(files, self.directory, entry, end))
        for finding in give_up_behind(files, self.directory, entry, end, behind):
            self.errors.record(f"WARN - {finding}", key="segment file given up")

    def require_recording(self, recording_id: int) -> None:
        """Raise RequestRefusedError unless there is a recording; without a look at its descriptor."""
        if not self.catalog.has_recording(recording_id):
            raise unknown_recording(recording_id)

    def check_storage_space(self) -> None:
        """Raise RequestRefusedError when there is too little space for a recording."""
        threshold = self.context.low_storage_space_threshold
        usable_space = self.ports.files.free_space(self.context.archive_dir)
        if usable_space <= threshold:
            raise RequestRefusedError(f"low storage threshold={threshold} <= usableSpace={usable_space}", ArchiveErrorCode.STORAGE_SPACE)
