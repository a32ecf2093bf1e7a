# What recorder and replayer tell their conductor: records in a ring.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.agents.event_ring cimport EVENT_FINAL, EventHeader, EventRing

cdef enum ArchiveEventCode:
    EVENT_RECORDING_ENDED = 1 | EVENT_FINAL     # of a RecordingSession
    EVENT_REPLAY_STARTED = 2                    # of a ReplaySession
    EVENT_REPLAY_ENDED = 3 | EVENT_FINAL

# Why a recording has ended: RecordingEnd has it as IMAGE_CLOSED.
cpdef enum RecordingEndCode:
    RECORDING_END_STOPPED = 1           # by the conductor, or with the agent
    RECORDING_END_IMAGE_CLOSED = 2      # the stream has ended and is recorded to its end, or the client has taken the image back
    RECORDING_END_COUNTER_CLOSED = 3    # the client has taken the counter back
    RECORDING_END_STORAGE_FULL = 4      # no space for a segment or a block
    RECORDING_END_WRITE_FAILED = 5      # a segment could not be made, opened, written or closed
    RECORDING_END_SYNC_FAILED = 6
    RECORDING_END_SEGMENT_EXISTS = 7    # a file has the name of the next segment
    RECORDING_END_SEGMENT_MISSING = 8   # the segment's name was taken away
    RECORDING_END_SEGMENT_SHORTENED = 9
    RECORDING_END_MALFORMED_FRAME = 10  # the log has a frame that cannot be stepped over

# Why a replay has ended: ReplayEnd has it as COMPLETE.
cpdef enum ReplayEndCode:
    REPLAY_END_COMPLETE = 1             # all that was asked for was sent
    REPLAY_END_ABORTED = 2              # by the conductor, or with the agent
    REPLAY_END_PUBLICATION_CLOSED = 3   # the client has taken the publication back, or its driver is gone
    REPLAY_END_NOT_CONNECTED = 4        # no subscriber came within the time for it
    REPLAY_END_DISCONNECTED = 5         # no subscriber is left
    REPLAY_END_SEGMENT_MISSING = 6
    REPLAY_END_SEGMENT_SHORT = 7        # the file ends before the recording does
    REPLAY_END_READ_FAILED = 8
    REPLAY_END_INVALID_POSITION = 9     # no frame begins where the replay was to begin
    REPLAY_END_CORRUPT_FRAME = 10
    REPLAY_END_POSITION_EXCEEDED = 11   # the publication has reached the last position that it can have
    REPLAY_END_BLOCK_REFUSED = 12       # the publication is not at the position of the replay

# What is wrong with a recorded frame: FrameFault has it as LENGTH.
cpdef enum FrameFaultCode:
    FRAME_FAULT_NONE = 0
    FRAME_FAULT_LENGTH = 1              # not that of a frame, or beyond the term or the recording
    FRAME_FAULT_TYPE = 2                # with the version of the header in the lowest byte
    FRAME_FAULT_TERM_OFFSET = 3
    FRAME_FAULT_TERM_ID = 4
    FRAME_FAULT_STREAM_ID = 5
    FRAME_FAULT_CHECKSUM = 6

# What a session's do_work returns when it has posted its final event: the session is not to be touched any more.
cdef enum:
    SESSION_DONE = -1

# What a record says about a session; what does not apply is 0.
cdef struct Outcome:
    int32_t reason
    int32_t fault
    int64_t error               # an errno
    int64_t position
    int64_t segment_position    # at which the segment begins that it is about
    int64_t offset              # in it
    int64_t expected
    int64_t found

cdef struct ArchiveRecord:
    EventHeader header
    Outcome outcome


@cython.final
cdef class AgentEvents(EventRing):
    """Producers: recorder and replayer, without the lock. Consumer: the conductor."""

    # NULL: full, try again. A final event is published LAST of all that is done with its subject, which may be gone at once.
    cdef ArchiveRecord* claim(self, int32_t code, void* subject, const Outcome* outcome) noexcept nogil

    cdef inline void publish(self, ArchiveRecord* record) noexcept nogil:
        self.publish_record(&record.header)
