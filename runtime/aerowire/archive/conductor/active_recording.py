"""One recording that is being written: from the image that it records to the end of its native session. Aeron: RecordingSession.

entry of the catalog -> position counter, added without waiting -> the recorder's session -> the event of its end
"""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING

from aerowire.archive.agents.agent_events import RecordingEnd
from aerowire.archive.agents.recording_session import RecordingSession
from aerowire.archive.conductor import archive_counters
from aerowire.archive.conductor.unrecorded_stop import UnrecordedStop
from aerowire.base.errors import AerowireError, ClosedError
from aerowire.client.lending.lent_counter import LentCounter
from aerowire.client.lending.lent_image import LentImage
from aerowire.codecs.flyweights.archive import RecordingSignal
from aerowire.codecs.flyweights.events import ArchiveEventCode
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.recordings.segment_names import segment_name

if TYPE_CHECKING:
    from aerowire.archive.agents.events import RecordingEnded
    from aerowire.archive.conductor.core import ArchiveCore
    from aerowire.archive.conductor.recording_subscription import RecordingSubscription
    from aerowire.archive.control.control_session import ControlSession
    from aerowire.client.handles.counter import Counter
    from aerowire.client.subscriptions.image import Image
    from aerowire.recordings.catalog_entry import RecordingEntry

_GOOD_ENDS = {RecordingEnd.STOPPED, RecordingEnd.IMAGE_CLOSED}


class RecordingState(enum.Enum):
    """How far a recording has come."""

    INIT = "INIT"
    RECORDING = "RECORDING"
    INACTIVE = "INACTIVE"
    STOPPED = "STOPPED"


