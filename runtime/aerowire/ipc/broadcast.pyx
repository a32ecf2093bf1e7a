"""The to-clients buffer: one transmitter, any number of readers, none of which can hold it up.

    records: capacity bytes (a power of two), then the trailer with tail intent, tail and latest

A writer announces how far it will write BEFORE it writes, so that a reader who checks the intent after copying knows whether what it
copied was overwritten.  Aeron: BroadcastTransmitter, BroadcastReceiver, CopyBroadcastReceiver.

Every process that may open the file can write anything into it.  The transmitter's position is its own; a receiver reads positions, types
and lengths once and checks them before use.  What was overwritten in order is a lap; anything else that does not fit is damage.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from aerowire.base.errors import BroadcastLappedError, DamagedBufferError, ForeignDirectoryError
from aerowire.ipc.damage import Damage
from aerowire.codecs.native.cnc cimport (
    BROADCAST_MESSAGE_CAPACITY_SHIFT, BROADCAST_PADDING_TYPE, BROADCAST_RECORD_ALIGNMENT, BROADCAST_RECORD_BODY_OFFSET,
    BROADCAST_TRAILER_LATEST_OFFSET, BROADCAST_TRAILER_LENGTH, BROADCAST_TRAILER_TAIL_INTENT_OFFSET, BROADCAST_TRAILER_TAIL_OFFSET,
    broadcast_record_length, broadcast_record_set_length, broadcast_record_set_type, broadcast_record_type)
from aerowire.memory.atomics cimport acquire_fence, load_acquire_i64, load_relaxed_i64, release_fence, store_relaxed_i64, store_release_i64
from aerowire.memory.region cimport BufferView, borrow

cdef enum DamagedField:
    DAMAGED_NONE = 0
    DAMAGED_LENGTH = 1
    DAMAGED_TAIL = 2
    DAMAGED_LATEST = 3

cdef enum:
    POSITION_BITS = 62      # no transmitter writes so much, and what is added to a position that is checked cannot overflow

POLL_LIMIT_DEFAULT = 64     # messages per poll unless told otherwise


cdef inline int32_t align_record(int32_t length) noexcept nogil:
    return (length + (BROADCAST_RECORD_ALIGNMENT - 1)) & ~<int32_t>(BROADCAST_RECORD_ALIGNMENT - 1)


cdef inline bint is_position(int64_t position) noexcept nogil:
    return position >> POSITION_BITS == 0 and position & (BROADCAST_RECORD_ALIGNMENT - 1) == 0


cdef int32_t check_capacity(int64_t length) except -1:
    cdef int64_t capacity = length - BROADCAST_TRAILER_LENGTH
    if capacity < BROADCAST_RECORD_ALIGNMENT or capacity & (capacity - 1) or capacity > (1 << 30):
        raise ForeignDirectoryError("broadcast buffer has a bad length", expected=f"a power of two + {BROADCAST_TRAILER_LENGTH} bytes",
                                    actual=length)
    return <int32_t>capacity


cdef class BroadcastTransmitter:
    """The one writer.  Invariant: latest <= tail <= tail_intent, all on record boundaries."""

    def __init__(self, buffer):
        cdef BufferView view
        self._holder = borrow(buffer, &view, True)
        self.capacity = check_capacity(view.length)
        self.address = view.address
        self.message_length_max = self.capacity >> BROADCAST_MESSAGE_CAPACITY_SHIFT
        self._tail = load_relaxed_i64(self.address + self.capacity + BROADCAST_TRAILER_TAIL_OFFSET)
        self._latest = load_relaxed_i64(self.address + self.capacity + BROADCAST_TRAILER_LATEST_OFFSET)
        if not is_position(self._tail):
            raise ForeignDirectoryError("broadcast buffer has a bad tail", actual=self._tail,
                                        expected=f"a multiple of {BROADCAST_RECORD_ALIGNMENT}, from 0 and below 2^{POSITION_BITS}")

    cdef bint transmit_message(self, int32_t message_type, const uint8_t* body, int32_t length) noexcept nogil:
        cdef uint8_t* trailer = self.address + self.capacity
        cdef int64_t tail = self._tail
        cdef int32_t offset = <int32_t>tail & (self.capacity - 1)
        cdef int32_t record_length = length + <int32_t>BROADCAST_RECORD_BODY_OFFSET
        cdef int32_t aligned = align_record(record_length)
        cdef int32_t to_end = self.capacity - offset
        cdef uint8_t* record
        if message_type <= 0 or length < 0 or length > self.message_length_max:
            return False
        if to_end < aligned:
            store_relaxed_i64(trailer + BROADCAST_TRAILER_TAIL_INTENT_OFFSET, tail + to_end + aligned)
            release_fence()
            broadcast_record_set_length(self.address + offset, to_end)
            broadcast_record_set_type(self.address + offset, BROADCAST_PADDING_TYPE)
            tail += to_end
            offset = 0
        else:
            store_relaxed_i64(trailer + BROADCAST_TRAILER_TAIL_INTENT_OFFSET, tail + aligned)
            release_fence()
        record = self.address + offset
        broadcast_record_set_length(record, record_length)
        broadcast_record_set_type(record, message_type)
        memcpy(record + BROADCAST_RECORD_BODY_OFFSET, body, length)
        store_release_i64(trailer + BROADCAST_TRAILER_LATEST_OFFSET, tail)
        self._tail = tail + aligned
        self._latest, self._latest_length, self._latest_type = tail, record_length, message_type
        store_release_i64(trailer + BROADCAST_TRAILER_TAIL_OFFSET, self._tail)
        return True

    def transmit(self, int32_t message_type, body) -> None:
        """Send a message to all readers. ValueError for a type <= 0 or a body longer than max_message_length."""
        cdef BufferView view
        holder = borrow(body, &view, False)
        if view.length > self.message_length_max or not self.transmit_message(message_type, view.address, <int32_t>view.length):
            raise ValueError(f"cannot broadcast type {message_type} of {view.length} bytes; types are > 0 and at most {self.message_length_max}"
                             " bytes fit")

    def repair(self):
        """Write the positions, and the header of the last record, as this transmitter left them; return the first Damage, or None.

        On the writing thread, between two messages. A new reader begins at the last record.
        """
        cdef uint8_t* trailer = self.address + self.capacity
        cdef uint8_t* record
        cdef int32_t length, message_type
        found = self._repair_position(trailer + BROADCAST_TRAILER_TAIL_INTENT_OFFSET, self._tail, "tail intent", None)
        if self._latest_length > 0:
            record = self.address + <int32_t>(self._latest & (self.capacity - 1))
            length, message_type = broadcast_record_length(record), broadcast_record_type(record)
            if length != self._latest_length or message_type != self._latest_type:
                broadcast_record_set_length(record, self._latest_length)
                broadcast_record_set_type(record, self._latest_type)
                found = found or Damage(self._latest, "record header", f"{self._latest_length} bytes of type {self._latest_type}",
                                        f"{length} bytes of type {message_type}")
        found = self._repair_position(trailer + BROADCAST_TRAILER_LATEST_OFFSET, self._latest, "latest position", found)
        return self._repair_position(trailer + BROADCAST_TRAILER_TAIL_OFFSET, self._tail, "tail position", found)

    cdef object _repair_position(self, uint8_t* address, int64_t expected, str field, object found):
        cdef int64_t actual = load_acquire_i64(address)
        if actual == expected:
            return found
        store_release_i64(address, expected)
        return found or Damage(self._tail, field, str(expected), str(actual))

    @property
    def max_message_length(self) -> int:
        """Longest body."""
        return self.message_length_max


cdef class BroadcastReceiver:
    """One reader.  Begins at the newest message there is, or at the first one ever when asked to and nothing is overwritten yet.

    Changed by: receive_next() and poll, on its one thread.
    """

    def __init__(self, buffer, *, bint from_start=False):
        cdef BufferView view
        self._holder = borrow(buffer, &view, False)
        self.capacity = check_capacity(view.length)
        self.address = view.address
        self._scratch = <uint8_t*>malloc(max(<int64_t>BROADCAST_RECORD_ALIGNMENT, self.capacity))
        if self._scratch == NULL:
            raise MemoryError("broadcast scratch buffer")
        if not self._go_to_latest():
            raise self._damaged_error()
        if from_start and self._is_whole(0):
            self._next = 0
        self._record = self._next

    def __dealloc__(self):
        free(self._scratch)

    cdef bint _is_whole(self, int64_t position) noexcept nogil:
        # nothing at or behind position has been, or is being, overwritten
        acquire_fence()
        return position + self.capacity > load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_TAIL_INTENT_OFFSET)

    cdef bint _go_to_latest(self) noexcept nogil:
        cdef int64_t latest = load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_LATEST_OFFSET)
        if not is_position(latest):
            return self._note_damage(DAMAGED_LATEST, latest)
        self._next = latest
        return True

    cdef bint _catch_up(self) noexcept nogil:
        self.lapped += 1
        return self._go_to_latest()

    cdef bint _note_damage(self, int field, int64_t actual) noexcept nogil:
        self._damaged_field = field
        self._damaged_actual = actual
        return False

    cdef bint receive_next(self) noexcept nogil:
        cdef int64_t tail = load_acquire_i64(self.address + self.capacity + BROADCAST_TRAILER_TAIL_OFFSET)
        cdef int64_t aligned
        if self._damaged_field != DAMAGED_NONE:
            return False
        if tail == self._next:
            return False
        if tail < self._next or not is_position(tail):
            return self._note_damage(DAMAGED_TAIL, tail)
        if not self._is_whole(self._next) and not self._catch_up():
            return False
        self._record = self._next
        aligned = self._read_header()
        if aligned > 0 and self.message_type == BROADCAST_PADDING_TYPE:
            self._record += aligned
            aligned = self._read_header()
        if aligned <= 0:
            if not self._is_whole(self._record):        # overwritten meanwhile
                self._lap_seen = True
                return True
            return self._note_damage(DAMAGED_LENGTH, self.record_length)
        self._next = self._record + aligned
        return True

    cdef int64_t _read_header(self) noexcept nogil:
        # type and length at _record, each read once; returns how far the next record is, 0 when the length cannot be that of a record
        cdef int64_t aligned
        self._offset = <int32_t>(self._record & (self.capacity - 1))
        self.record_length = broadcast_record_length(self.address + self._offset)
        self.message_type = broadcast_record_type(self.address + self._offset)
        aligned = (<int64_t>self.record_length + (BROADCAST_RECORD_ALIGNMENT - 1)) & ~<int64_t>(BROADCAST_RECORD_ALIGNMENT - 1)
        if self.record_length < BROADCAST_RECORD_BODY_OFFSET or aligned > self.capacity - self._offset:
            return 0
        return aligned

    cdef bint valid(self) noexcept nogil:
        return self._is_whole(self._record)

    cdef int poll_messages(self, MessageHandler handler, void* context, int limit) noexcept nogil:
        cdef int64_t lapped = self.lapped
        cdef int32_t length
        cdef int messages = 0
        while messages < limit and self.receive_next():
            if self.lapped != lapped:
                self._next = self._record       # the newest message is delivered by the next poll
                self._lap_seen = False
                return -1
            length = self.record_length - <int32_t>BROADCAST_RECORD_BODY_OFFSET
            if not self._lap_seen:
                memcpy(self._scratch, self.address + self._offset + BROADCAST_RECORD_BODY_OFFSET, length)
            if self._lap_seen or not self.valid():
                self._lap_seen = False
                self._catch_up()
                return -1
            messages += 1
            handler(context, self.message_type, self._scratch, length)
        return messages

    def poll(self, int limit=POLL_LIMIT_DEFAULT) -> list:
        """Return up to `limit` messages as (type, bytes). BroadcastLappedError when some were overwritten unread; the next poll
        goes on at the newest message. Messages from before the gap are returned first, and the call after them raises.
        DamagedBufferError when a position or a length is none that a transmitter writes, and then at every call."""
        cdef list messages = []
        if self._damaged_field != DAMAGED_NONE:
            raise self._damaged_error()
        if self._is_lap_untold:
            self._is_lap_untold = False
            raise self._lapped_error()
        if self.poll_messages(append_message, <void*>messages, limit) < 0:
            if not messages:
                raise self._lapped_error()
            self._is_lap_untold = True
        if not messages and self._damaged_field != DAMAGED_NONE:
            raise self._damaged_error()
        return messages

    def receive(self):
        """Return the next message as (type, bytes), or None. Raises BroadcastLappedError as poll() does."""
        messages = self.poll(1)
        return messages[0] if messages else None

    @property
    def lapped_count(self) -> int:
        """Times that the transmitter overran this reader."""
        return self.lapped

    cdef object _damaged_error(self):
        if self._damaged_field == DAMAGED_LENGTH:
            what, expected = f"record length at position {self._record}", f"{BROADCAST_RECORD_BODY_OFFSET} to {self.capacity - self._offset}"
        else:
            what = "tail position" if self._damaged_field == DAMAGED_TAIL else "latest position"
            expected = f"a multiple of {BROADCAST_RECORD_ALIGNMENT}, from {self._next} and below 2^{POSITION_BITS}"
        return DamagedBufferError("the driver's messages to its clients are damaged", where=what, expected=expected,
                                  actual=self._damaged_actual, hint="a process that may write to the driver's directory wrote over them")

    cdef object _lapped_error(self):
        return BroadcastLappedError("driver messages were overwritten before they were read", actual=f"lapped {self.lapped} times",
                                    hint="poll the client more often, or enlarge the to-clients buffer of the driver")


cdef void append_message(void* context, int32_t message_type, const uint8_t* body, int32_t length) noexcept with gil:
    (<list><PyObject*>context).append((message_type, (<const char*>body)[:length]))
