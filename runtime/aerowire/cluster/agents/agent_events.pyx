"""What the agent of a consensus module tells its conductor: records in a ring, which become events when they are polled.

A message that the conductor is to handle is copied into memory of its own. The bytes that wait are bounded, and so are the records that
messages may take: events that cannot be posted again later always find room.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

from enum import IntEnum

from aerowire.agents.event_ring cimport ANSWER_RESERVE
from aerowire.memory.atomics cimport fetch_add_i64, load_acquire_i64

from aerowire.cluster.agents.events import (
    ConsensusMessage,
    ImageReturned,
    IngressClosed,
    IngressMessage,
    LogMessage,
    LogReached,
    LogReturned,
    MessageAppended,
    MessageSent,
    PublicationReturned,
    SessionRemoved,
    TermEnded,
    TermFaulted,
)


def _named(name, codes, prefix):
    members = {member.removeprefix(prefix): int(code) for member, code in codes.__members__.items() if member.startswith(prefix)}
    return IntEnum(name, members, module=__name__)


TermFault = _named("TermFault", TermFaultCode, "TERM_FAULT_")
LogEnd = _named("LogEnd", LogEndCode, "LOG_END_")

cdef enum:
    EVENT_CAPACITY = 4096           # a power of two: elections have tens of messages a second, openings of sessions come in bursts
    MESSAGE_RESERVE = 16 * ANSWER_RESERVE   # records that messages leave free: answers to a full queue of commands have room


@cython.final
cdef class ClusterAgentEvents(EventRing):
    """A ring of ClusterRecords; `poll` returns the values of `events`.

    Invariant: the bytes of messages that wait are at most `message_bytes_max`, or of one message.
    """

    def __cinit__(self, int64_t message_bytes_max=1 << 20):
        self.set_up(sizeof(ClusterRecord), EVENT_CAPACITY)
        self._message_bytes_max = message_bytes_max

    def __dealloc__(self):
        cdef EventHeader* header = self.skip_event()
        while header is not NULL:
            free((<ClusterRecord*>header).message)
            header = self.skip_event()

    cdef object event_of(self, const EventHeader* header, object subject):
        cdef ClusterRecord* record = <ClusterRecord*>header
        message = None
        if record.message is not NULL:
            message = (<const char*>record.message)[:record.length]
            free(record.message)
            record.message = NULL
            fetch_add_i64(&self._message_bytes, -record.length)
        if header.code == EVENT_INGRESS_MESSAGE:
            return IngressMessage(subject, message, record.value)
        if header.code == EVENT_CONSENSUS_MESSAGE:
            return ConsensusMessage(subject, message)
        if header.code == EVENT_LOG_MESSAGE:
            return LogMessage(subject, message, record.value, record.second != 0)
        if header.code == EVENT_LOG_REACHED:
            return LogReached(subject, record.value)
        if header.code == EVENT_INGRESS_CLOSED:
            return IngressClosed()
        if header.code == EVENT_TERM_FAULT:
            return TermFaulted(subject, TermFault(record.value))
        if header.code == EVENT_TERM_ENDED:
            return TermEnded(subject)
        if header.code == EVENT_LOG_RETURNED:
            return LogReturned(subject, LogEnd(record.value), record.second)
        if header.code == EVENT_IMAGE_RETURNED:
            return ImageReturned(subject, record.value != 0)
        if header.code == EVENT_PUBLICATION_RETURNED:
            return PublicationReturned(subject)
        if header.code == EVENT_SESSION_REMOVED:
            return SessionRemoved(subject)
        if header.code == EVENT_MESSAGE_APPENDED:
            return MessageAppended(subject, record.value, record.second)
        return MessageSent(subject, record.value)

    cdef bint post(self, int32_t code, void* subject, int64_t value, int64_t second) noexcept nogil:
        cdef ClusterRecord* record = <ClusterRecord*>self.claim_record(code, subject)
        if record is NULL:
            return False
        record.value = value
        record.second = second
        record.message = NULL
        self.publish_record(&record.header)
        return True

    cdef bint post_message(self, int32_t code, void* subject, const uint8_t* message, int64_t length, int64_t value,
                           int64_t second) noexcept nogil:
        cdef ClusterRecord* record
        cdef uint8_t* copy
        if not self._has_room_for(length):
            return False
        copy = <uint8_t*>malloc(length + 1)
        if copy is NULL:
            return False
        record = <ClusterRecord*>self.claim_record(code, subject)
        if record is NULL:
            free(copy)
            return False
        memcpy(copy, message, length)
        fetch_add_i64(&self._message_bytes, length)
        record.message = copy
        record.length = length
        record.value = value
        record.second = second
        self.publish_record(&record.header)
        return True

    cdef bint _has_room_for(self, int64_t length) noexcept nogil:
        cdef int64_t waiting = load_acquire_i64(&self._message_bytes)
        return self.free_records() > MESSAGE_RESERVE and (waiting == 0 or waiting + length <= self._message_bytes_max)

    @property
    def message_bytes(self) -> int:
        """Bytes of messages that wait to be polled."""
        return load_acquire_i64(&self._message_bytes)
