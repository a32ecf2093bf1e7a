# An event log: what a component does, noted for readers in other processes, in a file of one broadcast buffer.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from aerowire.base.ports cimport ClockPort
from aerowire.codecs.native.events cimport EVENT_TEXT_LENGTH_MAX
from aerowire.ipc.broadcast cimport BroadcastTransmitter

cdef enum:
    EVENT_TYPES = 5             # kinds of components whose codes differ: driver, archive, cluster, standby, sequencer
    EVENT_IDS = 64              # of one kind; the longest table of ids ends at 61
    EVENT_RECORD_LENGTH_MAX = EVENT_TEXT_LENGTH_MAX + 128   # the longest text, or frame, behind the longest fixed part


@cython.final
cdef class EventLog:
    """EventLog(buffer, clock, codes). Any thread; the lock is held for the length of two short copies."""

    cdef BroadcastTransmitter _transmitter
    cdef ClockPort _clock
    cdef uint64_t _enabled[EVENT_TYPES]     # a bit for each id
    cdef int64_t _sequence                  # under the lock, like _record
    cdef int32_t _lock
    cdef uint8_t _record[EVENT_RECORD_LENGTH_MAX]

    cpdef bint has(self, int32_t code) noexcept nogil
    # `head` begins as a LoggedEvent does, whose fields are filled in here; `rest` is cut where the longest record ends.
    cdef void write(self, int32_t code, const uint8_t* head, int32_t head_length, const uint8_t* rest, int32_t rest_length) noexcept nogil
