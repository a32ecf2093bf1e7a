"""The driver's event log: what it does, noted for who reads along. Aeron: DriverEventLogger, EventConfiguration.

The log is a broadcast buffer in a file of the driver's directory: writers never wait for readers, who find out by the sequence of the events
how many they have missed. There is one only when the option asks for it. Aeron's agent prints in the driver's process; here any process
may read along, as long as the driver lives.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from aerowire.base.address cimport AF_INET6, Address, address_family, address_ip, address_port
from aerowire.codecs.native.events cimport (
    COMMAND_EVENT_COMMAND_OFFSET, EVENT_FRAME_LENGTH_MAX, EVENT_TEXT_LENGTH_MAX, FRAME_EVENT_ADDRESS_OFFSET, FRAME_EVENT_FRAME_OFFSET,
    STATE_EVENT_TEXT_OFFSET, command_event_set_command_length, command_event_set_command_type, command_event_set_kept_length,
    driver_event_set_sequence, driver_event_set_timestamp_ns, frame_event_set_address_length, frame_event_set_datagram_length,
    frame_event_set_kept_length, frame_event_set_port, state_event_set_text_length)
from aerowire.codecs.native.transport cimport ADDRESS_LENGTH_IP4, ADDRESS_LENGTH_IP6
from aerowire.memory.atomics cimport cpu_relax, exchange_i32, store_release_i32
from aerowire.memory.region cimport BufferView, borrow

from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder

cdef enum:
    CODES_MAX = 64      # bits of the set of enabled codes


@cython.final
cdef class EventLog:
    """Changed by whoever has something to note. Invariant: sequences in the log are those of the times, without a gap."""

    def __init__(self, buffer, ClockPort clock not None, codes):
        """`buffer` holds a broadcast buffer and its trailer; `codes` are the events that are noted."""
        self._transmitter = BroadcastTransmitter(buffer)
        self._clock = clock
        for code in codes:
            if not 0 < code < CODES_MAX:
                raise ValueError(f"no event has the code {code}")
            self._enabled |= <uint64_t>1 << <int>code

    @staticmethod
    def file_length(int64_t capacity) -> int:
        """Return the length of the file for a log of `capacity` bytes."""
        return capacity + BroadcastTrailerDecoder.ENCODED_LENGTH

    @property
    def event_count(self) -> int:
        """Events noted so far."""
        return self._sequence

    def note_command(self, int32_t code, int32_t command_type, body) -> None:
        """Note a command or a response."""
        cdef uint8_t head[COMMAND_EVENT_COMMAND_OFFSET]
        cdef BufferView view
        cdef int32_t kept
        holder = borrow(body, &view, False)
        kept = <int32_t>min(view.length, <int64_t>EVENT_TEXT_LENGTH_MAX)
        command_event_set_command_type(head, command_type)
        command_event_set_command_length(head, <int32_t>view.length)
        command_event_set_kept_length(head, kept)
        with nogil:
            self.write(code, head, COMMAND_EVENT_COMMAND_OFFSET, view.address, kept)

    def note_state(self, int32_t code, bytes text not None) -> None:
        """Note a change of state: an object in JSON, at most EVENT_TEXT_LENGTH_MAX bytes."""
        cdef uint8_t head[STATE_EVENT_TEXT_OFFSET]
        cdef const uint8_t* characters = <const uint8_t*><const char*>text
        cdef int32_t length = <int32_t>len(text)
        if length > EVENT_TEXT_LENGTH_MAX:
            raise ValueError(f"an event's text has {length} bytes, at most {EVENT_TEXT_LENGTH_MAX} are kept")
        state_event_set_text_length(head, length)
        with nogil:
            self.write(code, head, STATE_EVENT_TEXT_OFFSET, characters, length)

    cpdef bint has(self, int32_t code) noexcept nogil:
        """Return whether the log holds events of `code`."""
        return self._enabled >> code & 1

    cdef void write_frame(self, int32_t code, const Address* peer, const uint8_t* datagram, int32_t length) noexcept nogil:
        cdef uint8_t head[FRAME_EVENT_FRAME_OFFSET]
        cdef int32_t kept = min(length, <int32_t>EVENT_FRAME_LENGTH_MAX)
        cdef int32_t address_length = 0
        memset(head + FRAME_EVENT_ADDRESS_OFFSET, 0, ADDRESS_LENGTH_IP6)
        if peer.length:
            address_length = ADDRESS_LENGTH_IP6 if address_family(peer) == AF_INET6 else ADDRESS_LENGTH_IP4
            memcpy(head + FRAME_EVENT_ADDRESS_OFFSET, address_ip(peer), address_length)
        frame_event_set_address_length(head, address_length)
        frame_event_set_port(head, address_port(peer))
        frame_event_set_datagram_length(head, length)
        frame_event_set_kept_length(head, kept)
        self.write(code, head, FRAME_EVENT_FRAME_OFFSET, datagram, kept)

    cdef void write(self, int32_t code, const uint8_t* head, int32_t head_length, const uint8_t* rest, int32_t rest_length) noexcept nogil:
        while exchange_i32(&self._lock, 1) != 0:
            cpu_relax()
        memcpy(self._record, head, head_length)
        memcpy(self._record + head_length, rest, rest_length)
        driver_event_set_sequence(self._record, self._sequence)
        driver_event_set_timestamp_ns(self._record, self._clock.epoch_ns())
        if self._transmitter.transmit_message(code, self._record, head_length + rest_length):
            self._sequence += 1
        store_release_i32(&self._lock, 0)
