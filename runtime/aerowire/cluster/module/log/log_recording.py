"""The recording of the log in the node's own archive: begun or gone on with, its position, its end.

One recording has the log of all terms; recording.log names it once a term is stored. Aeron: ConsensusModuleAgent.startLogRecording,
tryCreateAppendPosition, tryStopLogRecording.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from aerowire.archive.agents.position_bound import PositionBound
from aerowire.archive.client.recording_pos import describe_recording_counter, find_counter_id_by_recording, find_counter_id_by_session
from aerowire.base.errors import ClosedError, ConsensusModuleError
from aerowire.base.units import NULL_VALUE
from aerowire.client.handles.readable_counter import ReadableCounter
from aerowire.codecs.flyweights.archive.enums import SourceLocation
from aerowire.codecs.flyweights.archive_files import NULL_POSITION
from aerowire.ipc.counters import NULL_COUNTER_ID

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.client.handles.waiting import Pending
    from aerowire.cluster.module.core import ModuleCore

_Steps = Generator["Pending[Any] | None", Any, None]


class LogRecording:
    """The recording of one member's log. Invariant: `recording_id` is -1 or a recording of the node's archive."""

    def __init__(self, core: ModuleCore, recording_id: int, stop_position: int) -> None:
        """Start with the recording that was recovered, -1 and 0 without one."""
        self._core = core
        self._subscription_id: int | None = None
        self._counter: ReadableCounter | None = None
        self.recording_id = recording_id
        self.stop_position = stop_position

    @property
    def is_active(self) -> bool:
        """Whether the log is being recorded, as far as is known."""
        return self._counter is not None

    def append_position(self) -> int:
        """Return how far the log is recorded. Raises ConsensusModuleError where the recording has stopped by itself."""
        if self._counter is None:
            return self.stop_position
        try:
            self.stop_position = max(self.stop_position, self._counter.value)
        except ClosedError:
            self._counter = None
            raise ConsensusModuleError(
                "log recording stopped", where=f"recording {self.recording_id}, position {self.stop_position}"
            ) from None
        return self.stop_position

    def position_bound(self) -> PositionBound:
        """Return how far the log is recorded, for the native agent. Raises ConsensusModuleError where the log is not recorded any more."""
        self.append_position()
        counter, bound = self._counter, None
        if counter is not None:
            try:
                bound = PositionBound(self._core.aeron.counters_reader, counter.counter_id)
            except ValueError:  # it was freed just now
                bound = None
        self.append_position()  # the counter was still this recording's AFTER the bound had found it
        if bound is None:
            raise ConsensusModuleError("the log is not recorded", where=f"recording {self.recording_id}, position {self.stop_position}")
        return bound

    def record(self, channel: str, log_session_id: int, source_location: SourceLocation) -> _Steps:
        """Record a session of the log's stream from now on, in steps."""
        archive, stream_id = self._core.archive, self._core.context.log_stream_id
        recording_id = self._core.recording_log.find_last_term_recording_id()
        if recording_id == NULL_VALUE:
            request = archive.async_start_recording(channel, stream_id, source_location, auto_stop=True)
        else:
            request = archive.async_extend_recording(recording_id, channel, stream_id, source_location, auto_stop=True)
        self._subscription_id = yield request
        check = self._core.deadline(f"the archive does not record session {log_session_id} of {channel}")
        while not self._find_counter(log_session_id):
            check()
            yield None

    def adopt(self, recording_id: int, position: int) -> None:
        """Take the recording that a replication goes on with."""
        self.recording_id = recording_id
        self.stop_position = max(self.stop_position, position)

    def stop(self) -> _Steps:
        """Stop recording, in steps, and find out where the recording ends. Raises ArchiveError."""
        archive, counters = self._core.archive, self._core.aeron.counters_reader
        subscription_id, self._subscription_id = self._subscription_id, None
        self._counter = None
        if subscription_id is not None:
            yield archive.async_try_stop_recording(subscription_id)
        if self.recording_id == NULL_VALUE:
            return
        if subscription_id is None:
            yield archive.async_try_stop_recording_by_identity(self.recording_id)
        while find_counter_id_by_recording(counters, self.recording_id, archive.archive_id) != NULL_COUNTER_ID:
            yield None
        position = NULL_POSITION
        while position == NULL_POSITION:
            position = yield archive.async_get_stop_position(self.recording_id)
        self.stop_position = position

    def stop_soon(self) -> None:
        """Ask the archive to stop recording, without looking for its answer: the member ends."""
        self._counter = None
        if self._subscription_id is not None and self._core.archive.is_connected:
            self._core.archive.async_try_stop_recording(self._subscription_id)
            self._subscription_id = None

    def describe(self) -> Generator[Pending[Any], Any, RecordingDescriptor | None]:
        """Return the archive's descriptor, in steps; None without a recording."""
        if self.recording_id == NULL_VALUE:
            return None
        found: list[RecordingDescriptor] = yield self._core.archive.async_list_recording(self.recording_id)
        if not found:
            raise ConsensusModuleError("the archive does not know the recording of the log", actual=f"recording {self.recording_id}")
        return found[0]

    def _find_counter(self, log_session_id: int) -> bool:
        counters = self._core.aeron.counters_reader
        counter_id = find_counter_id_by_session(counters, log_session_id, self._core.archive.archive_id)
        found = describe_recording_counter(counters, counter_id) if counter_id != NULL_COUNTER_ID else None
        if found is None:
            return False
        try:
            self._counter = ReadableCounter(counters, counter_id, found.registration_id)
        except ClosedError:
            return False
        self.recording_id = found.recording_id
        return True
