"""The publication of a replay, added without waiting, and the native session that it is for. Aeron: CreateReplayPublicationSession."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aerowire.archive.agents.replay_session import ReplaySession
from aerowire.client.lending.lent_publication import LentPublication
from aerowire.codecs.flyweights.archive_files import NULL_POSITION

if TYPE_CHECKING:
    from aerowire.archive.agents.position_bound import PositionBound
    from aerowire.archive.agents.recording_session import RecordingSession
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recordings import Recordings
    from aerowire.archive.conductor.replay_plan import ReplayPlan
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.archive.control.requests import Replay
    from aerowire.archive.control.retried_request import RetriedRequest
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.recordings.catalog_entry import RecordingEntry

Created = Callable[["CreateReplayPublicationSession", "ExclusivePublication", ReplaySession], object]


class CreateReplayPublicationSession:
    """A replay whose publication is not there yet. It ends by `on_created`, or by an error response and `on_failed`."""

    def __init__(
        self,
        core: ArchiveCore,
        recordings: Recordings,
        session: ControlSession,
        request: Replay,
        entry: RecordingEntry,
        plan: ReplayPlan,
        *,
        bound: PositionBound | None,
        adding: RetriedRequest[ExclusivePublication],
        on_created: Created,
        on_failed: Callable[[CreateReplayPublicationSession], object],
    ) -> None:
        self.is_done = False
        self.session = session
        self.request = request
        self.entry = entry
        self._core = core
        self._recordings = recordings
        self._plan = plan
        self._bound = bound
        self._adding = adding
        self._publication: ExclusivePublication | None = None
        self._on_created = on_created
        self._on_failed = on_failed

    @property
    def recording_id(self) -> int:
        """Id of the recording that is to be replayed."""
        return self.entry.recording_id

    def do_work(self) -> int:
        """Look for the publication, then hand the replay on."""
        try:
            return self._create()
        except Exception as error:  # told to the client
            self._core.errors.record(error, key=("replay publication", type(error)))
            self._fail(f"failed to create replay publication: {error}")
            return 1

    def abort(self, reason: str) -> None:
        """Give the replay up."""
        if not self.is_done:
            self._fail(f"replay aborted: {reason}")

    def close(self) -> None:
        """Give back the publication of a replay that did not come about."""
        if self._publication is None:
            self._adding.abandon()

    def _create(self) -> int:
        if self._publication is None:
            self._publication = self._adding.poll(self._core.time.now_ms)
            if self._publication is None:
                return 0
        recording = self._recordings.active(self.recording_id)
        if recording is not None and recording.native is None:
            return 0  # it begins to be written
        self.is_done = True
        native = self._new_native(self._publication, None if recording is None else recording.native)
        self._on_created(self, self._publication, native)
        return 1

    def _new_native(self, publication: ExclusivePublication, source: RecordingSession | None) -> ReplaySession:
        entry, plan = self.entry, self._plan
        # The recording may have ended meanwhile: what the catalog says now holds.
        stop_position = self._core.catalog.stop_position(entry.recording_id)
        return ReplaySession(
            LentPublication(publication),
            self._core.replay_settings,
            recording_id=entry.recording_id,
            position=plan.position,
            limit_position=plan.limit_position,
            start_position=entry.start_position,
            stop_position=plan.stop_position if stop_position == NULL_POSITION else stop_position,
            source=source,
            bound=self._bound,
            initial_term_id=entry.initial_term_id,
            stream_id=entry.stream_id,
            term_length=entry.term_buffer_length,
            segment_length=entry.segment_file_length,
            connect_timeout_ns=self._core.context.connect_timeout_ns,
            file_io_max_length=max(self.request.file_io_max_length, 0),
        )

    def _fail(self, text: str) -> None:
        self.is_done = True
        if self._publication is not None and not self._publication.is_closed:
            self._publication.take_back()
            self._publication.close()
        self.session.send_error(self.request.correlation_id, text)
        self._on_failed(self)
