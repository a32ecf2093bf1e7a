"""What recorder and replayer tell their conductor: records in a ring, which become events when they are polled."""

from libc.stdint cimport int32_t

cimport cython

from enum import IntEnum

from aerowire.archive.agents.events import RecordingEnded, ReplayEnded, ReplayStarted


def _named(name, codes, prefix):
    return IntEnum(name, {member.removeprefix(prefix): int(code) for member, code in codes.__members__.items()}, module=__name__)


RecordingEnd = _named("RecordingEnd", RecordingEndCode, "RECORDING_END_")
ReplayEnd = _named("ReplayEnd", ReplayEndCode, "REPLAY_END_")
FrameFault = _named("FrameFault", FrameFaultCode, "FRAME_FAULT_")

cdef enum:
    EVENT_CAPACITY = 1024       # a power of two: each session has two events at most, and an agent that finds no room tries again


@cython.final
cdef class AgentEvents(EventRing):
    """A ring of ArchiveRecords; `poll` returns RecordingEnded, ReplayStarted and ReplayEnded."""

    def __cinit__(self):
        self.set_up(sizeof(ArchiveRecord), EVENT_CAPACITY)

    cdef object event_of(self, const EventHeader* header, object subject):
        cdef const Outcome* outcome = &(<const ArchiveRecord*>header).outcome
        if header.code == EVENT_RECORDING_ENDED:
            return RecordingEnded(subject, RecordingEnd(outcome.reason), outcome.position, outcome.error, outcome.segment_position,
                                  outcome.expected, outcome.found)
        if header.code == EVENT_REPLAY_STARTED:
            return ReplayStarted(subject)
        return ReplayEnded(subject, ReplayEnd(outcome.reason), outcome.position, outcome.error, outcome.segment_position, outcome.offset,
                           FrameFault(outcome.fault), outcome.expected, outcome.found)

    cdef ArchiveRecord* claim(self, int32_t code, void* subject, const Outcome* outcome) noexcept nogil:
        cdef ArchiveRecord* record = <ArchiveRecord*>self.claim_record(code, subject)
        if record is not NULL:
            record.outcome = outcome[0]
        return record
