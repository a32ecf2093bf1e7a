# One replay: the files of a recording, and the publication that their frames go to. Aeron: ReplaySession.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.archive.agents.agent_events cimport AgentEvents, Outcome
from aerowire.archive.agents.agent_session cimport AgentSession
from aerowire.archive.agents.position_bound cimport PositionBound
from aerowire.archive.agents.recording_session cimport RecordingSession
from aerowire.archive.agents.replay_frames cimport FrameRun, ReplayStream
from aerowire.archive.agents.segment_reader cimport SegmentReader
from aerowire.archive.agents.transfer_counters cimport TransferCounters
from aerowire.base.ports cimport ClockPort
from aerowire.client.lending.lent_publication cimport LentPublication

cdef enum ReplayState:
    REPLAY_OPENING = 0          # its first frames are being read
    REPLAY_CONNECTING = 1       # it has started, and waits for a subscriber
    REPLAY_ACTIVE = 2
    REPLAY_ENDED = 3            # its end is known; its file is being closed


@cython.final
cdef class ReplaySession(AgentSession):
    """ReplaySession(publication, settings, *, recording_id, position, limit_position, ...): see its .pyx for all parameters."""

    cdef readonly LentPublication publication
    cdef readonly int64_t recording_id
    cdef RecordingSession _source       # None: the recording is stopped
    cdef PositionBound _bound           # None: there is none
    cdef SegmentReader _reader
    cdef ReplayStream _stream
    cdef FrameRun _run                  # what of the buffer is still to be sent
    cdef int32_t _padding_left          # bytes of the padding behind it
    cdef int64_t _position
    cdef int64_t _start_position
    cdef int64_t _stop_position
    cdef int64_t _limit_position
    cdef int64_t _end_position          # up to which may be read, as it was seen last
    cdef bint _is_last_end              # it will not move any more
    cdef bint _is_end_of_recording      # ... and not the bound's
    cdef int64_t _looked_to             # the end that a read found no whole frame before; 0: none
    cdef int64_t _connect_timeout_ns
    cdef int64_t _deadline_ns           # of CONNECTING
    cdef int64_t _began_ns
    cdef int32_t _state
    cdef bint _is_aborted
    cdef bint _is_reading
    cdef Outcome _outcome

    cdef int _replay(self, ClockPort clock, TransferCounters totals, AgentEvents events, int64_t now_ns) noexcept nogil
    cdef int _start(self, AgentEvents events) noexcept nogil
    cdef int _connect(self, int64_t now_ns) noexcept nogil
    cdef void _find_end(self) noexcept nogil
    cdef bint _has_frames(self) noexcept nogil
    cdef int _read(self, ClockPort clock, TransferCounters totals) noexcept nogil
    cdef int _on_read(self, ClockPort clock, TransferCounters totals, int status) noexcept nogil
    cdef bint _is_amid_frames(self) noexcept nogil
    cdef int _send(self) noexcept nogil
    cdef int64_t _append_padding(self) noexcept nogil
    cdef int _on_refused(self, int64_t result) noexcept nogil
    cdef int _finish(self, AgentEvents events) noexcept nogil
    cdef int _end(self, int32_t reason) noexcept nogil
    cdef int _end_with_fault(self, int32_t reason) noexcept nogil
