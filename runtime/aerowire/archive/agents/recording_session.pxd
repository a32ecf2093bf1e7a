# One recording: an image that is read, and the files that its blocks go to. Aeron: RecordingSession.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.archive.agents.agent_events cimport AgentEvents, Outcome
from aerowire.archive.agents.agent_session cimport AgentSession
from aerowire.archive.agents.recording_settings cimport RecordingSettings
from aerowire.archive.agents.recording_writer cimport RecordingWriter
from aerowire.archive.agents.segment_watch cimport SegmentWatch
from aerowire.archive.agents.transfer_counters cimport TransferCounters
from aerowire.base.ports cimport ClockPort
from aerowire.client.lending.lent_counter cimport LentCounter
from aerowire.client.lending.lent_image cimport LentImage

cdef enum RecordingState:
    RECORDING_ACTIVE = 0
    RECORDING_ENDED = 1         # its end is known; its file is being closed


@cython.final
cdef class RecordingSession(AgentSession):
    """RecordingSession(image, position, settings, *, recording_id, start_position, term_length, segment_length)."""

    cdef readonly LentImage image
    cdef readonly LentCounter position_counter
    cdef readonly int64_t recording_id
    cdef RecordingWriter _writer
    cdef SegmentWatch _watch
    cdef int32_t _length_limit      # of a block
    cdef int32_t _state
    cdef bint _is_stopping
    cdef bint _is_writing
    cdef int64_t _began_ns
    cdef Outcome _outcome
    # Written by the recorder, read by any thread.
    cdef int64_t _recorded_position
    cdef int32_t _is_over

    # Any thread: is_over first, so that the position after it is the last one.
    cdef bint is_over(self) noexcept nogil
    cdef int64_t recorded_position(self) noexcept nogil

    cdef int _record(self, ClockPort clock, TransferCounters totals, int64_t now_ns) noexcept nogil
    cdef int _on_written(self, ClockPort clock, TransferCounters totals, int status) noexcept nogil
    cdef int _finish(self, AgentEvents events) noexcept nogil
    cdef int _end(self, int32_t reason) noexcept nogil
    cdef int _end_by_writer(self) noexcept nogil
