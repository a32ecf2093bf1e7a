# The driver's event log: what it does, noted for who reads along, in a file of one broadcast buffer.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
from aerowire.codecs.native.events cimport EVENT_FRAME_LENGTH_MAX, EVENT_TEXT_LENGTH_MAX, FRAME_EVENT_FRAME_OFFSET
from aerowire.ipc.broadcast cimport BroadcastTransmitter


@cython.final
cdef class EventLog:
    """EventLog(region, clock, codes). Any thread; the lock is held for the length of two short copies."""

    cdef BroadcastTransmitter _transmitter
    cdef ClockPort _clock
    cdef uint64_t _enabled              # a bit for each code: they are below 64
    cdef int64_t _sequence              # under the lock, like _record
    cdef int32_t _lock
    cdef uint8_t _record[FRAME_EVENT_FRAME_OFFSET + EVENT_FRAME_LENGTH_MAX + EVENT_TEXT_LENGTH_MAX]

    cpdef bint has(self, int32_t code) noexcept nogil
    cdef void write_frame(self, int32_t code, const Address* peer, const uint8_t* datagram, int32_t length) noexcept nogil
    # `head` begins with a DriverEvent whose fields are filled in here.
    cdef void write(self, int32_t code, const uint8_t* head, int32_t head_length, const uint8_t* rest, int32_t rest_length) noexcept nogil