class ActiveRecording:
    """A recording of one image. The conductor's thread.

    Invariant: `native` is set once the recorder has the recording. The catalog has its stop position BEFORE the client gets the signal.
    """

    def __init__(
        self, core: ArchiveCore, entry: RecordingEntry, image: Image, subscription: RecordingSubscription, signal: RecordingSignal
    ) -> None:
        """`signal` is sent once the recording begins: START, or EXTEND."""
        self.recording_id = entry.recording_id
        self.subscription = subscription
        self.image = image
        self.native: RecordingSession | None = None
        self.state = RecordingState.INIT
        self._core = core
        self._entry = entry
        self._signal = signal
        self._join_position = image.join_position
        self._progress_position = image.join_position
        self._stop_reason = ""
        self._stop_responses: list[tuple[ControlSession, int, int]] = []
        self._counter: Counter | None = None
        spec = archive_counters.recording_position(
            core.archive_id,
            recording_id=entry.recording_id,
            session_id=image.session_id,
            stream_id=image.stream_id,
            channel=subscription.stripped_channel,
            source_identity=image.source_identity,
        )
        self._adding_counter = core.aeron.async_add_counter(spec.type_id, spec.label, key=spec.key)

    @property
    def position(self) -> int:
        """How far the recording is written."""
        return self._join_position if self.native is None else self.native.position

    @property
    def is_over(self) -> bool:
        """Whether the recording has ended, and the catalog says where."""
        return self.state is RecordingState.STOPPED

    def begin(self) -> bool:
        """Begin once the counter is there; return whether the recorder has the recording now, or it has ended."""
        if not self._adding_counter.is_done:
            return False
        self._begin()
        return True

    def stop(self, reason: str) -> None:
        """Let the recording end; its event tells when it has."""
        if not self._stop_reason:
            self._stop_reason = reason
            if self.native is not None and self.state is RecordingState.RECORDING:
                self._core.recorder.stop(self.native)

    def respond_when_ended(self, session: ControlSession, correlation_id: int, relevant_id: int) -> None:
        """Let the request that has stopped the recording be answered once the catalog says where it ends."""
        self._stop_responses.append((session, correlation_id, relevant_id))

    def on_ended(self, ended: RecordingEnded) -> None:
        """The recorder has given image and counter back, and everything up to a position is written."""
        self._core.position_answers.remove_recording(self.recording_id)
        self.image.take_back()
        reason = self._stop_reason or f"image.isEndOfStream={self.image.is_end_of_stream}, image.isClosed={self.image.is_closed}"
        if ended.reason in _GOOD_ENDS:
            self._end(ended.position, reason)
        else:
            code = ArchiveErrorCode.STORAGE_SPACE if ended.reason is RecordingEnd.STORAGE_FULL else ArchiveErrorCode.GENERIC
            self._end(ended.position, _failure(self.recording_id, ended), code)

    def abandon(self) -> None:
        """Give up a recording whose archive ends before the recorder had it."""
        self._adding_counter.abandon()

    def _begin(self) -> None:
        try:
            self._counter = self._adding_counter.result()
            self._counter.value = self._join_position
        except Exception as error:  # without a counter nothing can be recorded
            self._core.errors.record(error, key=("position counter", type(error)))
            self._end(self._join_position, f"position counter cannot be added: {error}", ArchiveErrorCode.GENERIC)
            return
        self._send_signal(self._signal, self._join_position)
        if self._core.recording_events is not None:
            self._core.recording_events.started(
                self.recording_id,
                self._join_position,
                session_id=self.image.session_id,
                stream_id=self.image.stream_id,
                channel=self.subscription.request.channel,
                source_identity=self.image.source_identity,
            )
        if self._stop_reason or self.image.is_closed:
            self._end(self._join_position, self._stop_reason or "the image has gone")
        else:
            self._record(self._counter)

    def _record(self, counter: Counter) -> None:
        """Lend image and counter to the recorder. The image may go at any time, with its stream or the client."""
        loans: list[LentImage | LentCounter] = []
        try:
            loans += [image := LentImage(self.image), position := LentCounter(counter)]
            self.native = RecordingSession(
                image,
                position,
                self._core.recording_settings,
                recording_id=self.recording_id,
                start_position=self._entry.start_position,
                term_length=self._entry.term_buffer_length,
                segment_length=self._entry.segment_file_length,
            )
        except (AerowireError, ValueError) as error:
            for loan in loans:
                loan.return_now()
            code = None if isinstance(error, ClosedError) else ArchiveErrorCode.GENERIC
            self._end(self._join_position, f"the image cannot be recorded: {error}", code)
            return
        self._core.recorder.add(self.native)
        self._core.position_answers.add_recording(self.native)
        self._go_to(RecordingState.RECORDING, "")

    def publish_progress(self) -> int:
        """Publish how far the recording is written, if that has changed; return how many messages were sent."""
        events, position = self._core.recording_events, self.position
        if events is None or position <= self._progress_position or self.state is not RecordingState.RECORDING:
            return 0
        if events.progress(self.recording_id, self._join_position, position):
            self._progress_position = position
            return 1
        return 0

    def _end(self, position: int, reason: str, error_code: ArchiveErrorCode | None = None) -> None:
        core = self._core
        self._go_to(RecordingState.INACTIVE, reason, position)
        stop = UnrecordedStop(core, self.recording_id, position, has_failed=error_code is not None)
        if not stop.write():
            core.sessions.add(stop)
        if error_code is not None:
            core.errors.record(reason, key=("recording failed", error_code))
        try:
            self._tell_end(position, reason, error_code)
        except AerowireError as error:  # the archive's client has ended, and with it all publications
            core.errors.record(error)
        self._go_to(RecordingState.STOPPED, "", position)

    def _tell_end(self, position: int, reason: str, error_code: ArchiveErrorCode | None) -> None:
        if error_code is not None:
            self.subscription.session.send_error(self.subscription.request.correlation_id, reason, error_code)
        self._publish_stop(position)
        for session, correlation_id, relevant_id in self._stop_responses:
            session.send_ok(correlation_id, relevant_id)
        self._send_signal(RecordingSignal.STOP, position)
        if self._counter is not None and not self._counter.is_closed:
            self._counter.take_back()
            self._counter.close()

    def _publish_stop(self, position: int) -> None:
        if self._core.recording_events is not None and self._counter is not None:
            self._publish_last_progress(position)
            self._core.recording_events.stopped(self.recording_id, self._join_position, position)

    def _publish_last_progress(self, position: int) -> None:
        assert self._core.recording_events is not None
        if position > self._progress_position:
            self._core.recording_events.progress(self.recording_id, self._join_position, position)

    def _send_signal(self, signal: RecordingSignal, position: int) -> None:
        of = self.subscription
        of.session.send_signal(of.request.correlation_id, self.recording_id, of.registration_id, position, signal)

    def _go_to(self, state: RecordingState, reason: str, position: int | None = None) -> None:
        old, self.state = self.state, state
        self._core.events.state_change(
            ArchiveEventCode.RECORDING_SESSION_STATE_CHANGE,
            old,
            state,
            recording_id=self.recording_id,
            position=self.position if position is None else position,
            reason=reason,
        )


def _failure(recording_id: int, ended: RecordingEnded) -> str:
    """Return what ended a recording: the file, and what was expected and found there."""
    parts = [
        f"recording failed: {ended.reason.name.lower().replace('_', ' ')}",
        f"recordingId={recording_id}",
        f"position={ended.position}",
        f"segmentFile={segment_name(recording_id, ended.segment_position)}",
    ]
    if ended.error:
        parts.append(os.strerror(ended.error))
    if ended.expected or ended.found:
        parts.append(f"expected length={ended.expected}, found length={ended.found}")
    return ", ".join(parts)
