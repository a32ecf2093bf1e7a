"""An event log: what a component does, noted for readers in other processes. Aeron: EventConfiguration and the event loggers.

The log is a broadcast buffer in a file: writers never wait for readers, who find out by the sequence of the events how many they have missed.
Aeron's agent prints in the component's process; here any process may read along, as long as the component lives.

A code is Aeron's: the kind of component in the upper 16 bits, the event's id in the lower. The fields of an event are its writer's to know.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from aerowire.codecs.native.events cimport LOGGED_EVENT_LENGTH, logged_event_set_sequence, logged_event_set_timestamp_ns
from aerowire.memory.atomics cimport cpu_relax, exchange_i32, store_release_i32
from aerowire.memory.region cimport BufferView, borrow

from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder


@cython.final
cdef class EventLog:
    """Changed by whoever has something to note. Invariant: sequences in the log are those of the times, without a gap."""

    def __init__(self, buffer, ClockPort clock not None, codes):
        """`buffer` holds a broadcast buffer and its trailer; `codes` are the events that are noted."""
        self._transmitter = BroadcastTransmitter(buffer)
        self._clock = clock
        for code in codes:
            if not (0 <= code >> 16 < EVENT_TYPES and 0 < code & 0xFFFF < EVENT_IDS):
                raise ValueError(f"no event has the code {code}")
            self._enabled[<int>(code >> 16)] |= <uint64_t>1 << <int>(code & 0xFFFF)

    @staticmethod
    def file_length(int64_t capacity) -> int:
        """Return the length of the file for a log of `capacity` bytes."""
        return capacity + BroadcastTrailerDecoder.ENCODED_LENGTH

    @property
    def event_count(self) -> int:
        """Events noted so far."""
        return self._sequence

    def note(self, int32_t code, record) -> None:
        """Note an event: `record` begins as a LoggedEvent does, whose fields are filled in, and has at most 4,128 bytes."""
        cdef BufferView view
        holder = borrow(record, &view, False)
        if not LOGGED_EVENT_LENGTH <= view.length <= EVENT_RECORD_LENGTH_MAX:
            raise ValueError(f"record of an event: expected {LOGGED_EVENT_LENGTH} to {EVENT_RECORD_LENGTH_MAX} bytes, actual {view.length}")
        with nogil:
            self.write(code, view.address, <int32_t>view.length, NULL, 0)

    cpdef bint has(self, int32_t code) noexcept nogil:
        """Return whether the log holds events of `code`."""
        cdef int32_t kind = code >> 16
        cdef int32_t event_id = code & 0xFFFF
        return 0 <= kind < EVENT_TYPES and event_id < EVENT_IDS and self._enabled[kind] >> event_id & 1

    cdef void write(self, int32_t code, const uint8_t* head, int32_t head_length, const uint8_t* rest, int32_t rest_length) noexcept nogil:
        cdef int32_t rest_kept = min(rest_length, <int32_t>EVENT_RECORD_LENGTH_MAX - head_length)
        while exchange_i32(&self._lock, 1) != 0:
            cpu_relax()
        memcpy(self._record, head, head_length)
        if rest_kept > 0:
            memcpy(self._record + head_length, rest, rest_kept)
        logged_event_set_sequence(self._record, self._sequence)
        logged_event_set_timestamp_ns(self._record, self._clock.epoch_ns())
        if self._transmitter.transmit_message(code, self._record, head_length + rest_kept):
            self._sequence += 1
        store_release_i32(&self._lock, 0)
